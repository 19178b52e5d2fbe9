//! A site that moves to another database: everything is there afterwards, or nothing is served.

use crate::databases::{Database, Engine};
use crate::harness::fixture;
use crate::process::{Call, Place};

const ECHO: &str = "/api/index.php/v1/misbehaves/echo/1/word";

/// What the program says of a site, command by command.
const LISTS: [&str; 5] =
    ["user list", "group list", "permission list", "extension list", "config list"];

/// A command line about another database than that of the place.
fn about(place: &Place, url: &str, words: &str) -> Call {
    place.call(words).env("DATABASE_URL", url)
}

fn copy(place: &Place, from: &str, to: &str) -> Call {
    place.call("copy --from").word(from).word("--to").word(to)
}

/// A site with something of everything, the last user removed.
async fn furnish(place: &Place, url: &str) -> String {
    let run = async |words: &str| about(place, url, words).finish().await.succeeds();
    run("group add Clerks --parent Manager").await;
    run("group add Juniors --parent Clerks").await;
    for (name, address) in [("ann", "ann"), ("bob", "bob"), ("Łucja", "lucja"), ("zed", "zed")] {
        let add = format!("user add {name} --email {address}@example.com");
        run(&format!("{add} --group Clerks --group Registered")).await;
    }
    run("user block bob").await;
    run("user remove zed").await;
    run("permission set Juniors fixture.look root deny").await;
    run("config set patience 9").await;
    run("extension disable token-auth").await;
    run("extension enable token-auth").await;
    run("token generate ann").await.trim().to_owned()
}

async fn moves(from: Engine, to: Engine) {
    let place = Place::of_the_fixture();
    let (source, target) = (Database::on(from).await, Database::on(to).await);
    let (from, to) = (source.url(), target.url());
    let token = furnish(&place, &from).await;
    let copied = copy(&place, &from, &to).finish().await.succeeds();
    let lines: Vec<&str> = copied.lines().collect();
    assert!(lines[0].starts_with("3 users, 7 groups, 6 memberships, 2 assets, "), "{lines:?}");
    assert_eq!(lines[1..], ["copied nothing"]);

    for list in LISTS {
        let there = about(&place, &to, list).finish().await.succeeds();
        assert_eq!(there, about(&place, &from, list).finish().await.succeeds(), "{list}");
    }
    let served = about(&place, &to, "serve --listen 127.0.0.1:0").start().await;
    served.until(200, ECHO, &token).await;
    served.stop().await;
    // The number of the user who was removed is not given again, and new rows find their place.
    let add = "user add eve --email eve@example.com --group Juniors";
    assert_eq!(about(&place, &to, add).finish().await.succeeds(), "5\n");
    let add = "group add Seniors --parent Clerks";
    assert_eq!(about(&place, &to, add).finish().await.succeeds(), "8\n");
}

#[tokio::test]
async fn a_site_moves_from_a_file_with_all_it_has() {
    moves(Engine::Sqlite, Engine::of_this_run()).await;
}

#[tokio::test]
async fn a_site_moves_to_a_file_with_all_it_has() {
    moves(Engine::of_this_run(), Engine::Sqlite).await;
}

#[tokio::test]
async fn a_site_moves_within_an_engine_with_all_it_has() {
    moves(Engine::of_this_run(), Engine::of_this_run()).await;
}

#[tokio::test]
async fn a_copy_that_was_not_finished_is_not_served_and_starts_over() {
    let place = Place::of_the_fixture();
    let (source, target) = (Database::on(Engine::Sqlite).await, Database::new().await);
    let (from, to) = (source.url(), target.url());
    furnish(&place, &from).await;
    let stuck = source.folder.path().join("stuck");
    std::fs::write(&stuck, "").unwrap();
    let line = copy(&place, &from, &to).finish().await.fails();
    assert_eq!(line, "misbehaves: copy failed: cannot copy");
    for words in ["serve --listen 127.0.0.1:0", "user list"] {
        let line = about(&place, &to, words).finish().await.fails();
        assert!(line.contains("copy of a site that was not finished"), "{line}");
    }
    // Half a site is no site to copy either.
    let third = Database::on(Engine::Sqlite).await;
    let line = copy(&place, &to, &third.url()).finish().await.fails();
    assert!(line.contains("not finished"), "{line}");

    std::fs::remove_file(&stuck).unwrap();
    about(&place, &from, "user remove bob").finish().await.succeeds();
    copy(&place, &from, &to).finish().await.succeeds();
    let users = about(&place, &to, "user list").finish().await.succeeds();
    assert_eq!(users, about(&place, &from, "user list").finish().await.succeeds());
    assert_eq!(users.lines().count(), 2);
}

#[tokio::test]
async fn what_must_not_be_copied_is_said_in_one_line_and_stays_as_it_is() {
    let place = Place::of_the_fixture();
    let (source, target) = (Database::new().await, Database::on(Engine::Sqlite).await);
    let (from, to) = (source.url(), target.url());
    let missing = Database::on(Engine::Sqlite).await;
    let line = copy(&place, &missing.url(), &to).finish().await.fails();
    assert!(line.contains("No such file"), "{line}");
    assert!(missing.is_untouched().await);
    furnish(&place, &from).await;
    let line = copy(&place, &from, &from).finish().await.fails();
    assert!(line.contains("cannot be copied to itself"), "{line}");

    about(&place, &to, "user add eve --email eve@example.com --group Manager").finish().await;
    let line = copy(&place, &from, &to).finish().await.fails();
    assert!(line.contains("holds a site already"), "{line}");
    assert!(!line.contains("://root:"), "{line}");
    let users = about(&place, &to, "user list").finish().await.succeeds();
    assert_eq!(users.lines().count(), 1, "{users}");

    // An extension that is not loaded would be left behind.
    let other = Place::with([fixture("authenticates")]);
    let line = copy(&other, &from, &missing.url()).finish().await.fails();
    assert!(line.contains("extension misbehaves, which is not loaded"), "{line}");
    assert!(missing.is_untouched().await);
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "a file without a site is no database")]
async fn a_database_without_a_site_is_not_copied_and_not_made_one() {
    let place = Place::of_the_fixture();
    let target = Database::on(Engine::Sqlite).await;
    let line = copy(&place, &place.database.url(), &target.url()).finish().await.fails();
    assert!(line.contains("holds no site"), "{line}");
    assert!(place.database.is_untouched().await && target.is_untouched().await);
}
