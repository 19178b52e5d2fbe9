//! The command line as it is printed in the documentation: what each command does, how it prints,
//! how it fails, and that a running host follows within a second.

use std::collections::BTreeSet;
use std::process::Stdio;

use tokio::process::Command;

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, fixture, library};
use crate::support::process::{Call, Lines, Place, eventually, operator, patiently};

const MANUFACTURERS: &str = "/api/index.php/v1/shop/manufacturers";

/// Each line as its tab-separated parts.
fn table(text: &str) -> Vec<Vec<&str>> {
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    text.lines().map(|line| line.split('\t').collect()).collect()
}

/// The value after a label in what the quick start prints.
fn labelled(lines: &[String], label: &str) -> String {
    let mut found = lines.iter().filter_map(|line| line.strip_prefix(label));
    let value = found.next().unwrap_or_else(|| panic!("no {label} in {lines:#?}"));
    assert_eq!(found.next(), None, "{label} is printed twice");
    value.trim().to_owned()
}

/// A command line without a command, on a free port.
fn quick_start(place: &Place) -> Call {
    place.call("").env("HOST_LISTEN", "127.0.0.1:0")
}

/// What a quick start prints, up to what it prints last.
async fn printed(out: &Lines, last: &str) -> Vec<String> {
    out.wait_for(last).await;
    out.all()
}

#[tokio::test]
async fn a_user_is_added_and_listed() {
    let place = Place::of_the_fixture();
    assert_eq!(place.run("user list").await, "");
    let add = place.run("user add ann --email ann@example.com --group Manager").await;
    assert_eq!(add, "1\n");
    let add = "user add bob --email bob@example.com --group Registered --group";
    assert_eq!(place.call(add).word("Super Users").finish().await.succeeds(), "2\n");
    place.run("user block bob").await;
    assert_eq!(
        table(&place.run("user list").await),
        [
            ["1", "ann", "ann@example.com", "Manager", "active"],
            ["2", "bob", "bob@example.com", "Registered, Super Users", "blocked"],
        ]
    );
    for command in ["user unblock bob", "user remove ann"] {
        assert_eq!(place.run(command).await, "", "{command}");
    }
    assert_eq!(
        table(&place.run("user list").await)[0][1..],
        ["bob", "bob@example.com", "Registered, Super Users", "active"]
    );
}

#[tokio::test]
async fn a_password_is_read_from_standard_input_and_never_asked_for() {
    let place = Place::of_the_fixture();
    let add = "user add ann --email ann@example.com --group Manager --password-stdin";
    let added = place.call(add).input("correct horse\nbattery staple\n").finish().await;
    assert_eq!(added.succeeds(), "1\n");
    assert_eq!(added.err(), "", "nothing is asked, nothing is shown");
    let add = "user add bob --email bob@example.com --group Manager --password-stdin";
    assert_eq!(place.refusal(add).await, "the password is empty");
}

#[tokio::test]
async fn a_password_is_set_from_standard_input_where_nobody_can_be_asked() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    let set = place.call("user password ANN").input("correct horse\n").finish().await;
    assert_eq!(set.succeeds(), "");
    assert_eq!(set.err(), "", "nothing is asked, nothing is shown");
    let short = place.call("user password ann").input("elevenchars\n").finish().await;
    assert_eq!(short.fails(), "a password has 12 to 1000 characters");
    assert_eq!(place.refusal("user password ann").await, "the password is empty");
    assert_eq!(place.refusal("user password bob").await, "there is no user called \"bob\"");
}

#[tokio::test]
async fn what_is_wrong_with_a_user_is_said_in_one_line() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    for (arguments, says) in [
        ("user add ANN --email other@example.com --group Manager", "\"ANN\" already"),
        ("user add bob --email ANN@example.com --group Manager", "\"ANN@example.com\" already"),
        ("user add bob --email nowhere --group Manager", "\"nowhere\" is no e-mail address"),
        ("user add bob --email b@example.com --group Nobodies", "group called \"Nobodies\""),
        ("user block bob", "there is no user called \"bob\""),
        ("user unblock bob", "there is no user called \"bob\""),
        ("user remove bob", "there is no user called \"bob\""),
        ("token generate bob", "there is no user called \"bob\""),
        ("token revoke bob", "there is no user called \"bob\""),
    ] {
        let line = place.refusal(arguments).await;
        assert!(line.contains(says), "{arguments}: {line}");
    }
    assert_eq!(table(&place.run("user list").await).len(), 1, "nothing of it was done");
}

#[tokio::test]
async fn a_token_stands_alone_on_standard_output() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    let first = place.run("token generate ann").await;
    let second = place.run("token generate ann").await;
    for token in [&first, &second] {
        let token = token.strip_suffix('\n').unwrap();
        assert!(token.len() >= 43, "32 random bytes: {token}");
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }
    assert_ne!(first, second);
    assert_eq!(place.run("token revoke ann").await, "");
    assert_eq!(place.run("token revoke ann").await, "", "there is none left, as was wanted");
}

#[tokio::test]
async fn groups_are_a_tree() {
    let place = Place::of_the_fixture();
    let id = place.run("group add Clerks --parent Manager").await;
    assert_eq!(id, "6\n");
    assert_eq!(
        table(&place.run("group list").await),
        [
            ["1", "Public", ""],
            ["2", "Registered", "Public"],
            ["3", "Manager", "Public"],
            ["4", "Administrator", "Manager"],
            ["5", "Super Users", "Public"],
            ["6", "Clerks", "Manager"],
        ]
    );
    assert!(place.refusal("group add clerks --parent Public").await.contains("already"));
    let orphan = place.refusal("group add Orphans --parent Nobody").await;
    assert_eq!(orphan, "there is no group called \"Nobody\"");
}

#[tokio::test]
async fn permissions_of_a_new_site_are_those_of_the_documentation() {
    let place = Place::of_the_store();
    let text = place.run("permission list").await;
    let mut rules = table(&text);
    rules.sort_unstable();
    assert_eq!(
        rules,
        [
            ["Administrator", "core.manage", "root", "allow"],
            ["Administrator", "store.delete", "com_shop", "allow"],
            ["Administrator", "store.view", "com_shop.config", "allow"],
            ["Manager", "core.login.api", "root", "allow"],
            ["Manager", "store.create", "com_shop", "allow"],
            ["Manager", "store.edit", "com_shop", "allow"],
            ["Manager", "store.view", "com_shop", "allow"],
            ["Registered", "core.login.api", "root", "allow"],
            ["Super Users", "core.admin", "root", "allow"],
        ]
    );
}

#[tokio::test]
async fn a_decision_is_explained_by_its_rule() {
    let place = Place::of_the_fixture();
    place.user("ann", "Manager").await;
    place.user("sue", "Super Users").await;
    let explain = async |user: &str| {
        place.run(&format!("permission explain {user} fixture.look com_fixture")).await
    };
    assert_eq!(explain("ann").await, "allowed\tallow fixture.look on com_fixture for Manager\n");
    assert_eq!(explain("sue").await, "allowed\tallow core.admin on root for Super Users\n");
    assert_eq!(place.run("permission explain ann core.manage root").await, "denied\tno rule\n");

    // A denial further up wins over the allowance further down.
    assert_eq!(place.run("permission set Public fixture.look root deny").await, "");
    assert_eq!(explain("ann").await, "denied\tdeny fixture.look on root for Public\n");
    let listed = place.run("permission list").await;
    assert!(listed.contains("Public\tfixture.look\troot\tdeny\n"), "{listed}");
    place.run("permission set Public fixture.look root inherit").await;
    assert!(explain("ann").await.starts_with("allowed\t"));
    place.run("user block sue").await;
    assert_eq!(explain("sue").await, "denied\tblocked\n");
}

#[tokio::test]
async fn a_permission_names_what_exists() {
    let place = Place::of_the_fixture();
    place.user("ann", "Manager").await;
    for (arguments, says) in [
        ("permission set Nobodies fixture.look com_fixture allow", "group called \"Nobodies\""),
        ("permission set Manager fixture.lock com_fixture allow", "action called \"fixture.lock\""),
        ("permission set Manager fixture.look com_fixtures allow", "asset called \"com_fixtures\""),
        ("permission explain bob fixture.look com_fixture", "user called \"bob\""),
        ("permission explain ann fixture.lock com_fixture", "action called \"fixture.lock\""),
        ("permission explain ann fixture.look com_fixtures", "asset called \"com_fixtures\""),
    ] {
        let line = place.refusal(arguments).await;
        assert_eq!(line, format!("there is no {says}"), "{arguments}");
    }
}

#[tokio::test]
async fn extensions_are_listed_with_their_state() {
    let place = Place::of_the_store();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        table(&place.run("extension list").await),
        [["token-auth", version, "enabled"], ["webservices-shop", version, "enabled"]]
    );
    for name in ["token-auth", "webservices-shop"] {
        assert_eq!(place.run(&format!("extension disable {name}")).await, "");
        let listed = place.run("extension list").await;
        assert!(listed.contains(&format!("{name}\t{version}\tdisabled\n")), "{listed}");
        assert_eq!(place.run(&format!("extension enable {name}")).await, "");
    }
    let line = place.refusal("extension disable web").await;
    assert_eq!(line, "there is no extension called \"web\"");
}

#[tokio::test]
async fn parameters_are_set_as_json_of_their_kind() {
    let place = Place::of_the_fixture();
    let greeting = || place.call("config set greeting");
    assert_eq!(
        table(&place.run("config list").await),
        [
            ["greeting", "\"hello\"", "default", "What to say."],
            ["patience", "3", "default", "How long to wait."],
            ["mood", "\"calm\"", "default", "How to be."],
            ["ratio", "\"1.0\"", "default", "How much of it."],
            ["days", "[6,7]", "default", "When to rest."],
            ["loud", "0", "default", "Whether to shout."],
        ]
    );
    assert_eq!(greeting().word("\"good\\tday\"").finish().await.succeeds(), "");
    assert_eq!(place.run("config set patience -1").await, "");
    assert_eq!(place.run("config get greeting").await, "\"good\\tday\"\n");
    assert_eq!(
        table(&place.run("config list").await)[..2],
        [
            ["greeting", "\"good\\tday\"", "set", "What to say."],
            ["patience", "-1", "set", "How long to wait."],
        ]
    );
    place.run("config set patience null").await;
    assert_eq!(place.run("config get patience").await, "3\n");

    // A list is written as one, with and without spaces.
    for list in ["[1,2]", "[ 1, 2 ]"] {
        let set = place.call("config set days").word(list).finish().await;
        assert_eq!(set.succeeds(), "");
        assert_eq!(place.run("config get days").await, "[1,2]\n");
    }
    place.run("config set days []").await;
    assert_eq!(place.run("config get days").await, "[]\n");

    for (arguments, says) in [
        ("config get patients", "there is no parameter called \"patients\""),
        ("config set patients 3", "there is no parameter called \"patients\""),
        ("config set patience 1.5", "patience is a whole number, from -1 to 9, not 1.5"),
        ("config set patience \"3\"", "patience is a whole number, from -1 to 9, not \"3\""),
        ("config set patience 10", "patience is a whole number, from -1 to 9, not 10"),
        ("config set patience -2", "patience is a whole number, from -1 to 9, not -2"),
        ("config set greeting 3", "greeting is a string of at most 20 characters, not 3"),
        ("config set greeting hello", "\"hello\" is no JSON"),
        ("config set mood \"glad\"", "mood is one of \"calm\", \"cross\", not \"glad\""),
        ("config set ratio 0.5", "ratio is a decimal number in a string, at least 0.5, not 0.5"),
        (
            "config set ratio \"0.499\"",
            "ratio is a decimal number in a string, at least 0.5, not \"0.499\"",
        ),
        (
            "config set days [1,8]",
            "days is a list of whole numbers, from 1 to 7, at most 3 of them, not [1,8]",
        ),
        ("config set days [1,2,3,4]", "days is a list of whole numbers, from 1 to 7, at most 3"),
        ("config set days 1,2", "\"1,2\" is no JSON"),
        ("config set days 1", "days is a list of whole numbers"),
        ("config set loud true", "loud is 0 or 1, not true"),
    ] {
        let line = place.refusal(arguments).await;
        assert!(line.starts_with(says), "{arguments}: {line}");
    }
    // Nothing of it was stored.
    assert_eq!(place.run("config get patience").await, "3\n");
    assert_eq!(place.run("config get days").await, "[]\n");
}

#[tokio::test]
async fn reports_are_read_from_a_replica_on_the_same_kind_of_server_alone() {
    let place = Place::of_the_store();
    let file = "--database-reports sqlite://data/replica.db user list";
    let why = "reports can only be read from a replica of a database on the same kind of server";
    assert_eq!(place.refusal(file).await, why);
}

#[tokio::test]
async fn a_parameter_that_the_extension_refuses_is_not_stored() {
    let place = Place::of_the_fixture();
    place.run("config set greeting \"servus\"").await;
    for (arguments, says) in [
        (
            "config set greeting \"good-bye\"",
            "greeting cannot be \"good-bye\": nobody begins with it",
        ),
        ("config set mood \"cross\"", "mood cannot be \"cross\": it is too early for that"),
        // What is wrong with the extension is told apart from what is wrong with the value.
        ("config set greeting \"fail\"", "misbehaves: check failed: nobody knows today"),
    ] {
        assert_eq!(place.refusal(arguments).await, says, "{arguments}");
    }
    assert_eq!(place.run("config get greeting").await, "\"servus\"\n");
    assert_eq!(place.run("config get mood").await, "\"calm\"\n");
}

#[tokio::test]
async fn the_demonstration_fills_the_store_and_says_what_it_made() {
    let place = Place::of_the_store();
    let line = place.run("demo --products 40 --orders 30").await;
    assert_eq!(line, "40 products, 250 customers, 30 orders\n");
    // What is there already is not made again.
    assert_eq!(place.run("demo --products 40 --orders 30").await, line);
    let token = place.user("ann", "Manager").await;
    let served = place.serve().await;
    let total = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200).total();
    assert!(total > 0);
    served.stop().await;

    let place = Place::of_the_fixture();
    assert_eq!(place.run("demo --products 4 --orders 0").await, "made 4 products\n");
    place.call("demo --products many").finish().await.exits(2);
}

#[tokio::test]
async fn serving_an_empty_database_brings_reference_data_and_nothing_else() {
    let place = Place::of_the_store();
    let served = place.serve().await;
    assert_eq!(served.out.all(), [""; 0], "nothing is printed, secret or not");
    let token = place.user("ann", "Manager").await;
    let total = async |path: &str| {
        let path = format!("/api/index.php/v1/shop/{path}");
        Answer::to(served.get(&path, &token)).await.expect(200).total()
    };
    assert!(total("countries").await > 200);
    assert!(total("currencies").await > 100);
    assert_eq!(total("manufacturers").await, 0);
    served.stop().await;
}

#[tokio::test]
async fn every_command_teaches_its_use() {
    let place = Place::with([]);
    let commands = [
        "serve",
        "user",
        "user add",
        "user list",
        "user block",
        "user unblock",
        "user remove",
        "token",
        "token generate",
        "token revoke",
        "group",
        "group list",
        "group add",
        "permission",
        "permission list",
        "permission set",
        "permission explain",
        "extension",
        "extension list",
        "extension enable",
        "extension disable",
        "config",
        "config list",
        "config get",
        "config set",
        "demo",
        "copy",
    ];
    for command in commands {
        let help = place.run(&format!("{command} --help")).await;
        assert!(help.contains(&format!("Usage: example-host {command}")), "{command}: {help}");
        assert!(help.lines().next().unwrap().len() > 10, "{command} says what it does: {help}");
    }
    let help = place.run("--help").await;
    for word in commands.iter().filter(|command| !command.contains(' ')).chain(&[
        "--database",
        "--plugin",
        "DATABASE_URL",
        "HOST_LISTEN",
        "HOST_PLUGIN",
        "HOST_LOG",
        "Examples:",
        "Exit codes:",
    ]) {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(place.run("--version").await.starts_with("example-host "));
}

/// Every command that changes something, in an order in which they can be given: its name, what is
/// said beside it, and what the audit trail says of it and of what.
const CHANGES: [(&str, &str, &str, &str); 15] = [
    ("user add", "ann --email ann@example.com --group Manager", "add a user", "user 1"),
    ("user password", "ann", "set a password", "user 1"),
    ("user block", "ann", "block a user", "user 1"),
    ("user unblock", "ann", "unblock a user", "user 1"),
    ("token generate", "ann", "generate a token", "user 1"),
    ("token revoke", "ann", "revoke a token", "user 1"),
    ("user remove", "ann", "delete a user", "user 1"),
    ("group add", "Clerks --parent Manager", "add a group", "group 6"),
    (
        "permission set",
        "Manager fixture.look com_fixture deny",
        "change permissions: deny fixture.look for Manager",
        "asset com_fixture",
    ),
    ("extension disable", "misbehaves", "disable an extension", "extension misbehaves"),
    ("extension enable", "misbehaves", "enable an extension", "extension misbehaves"),
    ("config set", "patience 9", "change parameters: patience", "extension misbehaves"),
    ("demo", "--products 4 --orders 0", "fill the store", " "),
    // Its entry is in the copy; the site itself is not changed.
    ("copy", "", "copy the site from ", " "),
    // Without any command it is the quick start, whose entries stand in its own test.
    ("", "", "", ""),
];

/// Every other command.
const READS: [&str; 9] = [
    "serve",
    "user list",
    "group list",
    "permission list",
    "permission explain",
    "extension list",
    "config list",
    "config get",
    "openapi",
];

/// The commands that the program says it has, those of several words with all of them.
async fn commands(place: &Place, above: &str) -> BTreeSet<String> {
    let help = place.run(&format!("{above} --help")).await;
    let Some((_, listed)) = help.split_once("\nCommands:\n") else {
        return BTreeSet::from([above.trim().to_owned()]);
    };
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut found = BTreeSet::new();
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        found.extend(Box::pin(commands(place, &format!("{above} {name}"))).await);
    }
    found
}

/// The entries of the audit trail, in the order in which they were written: who by what means, the
/// command, what was done and to what.
async fn entries(database: &Database) -> Vec<String> {
    database.texts(ENTRIES).await
}

const ENTRIES: &str = "SELECT concat(username, ', ', means, ': ', route, ': ', what, ': ', \
     record_type, ' ', record_id) FROM host_audit WHERE origin = 'command-line' ORDER BY id";

#[tokio::test]
async fn every_changing_command_leaves_an_entry_by_whoever_has_given_it() {
    let place = Place::of_the_fixture();
    let named: BTreeSet<String> =
        CHANGES.iter().map(|change| change.0).chain(READS).map(str::to_owned).collect();
    let mut commands = commands(&place, "").await;
    commands.insert(String::new());
    assert_eq!(commands, named, "each command is in one of the tables above");

    let here = |words: &str| place.call(words).env("DATABASE_URL", place.database.url());
    let asked = std::process::Command::new("id").arg("-u").output().unwrap();
    let who =
        format!("{}, command line, uid {}", operator(), String::from_utf8(asked.stdout).unwrap());
    let who = who.trim();
    let mut expected = Vec::new();
    for (name, rest, what, record) in CHANGES.into_iter().filter(|change| !change.1.is_empty()) {
        let call = here(name).input("correct horse\n");
        // A name in the environment can be anybody's.
        let call = call.env("USER", "somebody").env("LOGNAME", "somebody");
        let call = rest.split(' ').fold(call, |call, word| call.word(word));
        call.finish().await.succeeds();
        expected.push(format!("{who}: {name}: {what}: {record}"));
        assert_eq!(entries(&place.database).await, expected, "{name}");
    }
    // What was refused has none, nor what was only read.
    for words in ["user block ann", "group add Clerks --parent Manager", "config set patience 10"] {
        here(words).finish().await.fails();
    }
    for words in ["user list", "config get patience", "openapi"] {
        here(words).finish().await.succeeds();
    }
    assert_eq!(entries(&place.database).await, expected);

    let copy = Database::on(Engine::Sqlite).await;
    let from = place.database.url();
    place.call("copy --from").word(&from).word("--to").word(copy.url()).finish().await.succeeds();
    assert_eq!(entries(&place.database).await, expected);
    let copied = entries(&copy).await;
    assert_eq!(copied[..expected.len()], expected);
    let [entry] = &copied[expected.len()..] else { panic!("{copied:#?}") };
    assert!(entry.starts_with(&format!("{who}: copy: copy the site from ")), "{entry}");
}

#[tokio::test]
async fn a_command_whose_entry_cannot_be_written_changes_nothing() {
    let place = Place::of_the_fixture();
    let here = |words: &str| place.call(words).env("DATABASE_URL", place.database.url());
    let add = "user add ann --email ann@example.com --group Manager";
    here(add).finish().await.succeeds();
    let lists = async || {
        let mut all = String::new();
        for list in ["user", "group", "permission", "extension", "config"] {
            all += &here(&format!("{list} list")).finish().await.succeeds();
        }
        all
    };
    let before = lists().await;
    place.database.execute("ALTER TABLE host_audit RENAME TO host_audit_gone").await;
    let changes = CHANGES.iter().filter(|change| !change.1.is_empty());
    for (name, rest, ..) in changes.filter(|change| !matches!(change.0, "user add" | "demo")) {
        let call = here(name).input("correct horse\n");
        let call = rest.split(' ').fold(call, |call, word| call.word(word));
        let line = call.finish().await.fails();
        assert!(line.starts_with("the host's database failed"), "{name}: {line}");
    }
    assert_eq!(lists().await, before);
}

#[tokio::test]
async fn an_address_with_a_password_need_not_be_an_argument() {
    let place = Place::of_the_fixture();
    let from = place.database.url();
    let list = place.call("user list").env("DATABASE_URL", &from).finish().await;
    list.succeeds();
    let copy = Database::on(Engine::Sqlite).await;
    let call = place.call("copy").env("COPY_FROM_URL", &from).env("COPY_TO_URL", copy.url());
    assert!(call.finish().await.succeeds().starts_with("0 users"));

    for secret in ["postgres://ann:s3cret@127.0.0.1:1/site", "mysql://ann:s3cret@localhost"] {
        for (name, other) in [("COPY_FROM_URL", "COPY_TO_URL"), ("COPY_TO_URL", "COPY_FROM_URL")] {
            let call = || place.call("copy").env(name, secret).env(other, &from);
            let line = call().finish().await.fails();
            assert!(!line.contains("s3cret"), "{name}: {line}");
            let help = call().word("--help").finish().await;
            assert!(!help.succeeds().contains("s3cret"), "{name}");
        }
    }
    place.call("copy").env("COPY_FROM_URL", &from).finish().await.exits(2);
}

#[tokio::test]
async fn wrong_usage_is_told_apart_from_failure_by_its_exit_code() {
    let place = Place::with([]);
    for arguments in [
        "users",
        "user",
        "user add ann",
        "user add ann --email a@example.com",
        "token generate",
        "permission set Manager store.view com_shop perhaps",
        "config set greeting",
        "serve --port 80",
        "--plugin",
        "demo --products -1",
        "list user",
    ] {
        let finished = place.call(arguments).finish().await;
        finished.exits(2);
        assert_eq!(finished.out(), "", "{arguments}");
        assert!(finished.err().contains("--help"), "{arguments}: {}", finished.err());
    }
}

#[tokio::test]
async fn an_environment_that_has_no_meaning_is_said_in_one_line() {
    let place = Place::of_the_fixture();
    for (name, value) in [
        ("HOST_LOG", "a=b=c"),
        ("HOST_LOG_FORMAT", "xml"),
        ("HOST_CORS_ORIGINS", "shop.example.com"),
        ("HOST_CORS_ORIGINS", "*"),
        ("HOST_REQUEST_TIMEOUT", "0"),
        ("HOST_REQUEST_TIMEOUT", "soon"),
        ("HOST_HEADER_TIMEOUT", "-1"),
        ("HOST_CONNECTIONS", "0"),
        ("HOST_BODY_LIMIT", "1 MiB"),
        ("HOST_TRUSTED_PROXIES", "10.0.0.0/33"),
        ("HOST_TRUSTED_PROXIES", "127.0.0.1, proxy.example.com"),
        ("HOST_SMTP_TIMEOUT", "0"),
        ("HOST_MAIL_FROM", "the shop"),
        ("HOST_MAIL_FROM", "shop@example.com\r\nBcc: all@example.com"),
        ("HOST_SMTP_URL", "mail.example.com"),
        ("HOST_SMTP_URL", "ann:s3cret@mail.example.com"),
        ("HOST_SMTP_URL", "https://ann:s3cret@mail.example.com"),
        ("HOST_SMTP_URL", "smtp://ann:s3cret@mail.example.com?tls=always"),
        ("HOST_SMTP_URL", "smtp://ann:s3cret@mail.example.com:66000"),
    ] {
        let line = place.call("user list").env(name, value).finish().await.fails();
        assert!(line.contains(name) && !line.contains("s3cret"), "{name}={value}: {line}");
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_said_in_one_line() {
    let place = Place::of_the_fixture();
    std::fs::write(
        place.path("text.db"),
        "no database, but long enough to be read as one".repeat(99),
    )
    .unwrap();
    std::fs::write(place.path("file"), "").unwrap();
    for (url, says) in [
        ("postgres://ann:s3cret@127.0.0.1:1/site", "Connection refused"),
        ("mysql://ann:s3cret@127.0.0.1:1/site", "Connection refused"),
        ("postgres://ann:s3cret@localhost:port/site", "is no address of a database"),
        ("mysql://ann:s3cret@localhost", "names a server and no database"),
        ("data/host.db", "is no address of a database"),
        ("redis://ann:s3cret@localhost", "is no address of a database"),
        ("sqlite::memory:", "a database in memory cannot keep a site"),
        ("sqlite://shop.db", "is kept for the extension of that name"),
        ("sqlite://text.db", "not a database"),
        ("sqlite://file/host.db", "file"),
    ] {
        let by_flag = place.call("--database").word(url).word("user").word("list").finish().await;
        let line = by_flag.fails();
        assert!(line.contains(says) && !line.contains("s3cret"), "{url}: {line}");
        let by_name = place.call("user list").env("DATABASE_URL", url).finish().await;
        assert_eq!(by_name.fails(), line, "{url} in the environment");
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_is_said_in_one_line() {
    let place = Place::of_the_fixture();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (address, says) in [(&*address, "in use"), ("127.0.0.1", "cannot listen")] {
        let by_flag = place.call("serve --listen").word(address).finish().await.fails();
        assert!(by_flag.contains(says) && by_flag.contains(address), "{address}: {by_flag}");
        let by_name = place.call("serve").env("HOST_LISTEN", address).finish().await.fails();
        assert_eq!(by_name, by_flag);
        // The quick start says so before it fills the store.
        let quick = place.call("").env("HOST_LISTEN", address).finish().await.fails();
        assert_eq!(quick, by_flag);
    }
    let line = place.call("serve").env("HOST_LISTEN", &address).finish().await.fails();
    assert!(line.contains("HOST_LISTEN="), "says how to choose another: {line}");
    assert_eq!(place.run("user list").await, "", "no administrator that nobody was told of");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "finds the database by its file")]
async fn the_environment_stands_in_for_the_global_options() {
    let place = Place::with([]);
    let both = std::env::join_paths([library(), fixture("misbehaves")]).unwrap();
    let call = |words: &str| {
        let call = place.call(words).env("DATABASE_URL", "sqlite://elsewhere/site.db");
        call.env("HOST_PLUGIN", &both)
    };
    let listed = call("extension list").finish().await.succeeds();
    let names: Vec<&str> = table(&listed).iter().map(|row| row[0]).collect();
    assert_eq!(names, ["misbehaves", "token-auth", "webservices-shop"]);
    assert!(place.path("elsewhere/site.db").exists());
    assert!(place.path("elsewhere/shop.db").exists());

    // What is said on the command line wins.
    let library = fixture("misbehaves");
    let named = call("--database sqlite://here/host.db --plugin");
    let named = named.word(library).word("extension").word("list").finish().await.succeeds();
    assert_eq!(table(&named).len(), 2);
    assert!(place.path("here/host.db").exists());

    let served = call("serve").env("HOST_LISTEN", "127.0.0.1:0").start().await;
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn a_quick_start_prints_what_one_needs_once() {
    let place = Place::of_the_store();
    let served = quick_start(&place).start().await;
    let lines = printed(&served.out, "curl").await;
    let address = format!("http://{}", served.address);
    assert!(lines[0].ends_with(&address), "{lines:#?}");
    assert_eq!(labelled(&lines, "Administrator"), "admin");
    let made = place.database.texts_at(&place.site_url(), ENTRIES).await;
    let made = made.iter().filter_map(|entry| entry.split_once(": ")).map(|(_, what)| what);
    assert_eq!(
        made.collect::<Vec<_>>(),
        [
            "quick start: fill the store:  ",
            "quick start: add a user: user 1",
            "quick start: generate a token: user 1",
        ]
    );
    let password = labelled(&lines, "Password");
    let token = labelled(&lines, "API token");
    let curl = lines.iter().find(|line| line.starts_with("curl ")).unwrap();

    // As it would be pasted into a shell, where there is the program.
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{curl} --silent --show-error --fail")]).stdin(Stdio::null());
    let pasted = patiently(curl, shell.kill_on_drop(true).output()).await.unwrap();
    let missing = pasted.status.code() == Some(127);
    assert!(pasted.status.success() || missing, "{curl}: {pasted:?}");
    if !missing {
        let document: serde_json::Value = serde_json::from_slice(&pasted.stdout).unwrap();
        assert!(!document["data"].as_array().unwrap().is_empty());
    }
    for part in [&address, &token, MANUFACTURERS, "Accept: application/vnd.api+json"] {
        assert!(curl.contains(part), "{part}: {curl}");
    }
    let first = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
    assert!(first.total() > 0);
    let log = served.log.all().join("\n");
    assert!(!log.contains(&token) && !log.contains(&password), "a secret in the log");
    served.stop().await;

    // Started again, it serves the same and says no more than where.
    let again = quick_start(&place).start().await;
    let lines = printed(&again.out, "http://").await;
    let second = Answer::to(again.get(MANUFACTURERS, &token)).await.expect(200);
    assert_eq!(second.json()["data"], first.json()["data"]);
    again.stop().await;
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert_eq!(table(&place.run("user list").await).len(), 1);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "kills it by the files that it makes")]
async fn a_first_start_that_was_killed_is_completed_by_the_next() {
    let place = Place::of_the_store();
    // Wherever it is hit: as soon as there is a file, as soon as there is the store's, at the end.
    for file in ["data/host.db", "data/shop.db", "data/shop.db-wal"] {
        let mut child = quick_start(&place).spawn();
        eventually(file, async || place.path(file).exists().then_some(())).await;
        child.kill().await.unwrap();
    }
    let users = place.run("user list").await;
    let served = quick_start(&place).start().await;
    let lines = printed(&served.out, "http://").await;
    if users.is_empty() {
        // Nobody was told a password, so there is a new one.
        let lines = printed(&served.out, "curl").await;
        let token = labelled(&lines, "API token");
        let answer = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
        assert!(answer.total() > 0);
    } else {
        assert_eq!(lines.len(), 1, "{lines:#?}");
    }
    served.stop().await;
    assert_eq!(table(&place.run("user list").await).len(), 1);
    let token = place.run("token generate admin").await;
    let served = place.serve().await;
    let total = Answer::to(served.get(MANUFACTURERS, token.trim())).await.expect(200).total();
    served.stop().await;

    // It has what a first start has that nobody disturbed.
    let undisturbed = Place::of_the_store();
    undisturbed.run("demo").await;
    let token = undisturbed.user("ann", "Manager").await;
    let served = undisturbed.serve().await;
    assert_eq!(Answer::to(served.get(MANUFACTURERS, &token)).await.total(), total);
    served.stop().await;
}

#[tokio::test]
async fn a_running_host_follows_what_is_done_to_users_and_tokens() {
    let place = Place::of_the_store();
    let token = place.user("ann", "Manager").await;
    let served = place.serve().await;
    served.until(200, MANUFACTURERS, &token).await;
    for (command, status) in
        [("user block ann", 401), ("user unblock ann", 200), ("token revoke ann", 401)]
    {
        place.run(command).await;
        served.until(status, MANUFACTURERS, &token).await;
    }
    let first = place.run("token generate ann").await;
    served.until(200, MANUFACTURERS, first.trim()).await;
    let second = place.run("token generate ann").await;
    served.until(401, MANUFACTURERS, first.trim()).await;
    served.until(200, MANUFACTURERS, second.trim()).await;
    place.run("user remove ann").await;
    served.until(401, MANUFACTURERS, second.trim()).await;
    served.stop().await;
}

#[tokio::test]
async fn a_running_host_follows_permissions_extensions_and_parameters() {
    let place = Place::of_the_store();
    let token = place.user("ann", "Manager").await;
    let served = place.serve().await;
    served.until(200, MANUFACTURERS, &token).await;
    for (command, status) in [
        ("permission set Manager store.view com_shop.manufacturers deny", 403),
        ("permission set Manager store.view com_shop.manufacturers inherit", 200),
        ("permission set Public core.login.api root deny", 401),
        ("permission set Public core.login.api root inherit", 200),
        ("extension disable webservices-shop", 404),
        ("extension enable webservices-shop", 200),
        ("extension disable token-auth", 401),
        ("extension enable token-auth", 200),
    ] {
        place.run(command).await;
        served.until(status, MANUFACTURERS, &token).await;
    }

    // The store's own currency cannot be deleted; which one that is, is a parameter.
    let administrator = place.user("eve", "Administrator").await;
    let currencies = "/api/index.php/v1/shop/currencies";
    let find = format!("{currencies}?list[ordering]=currency_code&page[limit]=100");
    let euro = served.until(200, &find, &administrator).await;
    let list = euro.json()["data"].as_array().unwrap().clone();
    let [euro, franc] = ["EUR", "CHF"].map(|code| {
        let found = list.iter().find(|record| record["attributes"]["currency_code"] == code);
        found.map(|record| record["id"].as_str().unwrap().to_owned()).unwrap()
    });
    let delete =
        || Answer::to(served.ask("DELETE", &format!("{currencies}/{euro}"), &administrator));
    delete().await.expect(422);
    let enable = served.ask("PATCH", &format!("{currencies}/{franc}"), &administrator);
    let enable = enable.header("content-type", "application/json").body(r#"{"enabled": 1}"#);
    Answer::to(enable).await.expect(200);
    place.call("config set default_currency").word("\"CHF\"").finish().await.succeeds();
    eventually("the euro is a currency like any other", async || {
        (delete().await.status == 204).then_some(())
    })
    .await;
    served.stop().await;
}
