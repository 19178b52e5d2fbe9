//! Entered credentials, sessions, changes that must be confirmed, the audit entry of each change,
//! ids that are never reused, and access to files.

use std::path::Path;

use example_host::{Force, NewUser, Site};
use time::macros::format_description;
use time::{Duration, OffsetDateTime};

use crate::support::databases::{Database, Engine, LENGTHEN_WAITS};
use crate::support::harness::{Answer, Role, Shop, library};
use crate::support::process::Place;
use crate::support::visitor::{PASSWORD, Seen, Visitor, field, id, parameters};
use crate::support::waiting::eventually;

/// A moment in the past, in the format of the tables.
fn ago(time: Duration) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    (OffsetDateTime::now_utc() - time).format(format).unwrap()
}

/// Moves a time of every session into the past.
async fn set_back(shop: &Shop, column: &str, time: Duration) {
    let statement = format!("UPDATE host_sessions SET {column} = '{}'", ago(time));
    shop.database.execute(&statement).await;
}

async fn sessions(shop: &Shop) -> i64 {
    shop.database.number("SELECT count(*) FROM host_sessions").await
}

/// The hidden fields of the form that asks for the password.
fn hidden(html: &str) -> Vec<(String, String)> {
    let (_, form) = html.split_once("<form class=\"card\" method=\"post\"").unwrap();
    let (form, _) = form.split_once("</form>").unwrap();
    let fields = form.split("<input type=\"hidden\" name=\"").skip(1);
    fields
        .map(|field| {
            let (name, rest) = field.split_once("\" value=\"").unwrap();
            let value = rest.split_once('"').unwrap().0;
            let value = value.replace("&#39;", "'").replace("&#34;", "\"").replace("&#38;", "&");
            (name.to_owned(), value)
        })
        .collect()
}

/// Sends the form that asks for the password, with these fields filled in.
async fn confirm(visitor: &mut Visitor, path: &str, filled: &[(&str, &str)]) -> Seen {
    let hidden = hidden(&visitor.html);
    let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let fields: Vec<(&str, &str)> = hidden.chain(filled.iter().copied()).collect();
    visitor.post(path, &fields).await
}

/// Everything that these tests change.
async fn state(site: &Site) -> impl PartialEq + std::fmt::Debug + use<> {
    let (users, groups) = (site.users().await.unwrap(), site.groups().await.unwrap());
    let parameters = site.parameters();
    (users, groups, site.rules().await.unwrap(), site.extensions().await.unwrap(), parameters)
}

#[tokio::test]
async fn an_impossible_username_is_refused_like_an_unknown_one() {
    let shop = Shop::open().await;
    let told = {
        let seen = Visitor::of(&shop.url("")).sign_in("nobody", "not the password").await;
        seen.html.replace("nobody", "")
    };
    let long = "x".repeat(4_000);
    for name in ["super\0user", "\0", "super\nuser", &long] {
        let seen = Visitor::of(&shop.url("")).sign_in(name, PASSWORD).await;
        assert_eq!(seen.status, 422, "{name:?}");
        seen.says("The username or the password is wrong.");
        assert!(seen.html.len() < told.len() + 300, "the page does not repeat the long name");
    }
    // A search, a filter or a new name of that size does not overload the site either.
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for path in ["/users?search=%00", "/users?after=a%00", "/audit?user=%00", "/audit?id=1%00"] {
        assert_eq!(ann.get(path).await.status, 422, "{path}");
    }
    ann.get("/groups/new").await;
    let group = [("title", "a\0b"), ("parent", "Public")];
    assert_eq!(ann.post("/groups/new", &group).await.status, 422);
}

#[tokio::test]
async fn a_session_expires_after_one_idle_hour_and_after_twelve_hours() {
    let shop = Shop::open().await;
    for (column, before, after) in [
        ("used_on", Duration::minutes(58), Duration::minutes(62)),
        ("created_on", Duration::minutes(12 * 60 - 2), Duration::minutes(12 * 60 + 2)),
    ] {
        let mut ann = Visitor::signed_in(&shop, "superuser").await;
        set_back(&shop, column, before).await;
        assert_eq!(ann.get("/users").await.status, 200, "{column}");
        set_back(&shop, column, after).await;
        let seen = ann.get("/users").await;
        assert_eq!(seen.status, 303, "{column}");
        assert!(seen.to().starts_with("/administrator/sign-in"), "{}", seen.to());
        // The next sign-in of any user removes its row.
        assert_eq!(sessions(&shop).await, 1);
        Visitor::signed_in(&shop, "administrator").await;
        assert_eq!(sessions(&shop).await, 1, "{column}: only that of the administrator");
        shop.database.execute("DELETE FROM host_sessions").await;
    }
}

#[tokio::test]
async fn the_use_of_a_session_is_noted_once_a_minute() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for (before, noted) in [(Duration::seconds(40), 0), (Duration::seconds(70), 1)] {
        set_back(&shop, "used_on", before).await;
        assert_eq!(ann.get("/users").await.status, 200);
        let mark = "UPDATE host_sessions SET address = 'noted' WHERE used_on >";
        shop.database.execute(&format!("{mark} '{}'", ago(Duration::seconds(30)))).await;
        let count = "SELECT count(*) FROM host_sessions WHERE address = 'noted'";
        assert_eq!(shop.database.number(count).await, noted, "after {before}");
    }
}

/// Changes the database directly while a request is in progress: the request begins before the
/// change is committed, and continues after it.
async fn overtaken<T: Send + 'static>(
    shop: &Shop,
    change: &[&'static str],
    asked: impl Future<Output = T> + Send + 'static,
) -> T {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let metrics = format!("http://{}/metrics", listener.local_addr().unwrap());
    let _metrics = shop.site.serve_metrics(listener).unwrap();
    let waits = async || match shop.database.engine {
        Engine::Sqlite => {
            let scrape = Answer::to(reqwest::Client::new().get(&metrics)).await;
            let text = String::from_utf8(scrape.body).unwrap();
            text.contains("database_connections{pool=\"writer\",state=\"busy\"} 1")
        }
        Engine::Postgres => {
            let waiting = "SELECT count(*) FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'";
            shop.database.number(waiting).await > 0
        }
        Engine::MariaDb => {
            let waiting = "SELECT count(*) FROM information_schema.processlist \
                 WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE'";
            shop.database.number(waiting).await > 0
        }
    };
    let mut asking = None;
    let meanwhile = async {
        asking = Some(tokio::spawn(asked));
        eventually("a turn is waited for", async || waits().await.then_some(())).await;
    };
    let turn = ["UPDATE host_state SET revision = revision + 1"];
    let change: Vec<&'static str> = turn.iter().chain(change).copied().collect();
    shop.database.during(&change, meanwhile).await;
    asking.unwrap().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_changes_while_it_is_checked_begins_no_session() {
    let shop = Shop::open().await;
    let sign_in = |name: String, password: &'static str| {
        let mut guest = Visitor::of(&shop.url(""));
        tokio::spawn(async move { guest.sign_in(&name, password).await.status })
    };
    let begun = async |sign_ins: i64| {
        let counted = "SELECT count(*) FROM host_sign_in_failures WHERE kind = 'name'";
        eventually("sign-ins begin", async || {
            (shop.database.number(counted).await == sign_ins).then_some(())
        })
        .await;
    };
    // One thread checks all passwords, and has these to check first.
    let _others = Vec::from_iter((0..15).map(|number| sign_in(format!("user{number}"), "x")));
    begun(15).await;
    let asked = sign_in("superuser".to_owned(), PASSWORD);
    begun(16).await;
    for change in [
        "UPDATE host_users SET password_hash = 'another' WHERE username = 'superuser'",
        "DELETE FROM host_sessions",
    ] {
        shop.database.execute(change).await;
    }
    assert_eq!(asked.await.unwrap(), 422);
    assert_eq!(sessions(&shop).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_session_that_ends_during_a_request_changes_nothing() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = format!("/users/{}", id(&shop.site, "manager").await);
    ann.get(&page).await;
    let asked = async move { ann.post(&format!("{page}/block"), &[]).await.status };
    assert_eq!(overtaken(&shop, &["DELETE FROM host_sessions"], asked).await, 303);
    assert!(!shop.site.user("manager").await.unwrap().blocked);
    let entries = "SELECT count(*) FROM host_audit WHERE origin = 'administration' \
         AND route <> 'administration.sign_in'";
    assert_eq!(shop.database.number(entries).await, 0);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn changes_of_access_need_a_recently_entered_password() {
    let shop = Shop::open().await;
    let (own, manager) = (id(&shop.site, "superuser").await, id(&shop.site, "manager").await);
    let (own, user) = (format!("/users/{own}"), format!("/users/{manager}"));
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let rules = ann.get("/permissions?asset=root").await;
    let seen = field(&rules.html, "seen").unwrap().to_owned();
    let profile = [
        ("username", "superuser"),
        ("email", "superuser@example.com"),
        ("password", "mine for ever"),
        ("group", "5"),
    ];
    let rule = [("asset", "root"), ("seen", &*seen), ("core.admin-4", "allow")];
    let new = [("username", "eve"), ("email", "eve@example.com"), ("group", "5")];
    let (own_token, token) = (format!("{own}/token"), format!("{user}/token"));
    let first = shop.site.tokens("manager").await.unwrap()[0].id;
    let (rotate, revoke) = (format!("{token}/{first}/rotate"), format!("{token}/{first}/revoke"));
    let new_token = format!("{token}/new");
    let (unblock, delete) = (format!("{user}/unblock"), format!("{user}/delete"));
    let invite = format!("{user}/invite");
    let before = state(&shop.site).await;
    set_back(&shop, "confirmed_on", Duration::minutes(11)).await;
    for (path, fields) in [
        (&*own, &profile[..]),
        (&*user, &profile),
        ("/users/new", &new),
        (&*own_token, &[]),
        (&*token, &[]),
        (&*new_token, &[("name", "till"), ("may", "everything")]),
        (&*rotate, &[("overlap", "0")]),
        (&*revoke, &[]),
        (&*unblock, &[]),
        (&*invite, &[]),
        (&*delete, &[]),
        ("/groups/new", &[("title", "Tills"), ("parent", "Super Users")]),
        ("/groups/2", &[("title", "Tills")]),
        ("/groups/2/delete", &[]),
        ("/permissions", &rule),
        ("/extensions/token-auth/enable", &[]),
    ] {
        ann.get("/users").await;
        let seen = ann.post(path, fields).await;
        assert_eq!(seen.status, 403, "{path}");
        seen.says("<h1>Confirm your password</h1>");
        assert!(!seen.html.contains("mine for ever"), "{path}: it is not sent back");
    }
    assert_eq!(confirm(&mut ann, "/extensions/token-auth/enable", &[]).await.status, 403);
    let wrong = [("confirmation", "not the password")];
    let seen = confirm(&mut ann, "/extensions/token-auth/enable", &wrong).await;
    assert_eq!(seen.status, 422);
    seen.says("This is not your password.");
    assert_eq!(state(&shop.site).await, before, "nothing was changed");
    shop.get("/zones").by(Role::Manager).send().await.expect(200);
    assert!(ann.is_in().await);

    // Reading, and blocking somebody at once, do not need it.
    assert_eq!(ann.get(&token).await.status, 200);
    assert_eq!(ann.fill(&user, &format!("{user}/block"), &[]).await.status, 303);
    // Nor is it needed before ten minutes have passed.
    set_back(&shop, "confirmed_on", Duration::minutes(9)).await;
    assert_eq!(ann.fill(&user, &unblock, &[]).await.status, 303);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_confirmed_form_continues_with_everything_entered() {
    let shop = Shop::open().await;
    let own = id(&shop.site, "superuser").await;
    let manager = id(&shop.site, "manager").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let late = async || set_back(&shop, "confirmed_on", Duration::minutes(11)).await;
    let right = [("confirmation", PASSWORD)];

    late().await;
    let html = ann.get("/permissions?asset=com_shop.products").await.html;
    let seen = field(&html, "seen").unwrap().to_owned();
    let rule = [("asset", "com_shop.products"), ("seen", &*seen), ("store.view-2", "deny")];
    assert_eq!(ann.post("/permissions", &rule).await.status, 403);
    let seen = confirm(&mut ann, "/permissions", &right).await;
    assert_eq!(
        (seen.status, seen.to()),
        (303, "/administrator/permissions?asset=com_shop.products")
    );
    let rules = shop.site.rules().await.unwrap();
    assert!(rules.iter().any(|rule| rule.group == "Registered" && !rule.allowed), "{rules:?}");
    // The entered password is valid for the following changes, too.
    let page = format!("/users/{manager}/token");
    let seen = ann.fill(&page, &page, &[]).await;
    assert_eq!(seen.status, 200);
    seen.says("<code id=\"token\">");
    late().await;
    assert_eq!(ann.fill(&page, &page, &[]).await.status, 403);
    let seen = confirm(&mut ann, &page, &right).await;
    assert_eq!(seen.status, 200);
    seen.says("<code id=\"token\">");

    // An invalid form leads back to its own page, and not to the password.
    late().await;
    let (page, delete) = (format!("/users/{own}"), format!("/users/{own}/delete"));
    assert_eq!(ann.fill(&page, &delete, &[]).await.status, 403);
    assert_eq!(confirm(&mut ann, &delete, &[("confirmation", "not it")]).await.status, 422);
    let seen = confirm(&mut ann, &delete, &right).await;
    assert_eq!((seen.status, seen.to()), (303, &*format!("/administrator{page}")));
    ann.get(&page).await.says("This would lock you out");

    // A new password must be entered once more, and everything else is kept.
    late().await;
    let profile = [
        ("username", "superuser"),
        ("name", "Ann & \"Co\" 'x'"),
        ("email", "ann@example.com"),
        ("password", "another battery"),
        ("group", "5"),
        ("group", "2"),
    ];
    let seen = ann.fill(&page, &page, &profile).await;
    assert_eq!(seen.status, 403);
    seen.says("The new password again");
    let filled = [("confirmation", PASSWORD), ("password", "another battery")];
    let seen = confirm(&mut ann, &page, &filled).await;
    assert_eq!((seen.status, seen.to()), (303, &*format!("/administrator{page}")), "{}", seen.html);
    let user = shop.site.user("superuser").await.unwrap();
    assert_eq!((user.email.as_str(), user.groups.len()), ("ann@example.com", 2));
    let name = "SELECT name FROM host_users WHERE username = 'superuser'";
    assert_eq!(shop.database.texts(name).await, ["Ann & \"Co\" 'x'"]);
    assert!(!ann.is_in().await, "the session ends with its password");
    assert_eq!(ann.sign_in("superuser", "another battery").await.status, 303);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn guessing_the_password_in_an_open_session_is_throttled() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let fields = [("current", "not the password"), ("password", "mine for ever")];
    for _ in 0..5 {
        let seen = ann.fill("/account", "/account", &fields).await;
        assert_eq!(seen.status, 422);
        seen.says("This is not your password.");
    }
    shop.database.execute(LENGTHEN_WAITS).await;
    let fields = [("current", PASSWORD), ("password", "mine for ever")];
    let seen = ann.fill("/account", "/account", &fields).await;
    assert_eq!(seen.status, 429, "not even the right one");
    assert!(seen.headers.contains_key("retry-after"));
    seen.says("Too many attempts");

    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let page = format!("/users/{}/token", id(&shop.site, "manager").await);
    set_back(&shop, "confirmed_on", Duration::minutes(11)).await;
    bob.fill(&page, &page, &[]).await;
    for _ in 0..5 {
        let wrong = [("confirmation", "not the password")];
        assert_eq!(confirm(&mut bob, &page, &wrong).await.status, 422);
    }
    shop.database.execute(LENGTHEN_WAITS).await;
    let seen = confirm(&mut bob, &page, &[("confirmation", PASSWORD)]).await;
    assert_eq!(seen.status, 429);
    assert!(seen.headers.contains_key("retry-after"));
    shop.get("/zones").by(Role::Manager).send().await.expect(200);

    // They count in these sessions only, and nothing elsewhere counts in a session.
    for name in ["superuser", "administrator"] {
        let mut new = Visitor::of(&shop.url(""));
        assert_eq!(new.sign_in(name, PASSWORD).await.status, 303, "{name}");
    }
    let mut carol = Visitor::signed_in(&shop, "superuser").await;
    for _ in 0..5 {
        let mut guest = Visitor::of(&shop.url(""));
        assert_eq!(guest.sign_in("superuser", "not the password").await.status, 422);
    }
    shop.database.execute(LENGTHEN_WAITS).await;
    assert_eq!(Visitor::of(&shop.url("")).sign_in("superuser", PASSWORD).await.status, 429);
    set_back(&shop, "confirmed_on", Duration::minutes(11)).await;
    carol.fill(&page, &page, &[]).await;
    let seen = confirm(&mut carol, &page, &[("confirmation", PASSWORD)]).await;
    assert_eq!(seen.status, 200);
}

#[tokio::test]
async fn a_change_and_its_audit_entry_are_one_transaction() {
    let shop = Shop::open().await;
    let manager = id(&shop.site, "manager").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let user = format!("/users/{manager}");
    let root = ann.get("/permissions?asset=root").await.html;
    let rules = field(&root, "seen").unwrap().to_owned();
    let settings = "/extensions/webservices-shop/parameters";
    let form = ann.get(settings).await.html;
    let values = field(&form, "seen").unwrap().to_owned();
    let profile =
        [("username", "manager"), ("email", "m@example.com"), ("name", "M"), ("group", "3")];
    let new = [("username", "eve"), ("email", "eve@example.com"), ("group", "3")];
    let rule = [("asset", "root"), ("seen", &*rules), ("core.manage-3", "allow")];
    let set = parameters(&shop.site, &values, &[("store_name", "Tills")]);
    let set: Vec<(&str, &str)> = set.iter().map(|(name, text)| (&**name, &**text)).collect();
    let at = |path: &str| format!("{user}{path}");
    let token = shop.site.tokens("manager").await.unwrap()[0].id;
    let changes: [(String, &[(&str, &str)]); 18] = [
        (at(""), &profile),
        (at("/block"), &[]),
        (at("/unblock"), &[]),
        (at("/sign-out"), &[]),
        (at(&format!("/token/{token}/rotate")), &[("overlap", "0")]),
        (at(&format!("/token/{token}/revoke")), &[]),
        (at("/token"), &[]),
        (at("/token/new"), &[("name", "till"), ("may", "everything")]),
        (at("/delete"), &[]),
        ("/users/new".into(), &new),
        ("/groups/new".into(), &[("title", "Tills"), ("parent", "Public")]),
        ("/permissions".into(), &rule),
        ("/groups/2".into(), &[("title", "Guests")]),
        ("/extensions/token-auth/disable".into(), &[]),
        ("/extensions/token-auth/enable".into(), &[]),
        (settings.into(), &set),
        ("/account".into(), &[("current", PASSWORD), ("password", "mine for ever")]),
        ("/account/sign-out-everywhere".into(), &[]),
    ];
    let entries = async || {
        let count = "SELECT count(*) FROM host_audit WHERE origin = 'administration' \
             AND route <> 'administration.sign_in'";
        shop.database.number(count).await
    };

    let before = state(&shop.site).await;
    shop.database.execute("ALTER TABLE host_audit RENAME TO host_audit_gone").await;
    for (path, fields) in &changes {
        ann.get("/users").await;
        assert_eq!(ann.post(path, fields).await.status, 503, "{path}");
    }
    assert_eq!(state(&shop.site).await, before, "nothing was changed without an entry");
    assert!(ann.is_in().await, "no session was ended");
    shop.get("/zones").by(Role::Manager).send().await.expect(200);
    shop.database.execute("ALTER TABLE host_audit_gone RENAME TO host_audit").await;

    for (number, (path, fields)) in changes.iter().enumerate() {
        if *path == "/account/sign-out-everywhere" {
            ann.sign_in("superuser", "mine for ever").await;
        }
        ann.get("/users").await;
        let seen = ann.post(path, fields).await;
        assert!(matches!(seen.status, 200 | 303), "{path}: {} {}", seen.status, seen.html);
        assert_eq!(entries().await, number as i64 + 1, "{path}: at once");
    }
    // A change without an effect has no entry.
    ann.sign_in("superuser", "mine for ever").await;
    let seen = ann.get("/permissions?asset=root").await.html;
    let seen = field(&seen, "seen").unwrap().to_owned();
    let same = [("asset", "root"), ("seen", &*seen), ("core.manage-3", "allow")];
    assert_eq!(ann.post("/permissions", &same).await.status, 303);
    ann.get("/permissions?asset=root").await.says("Nothing was changed.");
    assert_eq!(entries().await, 18);
}

#[tokio::test]
async fn the_last_use_of_a_replaced_token_is_not_its_successors() {
    let shop = Shop::open().await;
    shop.get("/zones").by(Role::Manager).send().await.expect(200);
    shop.get("/zones").by(Role::Administrator).send().await.expect(200);
    // Within the second of its use, and before the use is recorded.
    shop.site.generate_token("manager").await.unwrap();
    eventually("the uses are written down", async || {
        let uses = shop.database.number("SELECT count(*) FROM host_api_token_uses").await;
        (uses > 0).then_some(())
    })
    .await;
    let used = "SELECT u.username FROM host_api_token_uses l JOIN host_api_tokens t ON t.id = l.token_id JOIN host_users u ON u.id = t.user_id";
    assert_eq!(shop.database.texts(used).await, ["administrator"]);
}

#[tokio::test]
async fn ids_of_removed_groups_and_users_are_never_reused() {
    let database = Database::new().await;
    let open = async || Site::open(&database.address(), &[library()]).await.unwrap();
    let user = |name: &str| NewUser {
        username: name.to_owned(),
        email: format!("{name}@example.com"),
        groups: vec!["Super Users".to_owned()],
        password: Some(PASSWORD.to_owned()),
    };
    let site = open().await;
    site.add_user(user("ann")).await.unwrap();
    let first = site.add_user(user("bob")).await.unwrap();
    let group = site.add_group("Tills", "Public").await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = site.serve(listener, &Default::default()).unwrap();
    let mut ann = Visitor::of(&format!("http://{}", running.addr()));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let page = format!("/groups/{group}/delete");
    assert_eq!(ann.fill(&page, &page, &[]).await.status, 303);
    site.remove_user("bob", Force::No).await.unwrap();
    let next = site.add_group("Desks", "Public").await.unwrap();
    assert!(next > group, "{next} after {group}");
    let page = format!("/groups/{next}/delete");
    assert_eq!(ann.fill(&page, &page, &[]).await.status, 303);
    running.shutdown().await;

    let site = open().await;
    let after = site.add_group("Tills", "Public").await.unwrap();
    assert!(after > next, "{after} after {next}");
    assert!(site.add_user(user("bob")).await.unwrap() > first);
    site.close().await;

    // Nor in a copy of the site.
    let copy = Database::on(Engine::Sqlite).await;
    let place = Place::of_the_store();
    let call = place.call("copy --from").word(database.url()).word("--to").word(copy.url());
    call.finish().await.succeeds();
    let copied = Site::open(&copy.address(), &[library()]).await.unwrap();
    assert!(copied.add_group("Counters", "Public").await.unwrap() > after);
    copied.close().await;
}

/// Every file and folder below this one to which other users have any access.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        if mode & 0o077 != 0 {
            found.push(format!("{} {mode:o}", path.display()));
        }
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

#[tokio::test]
#[cfg(unix)]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn other_users_of_the_machine_cannot_read_the_files_of_a_host() {
    /// A shell in which files are open to everybody unless the program restricts them.
    const OPEN: &str = "umask 0; exec";
    let place = Place::of_the_fixture();
    let add = "user add ann --email ann@example.com --group Manager";
    place.call(add).through(OPEN).finish().await.succeeds();
    let token = place.call("token generate ann").through(OPEN).finish().await.succeeds();
    let served = place.call("serve --listen 127.0.0.1:0").through(OPEN).start().await;
    let mail = serde_json::json!({
        "id": "order-7", "to": "bob@example.com", "to_name": "Bob", "subject": "Thank you",
        "text": "A secret.",
    });
    let ask = served.ask("POST", "/api/index.php/v1/misbehaves/mail", token.trim());
    assert_eq!(Answer::to(ask.body(mail.to_string())).await.status, 204);
    assert!(place.path("data/mail/order-7.eml").exists());
    assert_eq!(open_to_others(place.database.folder.path()), [""; 0], "while it serves");
    served.stop().await;
    let copy = "copy --to sqlite://copies/today/host.db --from";
    place.call(copy).word(place.site_url()).through(OPEN).finish().await.succeeds();
    assert!(place.path("copies/today/host.db").exists());
    assert_eq!(open_to_others(place.database.folder.path()), [""; 0], "with a copy");
}

#[tokio::test]
#[cfg(unix)]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has locks of its own")]
async fn a_world_readable_lock_file_of_an_earlier_version_is_restricted() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::of_the_fixture();
    std::fs::write(place.data("host.lock"), "").unwrap();
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(place.data("host.lock"), open).unwrap();
    place.run("user list").await;
    let mode = std::fs::metadata(place.data("host.lock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Locks belong to a process and a file: closing any descriptor of the file releases all of them.
#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has locks of its own")]
async fn opening_a_site_twice_keeps_the_locks_of_the_first() {
    use std::os::unix::fs::MetadataExt;
    let shop = Shop::open().await;
    shop.get("/zones").send().await.expect(200);
    let locked = || {
        let held = std::fs::read_to_string("/proc/locks").unwrap();
        let own = format!(" {} ", std::process::id());
        ["host.db", "shop.db"].map(|name| {
            let file = std::fs::metadata(shop.database.folder.path().join(name)).unwrap();
            let inode = format!(":{} ", file.ino());
            held.lines().any(|line| line.contains(&own) && line.contains(&inode))
        })
    };
    assert_eq!(locked(), [true, true]);
    let second = Site::open(&shop.database.address(), &[library()]).await.unwrap();
    assert_eq!(locked(), [true, true], "the first instance still has its locks");
    second.close().await;
    shop.get("/zones").send().await.expect(200);
}
