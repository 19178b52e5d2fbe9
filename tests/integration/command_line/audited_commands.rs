//! The entry in the audit trail of every command that changes something.

use std::collections::BTreeSet;

use crate::support::databases::{Database, Engine};
use crate::support::process::{ENTRIES, Place, operator};

/// Every command that changes something, in a possible order: its name, its arguments, and the
/// action and the object in its audit entry.
const CHANGES: [(&str, &str, &str, &str); 24] = [
    ("user add", "ann --email ann@example.com --group Manager", "add a user", "user 1"),
    ("user password", "ann", "set a password", "user 1"),
    ("user block", "ann", "block a user", "user 1"),
    ("user unblock", "ann", "unblock a user", "user 1"),
    ("token generate", "ann", "generate a token", "user 1"),
    ("token rotate", "ann default --overlap 2", "rotate a token: default", "user 1"),
    ("token create", "ann --name erp --rate 60", "create a token: erp", "user 1"),
    ("token revoke", "ann", "revoke a token: default", "user 1"),
    ("user remove", "ann", "delete a user", "user 1"),
    ("privacy export", "--email bob@example.com", "copy a person's data", PERSON),
    (
        "privacy erase",
        "--email bob@example.com --reason asked",
        "erase a person: asked; nothing was found",
        PERSON,
    ),
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
    ("demo", "--products 4", "finish filling in demo data", " "),
    ("recount", "", "correct counts and sums", " "),
    ("restored", "", "note a restored backup", " "),
    // The entry is in the copy; the site itself does not change.
    ("copy", "", "copy the site from ", " "),
    // The entry is in the restored site, where `backups` looks for it.
    ("restore", "", "", ""),
    // It needs a mail server: see `forgotten`.
    ("user invite", "", "", ""),
    // It needs a user who has set one up: see `second_factor`.
    ("user second-factor remove", "", "", ""),
    // The program without a command is the quick start, whose entries have a test of their own.
    ("", "", "", ""),
];

/// A person in an entry, without the hash of the address.
const PERSON: &str = "person …";

/// Every other command.
const READS: [&str; 15] = [
    "backup",
    "token list",
    "audit verify",
    "audit export",
    "check",
    "tally",
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

/// Whether a change is tested here, by its command.
fn is_given(change: &(&str, &str, &str, &str)) -> bool {
    !matches!(change.0, "copy" | "restore" | "user invite" | "user second-factor remove" | "")
}

/// The commands in the help of the program, with all their words.
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

/// The entries of the audit trail, in order: user, means, command, action and object.
async fn entries(database: &Database) -> Vec<String> {
    let is_hash = |word: &str| word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit());
    let without_hash = |entry: String| match entry.rsplit_once(' ') {
        Some((rest, word)) if is_hash(word) => format!("{rest} …"),
        _ => entry,
    };
    database.texts(ENTRIES).await.into_iter().map(without_hash).collect()
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn every_changing_command_leaves_an_audit_entry_with_its_user() {
    let place = Place::of_the_fixture();
    let named: BTreeSet<String> =
        CHANGES.iter().map(|change| change.0).chain(READS).map(str::to_owned).collect();
    let mut commands = commands(&place, "").await;
    commands.insert(String::new());
    assert_eq!(commands, named, "each command is in exactly one of the tables above");

    let here = |words: &str| place.call(words).env("DATABASE_URL", place.database.url());
    let asked = std::process::Command::new("id").arg("-u").output().unwrap();
    let who =
        format!("{}, command line, uid {}", operator(), String::from_utf8(asked.stdout).unwrap());
    let who = who.trim();
    // The first command installs the extension, which brings a rule.
    let installed = "install an extension: allow fixture.look on com_fixture for Manager";
    let mut expected = vec![format!("{who}: install: {installed}: extension misbehaves")];
    for (name, rest, what, record) in CHANGES.into_iter().filter(is_given) {
        let call = here(name).input("correct horse\n");
        // A name in the environment can be forged.
        let call = call.env("USER", "somebody").env("LOGNAME", "somebody");
        let call = rest.split_whitespace().fold(call, |call, word| call.word(word));
        call.finish().await.succeeds();
        if name == "demo" {
            expected.push(format!("{who}: demo: begin to fill in demo data:  "));
        }
        if name == "privacy erase" {
            expected.push(format!("{who}: {name}: begin to erase a person: asked: {PERSON}"));
        }
        expected.push(format!("{who}: {name}: {what}: {record}"));
        assert_eq!(entries(&place.database).await, expected, "{name}");
    }
    // Refused commands and reads have no entries.
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
async fn a_command_changes_nothing_if_its_audit_entry_cannot_be_written() {
    let place = Place::of_the_fixture();
    let here = |words: &str| place.call(words).env("DATABASE_URL", place.database.url());
    let add = "user add ann --email ann@example.com --group Manager";
    here(add).finish().await.succeeds();
    here("token generate ann").finish().await.succeeds();
    let lists = async || {
        let mut all = String::new();
        for list in ["user", "group", "permission", "extension", "config"] {
            all += &here(&format!("{list} list")).finish().await.succeeds();
        }
        all += &here("token list ann").finish().await.succeeds();
        all
    };
    let before = lists().await;
    place.database.execute("ALTER TABLE host_audit RENAME TO host_audit_gone").await;
    let changes = CHANGES.into_iter().filter(is_given);
    for (name, rest, ..) in changes.filter(|change| !matches!(change.0, "user add" | "demo")) {
        let call = here(name).input("correct horse\n");
        let call = rest.split_whitespace().fold(call, |call, word| call.word(word));
        let line = call.finish().await.fails();
        assert!(line.starts_with("the host's database failed"), "{name}: {line}");
    }
    assert_eq!(lists().await, before);
}
