//! The documents: the output that they show is that of the commands, their code compiles and runs,
//! and their links work.
//!
//! The first word of a code block's info string is its language. Text in parentheses after it is
//! not shown to readers and has a meaning here:
//!
//! | block | what is done with it |
//! |---|---|
//! | `sh` | run, in the order of the document, beside a new demo store |
//! | `text`, `json` after one that is run | compared with its output; `…` stands for anything |
//! | the same, `(numbers differ)` | compared without regard to digits, because the demo store ends today |
//! | `rust` | the code of the file in `tests/fixtures` whose name is given |
//! | any, `(not run: why)` | listed by [`every_block_is_run_or_gives_a_reason`] |

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex_lite::Regex;
use tokio::process::Command;

use crate::support::harness::{example, fixture, library};
use crate::support::process::{Place, Served};
use crate::support::project::{has_test, root, sources};
use crate::support::waiting::{eventually, patiently};

/// The documents whose commands are run.
const TOURS: [&str; 3] = ["README.md", "plugin/TOUR.md", "plugin/API.md"];

/// The command that starts the host in a document. The harness instead starts the program that was
/// built with the tests, on a free port.
const START: &str = "cargo run --release\n";

/// The address of the host in the documents, and the placeholder of the token.
const ADDRESS: &str = "127.0.0.1:8080";
const TOKEN: &str = "PASTE-THE-TOKEN-HERE";

/// How long the commands of a document may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Text that differs each time, and its replacement in a comparison.
const VARYING: [(&str, &str); 6] = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+Z)?", "MOMENT"),
    (r"[A-Z][a-z]{2}, \d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (GMT|\+0000)", "MOMENT"),
    (r"\d{4}-\d\d-\d\d", "DAY"),
    (r"[0-9A-Z]{10}-[0-9A-Z]{8}|\d{8}-\d{7}", "REFERENCE"),
    (r"[0-9a-f]{32}|[0-9a-f]{16}-\d+", "RANDOM"),
    (r"Password +[0-9a-zA-Z_-]+", "Password RANDOM"),
];

/// A code block of a document.
struct Block {
    document: String,
    line: usize,
    language: String,
    /// The text in parentheses after the language.
    note: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.document, self.line)
    }

    fn is_not_run(&self) -> bool {
        self.note.starts_with("not run")
    }

    fn is_command(&self) -> bool {
        self.language == "sh" && !self.is_not_run()
    }

    /// Whether this is the output of the preceding command.
    fn is_output(&self) -> bool {
        ["text", "json"].contains(&self.language.as_str()) && !self.is_not_run()
    }

    /// The difference between this block and the actual output; `None` if they are equal.
    fn difference(&self, printed: &str) -> Option<String> {
        let numbers_differ = self.note == "numbers differ";
        let shown = comparable(&self.text, numbers_differ);
        let pieces: Vec<String> = shown.split('…').map(regex_lite::escape).collect();
        let pattern = Regex::new(&format!("^(?s:{})$", pieces.join(".*"))).unwrap();
        let matches = pattern.is_match(&comparable(printed, numbers_differ));
        (!matches).then(|| {
            format!("{} shows\n{}\nand this is printed:\n{printed}", self.place(), self.text)
        })
    }
}

/// The text of a file of the project.
fn read(path: &str) -> String {
    let text = fs::read_to_string(root().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every document of the project, by its path from the root.
fn documents() -> Vec<String> {
    let mut folders = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            let is_ours = !name.starts_with('.') && !["target", "data"].contains(&name.as_str());
            if entry.file_type().unwrap().is_dir() && is_ours {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, std::ops::Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// The code blocks of a document, in order.
fn blocks(document: &str) -> Vec<Block> {
    let source = read(document);
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (event, range) in events(&source) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                inside = true;
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info.trim(),
                    CodeBlockKind::Indented => "",
                };
                let (language, note) = info.split_once(' ').unwrap_or((info, ""));
                // rustdoc cannot compile code with crates that only the tests depend on.
                let language = language.trim_end_matches(",ignore");
                blocks.push(Block {
                    document: document.to_owned(),
                    line: source[..range.start].lines().count() + 1,
                    language: language.to_owned(),
                    note: note.trim_start_matches('(').trim_end_matches(')').to_owned(),
                    text: String::new(),
                });
            }
            Event::Text(text) if inside => blocks.last_mut().unwrap().text.push_str(&text),
            Event::End(TagEnd::CodeBlock) => inside = false,
            _ => {}
        }
    }
    blocks
}

/// A text without the parts that differ each time.
fn comparable(text: &str, numbers_differ: bool) -> String {
    let text = text.replace('\r', "");
    let mut text = text.trim_end().to_owned();
    for (pattern, name) in VARYING {
        text = Regex::new(pattern).unwrap().replace_all(&text, name).into_owned();
    }
    if numbers_differ {
        text = Regex::new(r"\d+(\.\d+)?").unwrap().replace_all(&text, "0").into_owned();
    }
    text
}

/// A host after the first start that the documents describe.
struct FirstStart {
    place: Place,
    served: Served,
    token: String,
}

impl FirstStart {
    async fn of(place: Place) -> FirstStart {
        let served = place.call("").env("HOST_LISTEN", "127.0.0.1:0").start().await;
        served.out.wait_for("curl ").await;
        let printed = served.out.all();
        let token = printed.iter().find_map(|line| line.strip_prefix("API token")).unwrap();
        FirstStart { token: token.trim().to_owned(), place, served }
    }

    /// A command as a reader would enter it here.
    fn entered(&self, text: &str) -> String {
        text.replace(ADDRESS, &self.served.address.to_string()).replace(TOKEN, &self.token)
    }

    /// The output as a reader of the document would see it.
    fn printed(&self, text: &str) -> String {
        text.replace(&self.served.address.to_string(), ADDRESS).replace(&self.token, "ost_9XvT2k…")
    }

    /// Runs the commands in one shell, and returns the output of each.
    async fn run(&self, commands: &[&str]) -> Vec<String> {
        let folder = self.place.path(".");
        let programs = folder.join("target/release");
        fs::create_dir_all(&programs).unwrap();
        let program = example("example-host");
        std::os::unix::fs::symlink(program, programs.join("example-host")).unwrap();
        // A busy machine gets more time than readers are asked to wait.
        let mut script = "set -e\nsleep() { command sleep 4; }\n".to_owned();
        for (number, command) in commands.iter().enumerate() {
            fs::write(folder.join(format!("{number}.sh")), self.entered(command)).unwrap();
            script += &format!(". ./{number}.sh > {number}.out\n");
        }
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).current_dir(&folder).kill_on_drop(true);
        shell.env("HOST_PLUGIN", library()).env_remove("DATABASE_URL");
        let done = tokio::time::timeout(PATIENCE, shell.output()).await;
        let done = done.expect("the commands end").unwrap();
        let read = |number| fs::read_to_string(folder.join(format!("{number}.out")));
        let printed: Vec<String> =
            (0..commands.len()).map_while(|number| read(number).ok()).collect();
        let complaint = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success(),
            "{}\n{}\n{complaint}",
            commands[printed.len().saturating_sub(1)],
            printed.last().map_or("", String::as_str)
        );
        printed.iter().map(|text| self.printed(text)).collect()
    }
}

/// Runs the commands of a document, and compares their output with the document.
async fn follow(document: &str) {
    let host = FirstStart::of(Place::of_the_store()).await;
    let mut blocks: Vec<Block> = blocks(document);
    if !blocks.iter().any(|block| block.text == START) {
        // It uses the function that the tour defines.
        let tour = self::blocks("plugin/TOUR.md").into_iter();
        blocks.splice(..0, tour.filter(|block| block.text.contains("shop() {")));
    }
    let commands: Vec<&Block> = blocks.iter().filter(|block| block.is_command()).collect();
    let entered = commands.iter().filter(|block| block.text != START);
    let entered: Vec<&str> = entered.map(|block| block.text.as_str()).collect();
    let mut printed = host.run(&entered).await.into_iter();

    let mut differences = Vec::new();
    for (block, next) in blocks.iter().zip(blocks.iter().skip(1).map(Some).chain([None])) {
        if !block.is_command() {
            continue;
        }
        let printed = if block.text == START {
            host.printed(&host.served.out.all().join("\n"))
        } else {
            printed.next().unwrap()
        };
        match next.filter(|next| next.is_output()) {
            Some(shown) => differences.extend(shown.difference(&printed)),
            None => assert_eq!(printed, "", "{} prints something that is not shown", block.place()),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    host.served.stop().await;
}

#[cfg_attr(not(engine = "sqlite"), ignore = "the documents show a site in files")]
#[cfg_attr(not(shell_tools), ignore = "needs sh, curl and jq")]
#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_readme_print_what_it_shows() {
    follow("README.md").await;
}

#[cfg_attr(not(engine = "sqlite"), ignore = "the documents show a site in files")]
#[cfg_attr(not(shell_tools), ignore = "needs sh, curl and jq")]
#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_tour_print_what_it_shows() {
    follow("plugin/TOUR.md").await;
}

#[cfg_attr(not(engine = "sqlite"), ignore = "the documents show a site in files")]
#[cfg_attr(not(shell_tools), ignore = "needs sh, curl and jq")]
#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_api_document_print_what_it_shows() {
    follow("plugin/API.md").await;
}

/// Prints the blocks that are not run: `cargo test -p tests every_block -- --nocapture`.
#[test]
fn every_block_is_run_or_gives_a_reason() {
    for document in documents() {
        let runs = TOURS.contains(&document.as_str());
        let blocks = blocks(&document);
        for (number, block) in blocks.iter().enumerate() {
            let place = block.place();
            let follows = |is: fn(&Block) -> bool| number > 0 && is(&blocks[number - 1]);
            if let Some(reason) = block.note.strip_prefix("not run") {
                let reason = reason.strip_prefix(": ").unwrap_or_default();
                assert!(!reason.is_empty(), "{place} gives no reason why it is not run");
                println!("{place}: {reason}");
                continue;
            }
            let is_checked = match block.language.as_str() {
                "sh" => runs,
                "json" | "text" => runs && follows(Block::is_command),
                "rust" => block.note.starts_with("tests/fixtures/"),
                _ => false,
            };
            assert!(is_checked, "{place} is neither run nor marked with the reason why not");
        }
    }
}

#[test]
fn rust_in_documents_is_the_code_of_the_fixture_that_it_names() {
    let all = documents().into_iter().flat_map(|document| blocks(&document));
    let rust: Vec<Block> = all.filter(|block| block.language == "rust").collect();
    assert_eq!(rust.len(), 4, "two plugins and two hosts in host-interface/README.md");
    for block in rust {
        let fixture = read(&block.note);
        let code = fixture.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
        let code: Vec<&str> = code.collect();
        assert_eq!(block.text.trim_end(), code.join("\n"), "{} is {}", block.place(), block.note);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plugin_of_the_documents_greets() {
    let host = FirstStart::of(Place::with([fixture("greeter")])).await;
    let ask = |token: &str| {
        let asked = host.served.bare("GET", "/api/index.php/v1/greetings/7").bearer_auth(token);
        asked.header("accept", "text/plain")
    };
    let greeted = ask(&host.token).send().await.unwrap();
    assert_eq!(greeted.text().await.unwrap(), "Hello, number 7!\n");

    let ann = host.place.user("ann", "Registered").await;
    let status = async || ask(&ann).send().await.unwrap().status();
    assert_eq!(status().await, 403);
    host.place.run("permission set Registered greet root allow").await;
    eventually("the rule counts", async || (status().await == 200).then_some(())).await;
}

#[cfg(engine = "sqlite")]
#[tokio::test(flavor = "multi_thread")]
async fn the_plugin_of_the_documents_with_a_database_keeps_what_it_is_given() {
    let place = Place::with([library(), fixture("guestbook")]);
    let token = place.user("ann", "Registered").await;
    let served = place.serve().await;
    let at = "/api/index.php/v1/guestbook";
    let sign = served.bare("POST", at).bearer_auth(&token).header("accept", "text/plain");
    assert_eq!(sign.body("Lovely place.").send().await.unwrap().status(), 201);
    let nobody = served.bare("POST", at).header("accept", "text/plain").body("Me too.");
    assert_eq!(nobody.send().await.unwrap().status(), 401);
    served.stop().await;

    let served = place.serve().await;
    let list = served.bare("GET", at).header("accept", "text/plain").send().await.unwrap();
    assert_eq!(list.text().await.unwrap(), "Lovely place.\n");
    served.stop().await;
}

#[tokio::test]
async fn the_host_of_the_documents_sends_its_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(example("one-request"));
    program.arg(library()).current_dir(folder.path()).kill_on_drop(true);
    let done = patiently("the one request", program.output()).await.unwrap();
    let printed = String::from_utf8(done.stdout).unwrap();
    let blocks = blocks("host-interface/README.md");
    let shown = blocks.iter().find(|block| block.text.starts_with("200 ")).unwrap();
    assert_eq!(shown.difference(&printed), None, "{}", String::from_utf8_lossy(&done.stderr));
}

/// The anchors of a document's headings, as GitHub generates them.
fn anchors(document: &str) -> Vec<String> {
    let source = read(document);
    let mut anchors: Vec<String> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut heading: Option<String> = None;
    for (event, _) in events(&source) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let text = heading.take().unwrap_or_default().to_lowercase();
                let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
                let anchor = kept.collect::<String>().replace(' ', "-");
                let times = seen.entry(anchor.clone()).or_default();
                anchors.push(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
                *times += 1;
            }
            _ => {}
        }
    }
    anchors
}

/// The targets of a document's links and pictures, except external addresses.
fn links(document: &str) -> Vec<String> {
    let source = read(document);
    let picture = Regex::new("(?:src|href)=\"([^\"]*)\"").unwrap();
    let mut links = Vec::new();
    for (event, _) in events(&source) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                links.extend(picture.captures_iter(&html).map(|found| found[1].to_owned()));
            }
            _ => {}
        }
    }
    links.retain(|link| !link.contains("://"));
    links
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let folder = Path::new(&document).parent().unwrap();
        for link in links(&document) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => root().join(&document),
                path => root().join(folder).join(path),
            };
            let target = target.canonicalize().ok().filter(|target| target.starts_with(root()));
            let leads = target.is_some_and(|target| match anchor {
                "" => true,
                anchor => {
                    let path = target.strip_prefix(root()).unwrap().to_str().unwrap();
                    anchors(path).iter().any(|known| known == anchor)
                }
            });
            if !leads {
                broken.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 250, "{lines} lines; what does not make a reader try it belongs elsewhere");
}

#[test]
fn the_changelog_has_the_version_that_everything_has() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(host_interface::CONTRACT_VERSION, version);
    let changelog = read("CHANGELOG.md");
    let mut sections = changelog.lines().filter_map(|line| line.strip_prefix("## ["));
    let latest = sections.find(|section| !section.starts_with("Unreleased")).unwrap();
    assert!(latest.starts_with(&format!("{version}] - ")), "{latest}");
}

/// The cells of the tables in a text, as they are shown.
fn cells(text: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = None;
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(cell) = &mut cell {
                    cell.push_str(&text);
                }
            }
            Event::End(TagEnd::TableCell) => cells.extend(cell.take()),
            _ => {}
        }
    }
    cells
}

#[test]
fn no_cell_of_a_table_is_longer_than_200_characters() {
    let mut long = Vec::new();
    // The tables of the specification are read by tests, and their cells are lists.
    for document in documents().into_iter().filter(|path| !path.starts_with("tests/spec/")) {
        long.extend(cells(&read(&document)).into_iter().map(|cell| (document.clone(), cell)));
    }
    for (path, text) in ["host-interface", "plugin", "example-host", "tests"].map(sources).concat()
    {
        let lines = text.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
        });
        let comments = lines.map(|line| line.trim_start()).collect::<Vec<_>>().join("\n");
        let path = path.display().to_string();
        long.extend(cells(&comments).into_iter().map(|cell| (path.clone(), cell)));
    }
    assert!(long.len() > 1_000, "there are tables");
    long.retain(|(_, cell)| cell.chars().count() > 200);
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn every_test_that_a_document_names_exists() {
    let name = Regex::new("`([a-z_]+)::([a-z0-9_]+)`").unwrap();
    let text = read("tests/README.md") + &read("README.md");
    let names: Vec<_> = name.captures_iter(&text).collect();
    assert!(names.len() > 60, "the table of invariants lists tests");
    for name in names {
        assert!(has_test(&name[1], &name[2]), "there is no test {}", &name[0]);
    }
}

#[test]
fn a_test_that_is_run_alone_on_a_fresh_clone_names_the_command_for_that() {
    let failed = std::panic::catch_unwind(|| fixture("unbuilt")).unwrap_err();
    let message = failed.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("unbuilt") && message.contains("cargo test -p tests NAME"),
        "{message}"
    );
}

#[tokio::test]
async fn the_synopsis_of_the_command_line_names_existing_commands() {
    let blocks = blocks("example-host/README.md");
    let synopsis = blocks.iter().find(|block| block.text.starts_with("example-host [")).unwrap();
    // A line with more indentation continues the previous one.
    let is_command = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let place = Place::of_the_store();
    for line in synopsis.text.lines().filter(is_command).map(str::trim) {
        let mut group = "";
        for alternative in line.split(" | ") {
            let words = alternative.split(' ');
            let is_word = |word: &&str| !word.is_empty() && word.chars().all(char::is_lowercase);
            let words: Vec<&str> = words.take_while(is_word).collect();
            let Some(first) = words.first() else { continue };
            // Alternatives after the first omit the common first word.
            let command = format!("{group} {}", words.join(" "));
            place.run(&format!("help {command}")).await;
            if group.is_empty() {
                group = first;
            }
        }
    }
}
