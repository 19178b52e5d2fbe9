//! Backups of a site that is in use, and their restoration: complete, of one moment, and never over something
//! else.

use std::path::{Path, PathBuf};

use example_host::NewUser;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, ROOT, Shop};
use crate::support::ledger::Client;
use crate::support::mirror::Mirror;
use crate::support::phone::turn_on;
use crate::support::process::{Call, MANUFACTURERS, Place};
use crate::support::visitor::{PASSWORD, Visitor};

/// A command line for the site at this address.
fn about(place: &Place, url: &str, words: &str) -> Call {
    place.call(words).env("DATABASE_URL", url)
}

/// Backs the site of a place up, and returns the folder.
async fn back_up(place: &Place, words: &str) -> PathBuf {
    let printed = about(place, &place.site_url(), &format!("backup {words}")).finish().await;
    let printed = printed.succeeds();
    let folder = place.path(printed.trim());
    assert!(folder.join("backup.json").is_file(), "{printed}");
    folder
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries.map(name).map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_backup_of_a_site_in_use_is_restored_and_its_feed_begins_anew() {
    let place = Place::of_the_store();
    place.run("demo --products 30 --orders 20").await;
    let token = place.user("ann", "Administrator").await;
    place.run("config set low_stock_threshold 9").await;
    let served = place.serve().await;
    let client = Client::of(&served, &token);
    let mut mirror = Mirror::of_all(1_000);
    mirror.read_all(&client).await;
    let manufacturers = client.all("/manufacturers").await;
    let users = place.run("user list").await;

    let (backup, _) = tokio::join!(back_up(&place, "backups"), async {
        for number in 0..20 {
            client.create("/categories", json!({"title": format!("category {number}")})).await;
        }
    });
    client.create("/manufacturers", json!({"manufacturer_name": "lost"})).await;
    mirror.read_all(&client).await;
    place.user("bob", "Manager").await;
    served.stop().await;

    let target = Database::new().await;
    let restore = about(&place, &target.url(), "restore").word(&backup).finish().await;
    assert_eq!(restore.succeeds(), "");
    let run = async |words: &str| about(&place, &target.url(), words).finish().await.succeeds();
    assert_eq!(run("check").await, "");
    assert_eq!(run("user list").await, users);
    assert_eq!(run("config get low_stock_threshold").await, "9\n");
    assert!(run("audit verify").await.contains(" entries verified"));
    let trail = run("audit export").await;
    let entry = trail.lines().last().unwrap();
    assert!(entry.contains("\"restore\"") && entry.contains("note a restored backup"), "{entry}");

    let served = about(&place, &target.url(), "serve --listen 127.0.0.1:0").start().await;
    let client = Client::of(&served, &token);
    assert_eq!(client.all("/manufacturers").await, manufacturers);
    // However many changes there are since.
    for number in 0..3 {
        let body = json!({"manufacturer_name": format!("after the backup {number}")});
        client.create("/manufacturers", body).await;
    }
    let path = format!("{ROOT}{}", mirror.path());
    assert_eq!(Answer::to(served.get(&path, &token)).await.status, 410);
    let mut mirror = Mirror::of_all(1_000);
    mirror.read_all(&client).await;
    served.stop().await;

    // What is there is never replaced.
    let again = about(&place, &target.url(), "restore").word(&backup).finish().await.fails();
    let why = if target.engine == Engine::Sqlite { " exists; move" } else { "contains tables" };
    assert!(again.contains(why) && !again.contains("s3cret"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "on a server the tables are in one database")]
async fn the_files_of_a_backup_are_of_one_moment() {
    let place = Place::of_the_store();
    let shop = Shop::open().await;
    let url = shop.database.url();
    // A user, then a record of the store: neither is ever ahead by more than one.
    let write = async |number: u32| {
        let user = NewUser {
            username: format!("user{number}"),
            email: format!("{number}@example.com"),
            groups: vec!["Public".to_owned()],
            password: None,
        };
        shop.site.add_user(user).await.unwrap();
        shop.create("/manufacturers", json!({"manufacturer_name": "x"})).await;
    };
    // No backup is of a time when there was none, however fast it begins.
    write(0).await;
    let writing = async {
        for number in 1..u32::MAX {
            write(number).await;
        }
    };
    let backing = async {
        let mut made = Vec::new();
        for _ in 0..3 {
            let printed = about(&place, &url, "backup backups").finish().await.succeeds();
            made.push(place.path(printed.trim()));
        }
        made
    };
    let made = tokio::select! {
        made = backing => made,
        () = writing => unreachable!(),
    };
    for backup in made {
        let count = async |file: &str, query: &'static str| -> i64 {
            let url = format!("sqlite://{}", backup.join(file).display());
            let mut file = SqliteConnection::connect(&url).await.unwrap();
            sqlx::query_scalar(query).fetch_one(&mut file).await.unwrap()
        };
        let query = "SELECT count(*) FROM host_users WHERE username LIKE 'user%'";
        let users = count("site.host.db", query).await;
        let records = count("shop.db", "SELECT count(*) FROM shop_manufacturers").await;
        assert!(users > 0 && (users == records || users == records + 1), "{users} and {records}");
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_newest_complete_backups_are_kept_and_nothing_else_is_removed() {
    let place = Place::of_the_store();
    place.run("user list").await;
    let folder = place.path("backups");
    let first = back_up(&place, "backups --keep 3").await;
    // An interrupted one, and what is none.
    std::fs::create_dir(folder.join("2026-01-01T000000Z.partial")).unwrap();
    for other in ["2026-01-01T000000Z", "notes"] {
        std::fs::create_dir(folder.join(other)).unwrap();
    }
    let second = back_up(&place, "backups --keep 1").await;
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let others = ["2026-01-01T000000Z".to_owned(), "backup.lock".to_owned(), "notes".to_owned()];
    let mut expected = others.to_vec();
    expected.push(name(&second));
    expected.sort();
    assert_eq!(names(&folder), expected);
    assert!(!first.exists());

    // One that fails removes none and leaves nothing behind.
    let lock = std::fs::File::open(folder.join("backup.lock")).unwrap();
    lock.lock().unwrap();
    let call = about(&place, &place.site_url(), "backup backups --keep 1").finish().await;
    assert_eq!(call.fails(), "another backup into backups is in progress");
    drop(lock);
    place.call("backup backups --keep 0").finish().await.exits(2);
    let empty = Database::new().await;
    let line = about(&place, &empty.url(), "backup backups").finish().await.fails();
    assert!(line.contains("No such file") || line.contains("contains no site"), "{line}");
    if place.database.engine == Engine::Sqlite {
        let (file, away) = (place.data("shop.db"), place.path("away.db"));
        std::fs::rename(&file, &away).unwrap();
        let line = about(&place, &place.site_url(), "backup backups --keep 1").finish().await;
        assert!(line.fails().contains("shop.db is missing"));
    }
    assert_eq!(names(&folder), expected);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
#[cfg(unix)]
async fn only_the_user_of_the_host_can_read_a_backup() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::of_the_store();
    place.run("user list").await;
    let backup = back_up(&place, "backups").await;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(backup.parent().unwrap()), mode(&backup)), (0o700, 0o700));
    for name in names(&backup) {
        assert_eq!(mode(&backup.join(&name)), 0o600, "{name}");
    }
}

/// A key of secrets, for the environment.
const GIVEN: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

#[tokio::test]
async fn the_key_is_backed_up_on_request_and_never_replaces_another() {
    let place = Place::of_the_store();
    // A site without secrets has no key, and its backup none either.
    place.run("user list").await;
    let backup = back_up(&place, "backups --with-key").await;
    assert!(!backup.join("secret.key").exists());
    let key_in = async |call: Call| {
        let backup = place.path(call.finish().await.succeeds().trim());
        std::fs::read_to_string(backup.join("secret.key")).map(|key| (backup, key)).ok()
    };
    // The hash of an address is the first use of the key.
    place.run("privacy erase --email ann@example.com --reason asked").await;
    let key = std::fs::read_to_string(place.data("secret.key")).unwrap();
    let call = |words: &str| about(&place, &place.site_url(), words);
    assert!(key_in(call("backup backups")).await.is_none());
    let (backup, copied) = key_in(call("backup backups --with-key")).await.unwrap();
    assert_eq!(copied, key);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = backup.join("secret.key").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let given = call("backup backups --with-key").env("HOST_SECRET_KEY", GIVEN);
    assert_eq!(key_in(given).await.unwrap().1.trim(), GIVEN);

    // Each restored to a place of its own: one without a key, one with its own, and one whose key is in the environment.
    let restored = async |here: &Place, given: &str| {
        let call = about(here, &here.site_url(), "restore").word(&backup);
        let done = call.env("HOST_SECRET_KEY", given).finish().await;
        done.succeeds();
        let warned = done.err().contains("were made with another key");
        (warned, std::fs::read_to_string(here.data("secret.key")).ok())
    };
    let [bare, other, set] = std::array::from_fn(|_| Place::of_the_store());
    std::fs::write(other.data("secret.key"), GIVEN).unwrap();
    assert_eq!(restored(&bare, "").await, (false, Some(key)));
    assert_eq!(restored(&other, "").await, (true, Some(GIVEN.to_owned())));
    assert_eq!(restored(&set, GIVEN).await, (true, None));
    // Nor does a backup whose restoration fails leave its key.
    let taken = Place::of_the_store();
    taken.run("user list").await;
    let refused = about(&taken, &taken.site_url(), "restore").word(&backup).finish().await;
    refused.exits(1);
    assert!(!taken.data("secret.key").exists());
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_backup_that_cannot_be_restored_leaves_nothing_behind() {
    let place = Place::of_the_store();
    place.run("user list").await;
    let backup = back_up(&place, "backups").await;
    let target = Database::new().await;
    let restore = async |from: &Path| {
        about(&place, &target.url(), "restore").word(from).finish().await.fails()
    };
    let other = Database::on(match target.engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres | Engine::MariaDb => Engine::Sqlite,
    });
    let line = restore(&place.path("backups")).await;
    assert!(line.contains("is not a backup: it has no backup.json; name the folder"), "{line}");
    let half = place.path("half.partial");
    std::fs::create_dir(&half).unwrap();
    std::fs::copy(backup.join("backup.json"), half.join("backup.json")).unwrap();
    let line = restore(&half).await;
    assert!(line.contains("is not a complete backup"), "{line}");
    // Without a library.
    let bare = Place::of_the_fixture();
    let call = about(&bare, &target.url(), "restore").word(&backup).finish().await;
    assert!(call.fails().contains("webservices-shop, which is not loaded"));
    assert!(target.is_untouched().await);
    if target.engine != Engine::Sqlite {
        let other = other.await;
        let call = about(&place, &other.url(), "restore").word(&backup).finish().await;
        let line = call.fails();
        assert!(line.contains("is a backup of a site on"), "{line}");
        assert!(other.is_untouched().await);
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has no file")]
async fn a_backup_that_was_damaged_is_not_restored() {
    let place = Place::of_the_store();
    place.run("demo --products 100 --orders 100").await;
    let backup = back_up(&place, "backups").await;
    let file = backup.join("shop.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let page = bytes.len() / 2 / 4096 * 4096;
    bytes[page..page + 64].fill(0x5A);
    std::fs::write(&file, bytes).unwrap();
    let target = Database::new().await;
    let line = about(&place, &target.url(), "restore").word(&backup).finish().await.fails();
    let expected = format!("{} is damaged; use another backup: ", file.display());
    assert!(line.starts_with(&expected), "{line}");
    assert!(names(target.folder.path()).is_empty());
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has no file")]
async fn a_restore_never_meets_the_log_of_another_file() {
    let (place, token) = Place::with_ann("Administrator").await;
    let backup = back_up(&place, "backups").await;
    let target = Database::new().await;
    let folder = target.folder.path();
    for name in ["shop.db", "shop.db-wal", "host.db-shm"] {
        std::fs::write(folder.join(name), "").unwrap();
        let line = about(&place, &target.url(), "restore").word(&backup).finish().await.fails();
        assert!(line.contains(&format!("{name} exists; move the files")), "{line}");
        assert_eq!(names(folder), [name]);
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    // An interrupted one is begun again.
    std::fs::create_dir(folder.join(".restoring")).unwrap();
    std::fs::write(folder.join(".restoring/shop.db"), "half").unwrap();
    about(&place, &target.url(), "restore").word(&backup).finish().await.succeeds();
    assert_eq!(names(folder), ["host.db", "shop.db"]);
    let served = about(&place, &target.url(), "serve --listen 127.0.0.1:0").start().await;
    Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn a_restored_backup_revives_no_session_and_no_trust_in_a_browser() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    turn_on(&mut ann).await;
    assert!(ann.is_in().await);
    let backup = back_up(&place, "backups --with-key").await;
    served.stop().await;

    let target = Database::new().await;
    about(&place, &target.url(), "restore").word(&backup).finish().await.succeeds();
    assert_eq!(target.number("SELECT count(*) FROM host_sessions").await, 0);
    // A browser is trusted as long as this has not changed.
    assert!(target.number("SELECT epoch FROM host_second_factors").await > 1_000_000);
    let served = about(&place, &target.url(), "serve --listen 127.0.0.1:0").start().await;
    ann.origin = served.url("");
    assert!(!ann.is_in().await, "the cookie is that of a session from before the backup");
    served.stop().await;
}
