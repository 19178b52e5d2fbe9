//! How the program starts and fails: arguments, environment, databases, addresses, and the first
//! start without any argument.

use std::process::Stdio;

use tokio::process::Command;

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, fixture, library, library_name, profile_dir};
use crate::support::process::{Call, ENTRIES, Lines, MANUFACTURERS, Place, program, table};
use crate::support::waiting::{eventually, patiently};

/// The value after a label in the output of the quick start.
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

/// The output of a quick start, up to its last line.
async fn printed(out: &Lines, last: &str) -> Vec<String> {
    out.wait_for(last).await;
    out.all()
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_address_with_a_password_can_come_from_the_environment() {
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn wrong_usage_and_failure_have_different_exit_codes() {
    let place = Place::of_the_fixture();
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
        "list user",
    ] {
        let finished = place.call(arguments).finish().await;
        finished.exits(2);
        assert_eq!(finished.out(), "", "{arguments}");
        assert!(finished.err().contains("--help"), "{arguments}: {}", finished.err());
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_invalid_environment_is_reported_in_one_line() {
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
async fn an_unusable_database_is_reported_in_one_line() {
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
        ("postgres://ann:s3cret@localhost:port/site", "is not a database URL"),
        ("mysql://ann:s3cret@localhost", "names a server but no database"),
        ("data/host.db", "is not a database URL"),
        ("redis://ann:s3cret@localhost", "is not a database URL"),
        ("sqlite::memory:", "a site cannot be kept in memory"),
        ("sqlite://misbehaves.db", "is kept for the extension of that name"),
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_unusable_listen_address_is_reported_in_one_line() {
    let place = Place::of_the_fixture();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (address, says) in [(&*address, "in use"), ("127.0.0.1", "cannot listen")] {
        let by_flag = place.call("serve --listen").word(address).finish().await.fails();
        assert!(by_flag.contains(says) && by_flag.contains(address), "{address}: {by_flag}");
        let by_name = place.call("serve").env("HOST_LISTEN", address).finish().await.fails();
        assert_eq!(by_name, by_flag);
        // The quick start reports it before it fills the store.
        let quick = place.call("").env("HOST_LISTEN", address).finish().await.fails();
        assert_eq!(quick, by_flag);
    }
    let line = place.call("serve").env("HOST_LISTEN", &address).finish().await.fails();
    assert!(line.contains("HOST_LISTEN="), "says how to choose another: {line}");
    assert_eq!(place.run("user list").await, "", "no administrator whose password was not printed");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "finds the database by its file")]
async fn the_environment_can_replace_the_global_options() {
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

    // The command line has precedence.
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_default_library_is_not_added_to_a_site_of_other_extensions() {
    // The program as it is installed, with its default library beside it.
    let folder = tempfile::tempdir_in(profile_dir()).unwrap();
    let installed = folder.path().join("example-host");
    std::fs::hard_link(program(), &installed).unwrap();
    std::fs::hard_link(library(), folder.path().join(library_name("plugin"))).unwrap();
    let names = |listed: &str| -> Vec<String> {
        table(listed).iter().map(|row| row[0].to_owned()).collect()
    };

    let place = Place::with([fixture("greeter")]);
    place.run("extension list").await;
    let other = Database::at_once();
    for words in ["user list", "serve", "", "check", "copy"] {
        let call = words.split_whitespace().fold(place.call_of(&installed), Call::word);
        let call = call.env("COPY_FROM_URL", place.site_url()).env("COPY_TO_URL", other.url());
        let line = call.env("HOST_LISTEN", "127.0.0.1:0").finish().await.fails();
        assert_eq!(
            line,
            "the site has greeter, but not webservices-shop, which is the default; name the \
             libraries of the site with --plugin or HOST_PLUGIN",
            "{words}"
        );
    }
    assert_eq!(names(&place.run("extension list").await), ["greeter", "token-auth"]);
    assert!(!place.path("data/shop.db").exists());

    // Whoever names it adds it. From then on it is the site's, as it is that of a new site.
    let add = place.call("--plugin").word(library()).word("extension").word("list");
    let both = ["greeter", "token-auth", "webservices-shop"];
    assert_eq!(names(&add.finish().await.succeeds()), both);
    let list = |place: &Place| place.call_of(&installed).word("extension").word("list").finish();
    assert_eq!(names(&list(&place).await.succeeds()), both);
    let new = Place::with([]);
    assert_eq!(names(&list(&new).await.succeeds()), ["token-auth", "webservices-shop"]);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has no file")]
async fn a_missing_file_of_an_extension_is_never_replaced_by_an_empty_one() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served = place.serve().await;
    let made = served.ask("POST", MANUFACTURERS, &token).header("content-type", "application/json");
    Answer::to(made.body(r#"{"manufacturer_name": "Birch"}"#)).await.expect(201);
    served.stop().await;

    let (file, away) = (place.data("shop.db"), place.path("away.db"));
    std::fs::rename(&file, &away).unwrap();
    let to = Database::at_once();
    for words in ["serve", "", "user list", "check", "demo", "copy"] {
        let call = place.call(words).env("HOST_LISTEN", "127.0.0.1:0");
        let call = call.env("COPY_FROM_URL", place.site_url()).env("COPY_TO_URL", to.url());
        assert_eq!(
            call.finish().await.fails(),
            "data/shop.db is missing, in which the site keeps the tables of webservices-shop; put \
             the file back, or restore a backup of all files of the site"
                .replace(
                    "data/shop.db",
                    if words == "copy" { file.to_str().unwrap() } else { "data/shop.db" }
                ),
            "{words}"
        );
        assert!(!file.exists(), "{words}");
    }

    std::fs::rename(&away, &file).unwrap();
    let copied = place.call("copy --from").word(place.site_url()).word("--to").word(to.url());
    copied.finish().await.succeeds();
    let served = place.serve().await;
    let kept = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
    assert_eq!(kept.total(), 1);
    served.stop().await;
    // A copy knows its file as well.
    let copy = to.folder.path().join("shop.db");
    std::fs::remove_file(&copy).unwrap();
    let line = place.call("user list").env("DATABASE_URL", to.url()).finish().await.fails();
    assert!(line.starts_with(&format!("{} is missing", copy.display())), "{line}");

    // An extension without tables has no file, and one that is new gets its own.
    let all = [fixture("greeter"), fixture("guestbook")];
    for _ in 0..2 {
        let call =
            all.iter().fold(place.call(""), |call, library| call.word("--plugin").word(library));
        call.word("user").word("list").finish().await.succeeds();
    }
    assert!(place.data("guestbook.db").exists() && !place.data("greeter.db").exists());
    // Whoever wants to begin with an empty store creates an empty file.
    std::fs::write(&file, "").unwrap();
    let served = place.serve().await;
    assert_eq!(Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200).total(), 0);
    served.stop().await;
}

#[tokio::test]
async fn a_quick_start_prints_credentials_once() {
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
            "install: install an extension: allow store.view on com_shop for Manager, \
             allow store.create on com_shop for Manager, allow store.edit on com_shop for Manager, \
             allow store.delete on com_shop for Administrator, \
             allow store.refund on com_shop.orders for Administrator, \
             allow store.privacy on com_shop.store for Administrator, \
             allow store.view on com_shop.config for Administrator: extension webservices-shop",
            "quick start: begin to fill in demo data:  ",
            "quick start: finish filling in demo data:  ",
            "quick start: add a user: user 1",
            "quick start: generate a token: user 1",
        ]
    );
    let password = labelled(&lines, "Password");
    let token = labelled(&lines, "API token");
    let curl = lines.iter().find(|line| line.starts_with("curl ")).unwrap();

    // As pasted into a shell that finds the program.
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

    // A second start serves the same data and prints only its address.
    let again = quick_start(&place).start().await;
    let lines = printed(&again.out, "http://").await;
    let second = Answer::to(again.get(MANUFACTURERS, &token)).await.expect(200);
    assert_eq!(second.json()["data"], first.json()["data"]);
    again.stop().await;
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert_eq!(table(&place.run("user list").await).len(), 1);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "kills it when certain files appear")]
async fn a_first_start_that_was_killed_is_completed_by_the_next() {
    let place = Place::of_the_store();
    // Killed at any stage: when the first file exists, when the store's file exists, and near the
    // end.
    for file in ["data/host.db", "data/shop.db", "data/shop.db-wal"] {
        let mut child = quick_start(&place).spawn();
        eventually(file, async || place.path(file).exists().then_some(())).await;
        child.kill().await.unwrap();
    }
    let users = place.run("user list").await;
    let served = quick_start(&place).start().await;
    let lines = printed(&served.out, "http://").await;
    if users.is_empty() {
        // No password had been printed, so a new one is generated.
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

    // The result is that of an undisturbed first start.
    let undisturbed = Place::of_the_store();
    undisturbed.run("demo").await;
    let token = undisturbed.user("ann", "Manager").await;
    let served = undisturbed.serve().await;
    assert_eq!(Answer::to(served.get(MANUFACTURERS, &token)).await.total(), total);
    served.stop().await;
}
