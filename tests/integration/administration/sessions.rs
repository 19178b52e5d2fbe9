//! Signing in to the administration: what a refusal reveals, how guessing is slowed down, how a
//! session is kept, and when it ends.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use example_host::{Force, Setting};
use time::OffsetDateTime;

use super::second_factor::shop_behind_a_proxy;
use crate::support::databases::{Engine, LENGTHEN_WAITS};
use crate::support::harness::Shop;
use crate::support::phone::set_up;
use crate::support::process::{Place, Served};
use crate::support::visitor::{PASSWORD, Visitor, add, id};
use crate::support::waiting::eventually;

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_refused_sign_in_does_not_reveal_which_users_exist() {
    let shop = Shop::open().await;
    shop.site.block_user("registered", Force::No).await.unwrap();
    let mut pages = BTreeSet::new();
    for name in ["superuser", "registered", "nobody-of-that-name", "'; DROP TABLE host_users"] {
        let mut guest = Visitor::of(&shop.url(""));
        guest.get("/sign-in").await;
        let seen = guest.sign_in(name, "not the password").await;
        assert_eq!(seen.status, 422);
        assert!(guest.cookies.is_empty());
        pages.insert(seen.html.replace(&name.replace('\'', "&#39;"), "NAME"));
    }
    assert_eq!(pages.len(), 1, "all are told the same: {pages:#?}");

    // With the right password the reason is given.
    for name in ["registered", "public", "manager"] {
        let seen = Visitor::of(&shop.url("")).sign_in(name, PASSWORD).await;
        assert_eq!(seen.status, 403, "{name}");
        seen.says("may not use the administration");
    }
    for name in ["administrator", "SUPERUSER"] {
        Visitor::signed_in(&shop, name).await;
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn guessing_passwords_is_throttled_and_others_are_not() {
    let shop = Shop::open().await;
    for name in ["superuser", "nobody-of-that-name"] {
        let mut guest = Visitor::of(&shop.url(""));
        for _ in 0..5 {
            assert_eq!(guest.sign_in(name, "not the password").await.status, 422);
        }
        shop.database.execute(LENGTHEN_WAITS).await;
        let seen = guest.sign_in(name, PASSWORD).await;
        assert_eq!(seen.status, 429, "{name}: not even the right one");
        assert!(seen.headers.contains_key("retry-after"));
        seen.says("Too many attempts");
    }
    Visitor::signed_in(&shop, "administrator").await;
    let began = Instant::now();
    eventually("the wait is over", async || {
        let seen = Visitor::of(&shop.url("")).sign_in("superuser", PASSWORD).await;
        (seen.status == 303).then_some(())
    })
    .await;
    assert!(began.elapsed() < Duration::from_secs(10), "the other user did not wait long");
}

#[tokio::test]
async fn failures_of_a_name_and_of_an_address_are_counted_by_all_hosts_of_a_site() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    place.add_administrator("bob", PASSWORD).await;
    let behind = [("HOST_TRUSTED_PROXIES", "127.0.0.1")];
    let (left, right) = tokio::join!(place.serve_with(&behind), place.serve_with(&behind));
    let guess = async |host: &Served, from: &str, name: &str, password: &str| {
        let mut guest = Visitor::of(&host.url("")).with("x-forwarded-for", from);
        guest.sign_in(name, password).await.status
    };
    // At the same time, at both hosts: each one that is not told to wait counts.
    let guesses = (0..12).map(|number| {
        let host = if number % 2 == 0 { &left } else { &right };
        guess(host, "192.0.2.1", "ann", "not the password")
    });
    let answers = futures_util::future::join_all(guesses).await;
    let wrong = answers.iter().filter(|status| **status == 422).count();
    assert!(answers.iter().all(|status| [422, 429].contains(status)), "{answers:?}");
    let failures = "SELECT concat(failures, '') FROM host_sign_in_failures \
         WHERE kind = 'name' AND failures > 1";
    let counted = place.database.texts_at(&place.site_url(), failures).await;
    assert_eq!(counted[0].parse::<usize>().unwrap(), wrong, "{answers:?}");
    assert!(wrong >= 5);

    // The right password has to wait at both, and gets in from elsewhere.
    for host in [&left, &right] {
        assert_eq!(guess(host, "192.0.2.2", "bob", "not the password").await, 422);
        assert_eq!(guess(host, "192.0.2.2", "bob", "not the password").await, 422);
    }
    assert_eq!(guess(&left, "192.0.2.2", "bob", "not the password").await, 422);
    place.database.execute_at(&place.site_url(), LENGTHEN_WAITS).await;
    assert_eq!(guess(&right, "192.0.2.2", "bob", PASSWORD).await, 429);
    assert_eq!(guess(&right, "192.0.2.3", "bob", PASSWORD).await, 303);
    eventually("the wait is over", async || {
        (guess(&left, "192.0.2.2", "bob", PASSWORD).await == 303).then_some(())
    })
    .await;
    // The right password has ended the count of its client.
    for _ in 0..2 {
        assert_eq!(guess(&right, "192.0.2.2", "bob", "not the password").await, 422);
    }
    // However many addresses guess, a name has few attempts in all, and then it waits everywhere.
    for number in 0..20 {
        let host = if number % 2 == 0 { &left } else { &right };
        guess(host, &format!("198.51.100.{number}"), "bob", "not the password").await;
    }
    for host in [&left, &right] {
        assert_eq!(guess(host, "203.0.113.1", "bob", PASSWORD).await, 429);
    }

    // An address has more attempts, for all names; IPv6 clients have whole networks of addresses.
    for number in 0..20 {
        let host = if number % 2 == 0 { &left } else { &right };
        let from = format!("2001:db8:1:2::{number}");
        assert_eq!(guess(host, &from, &format!("user{number}"), "x").await, 422);
    }
    place.database.execute_at(&place.site_url(), LENGTHEN_WAITS).await;
    for host in [&left, &right] {
        assert_eq!(guess(host, "2001:db8:1:2::ffff", "another", "x").await, 429);
        assert_eq!(guess(host, "2001:db8:1:3::1", "another", "x").await, 422);
    }
    left.stop().await;
    right.stop().await;
}

#[tokio::test]
async fn the_number_of_remembered_failures_is_limited() {
    let shop = Shop::open().await;
    let hash = match shop.database.engine {
        Engine::Sqlite => "randomblob(32)",
        Engine::Postgres => "sha256(CAST(CAST(n AS TEXT) AS BYTEA))",
        Engine::MariaDb => "unhex(sha2(n, 256))",
    };
    let now = OffsetDateTime::now_utc().unix_timestamp() * 1000;
    let tenth = "SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION \
         SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9";
    for (kind, age) in [("name", 1_000), ("address", 3_700_000), ("client", 1_000)] {
        let statement = format!(
            "INSERT INTO host_sign_in_failures (kind, hash, failures, last_on) \
             SELECT '{kind}', {hash}, 1, {now} - {age} - n FROM (\
             SELECT 1000 * a.n + 100 * b.n + 10 * c.n + d.n AS n FROM ({tenth}) AS a \
             CROSS JOIN ({tenth}) AS b CROSS JOIN ({tenth}) AS c CROSS JOIN ({tenth}) AS d\
             ) AS numbers"
        );
        shop.database.execute(&statement).await;
    }
    assert_eq!(Visitor::of(&shop.url("")).sign_in("nobody", "x").await.status, 422);
    for (count, expected) in [
        ("SELECT count(*) FROM host_sign_in_failures WHERE kind = 'name'", 10_000),
        ("SELECT count(*) FROM host_sign_in_failures WHERE kind = 'address'", 1),
        ("SELECT count(*) FROM host_sign_in_failures WHERE kind = 'client'", 10_000),
    ] {
        assert_eq!(shop.database.number(count).await, expected, "{count}");
    }
}

/// Sends wrong passwords of a user from many addresses, until the name has to wait everywhere.
async fn guess_everywhere(shop: &Shop, name: &str) {
    for number in 0.. {
        let from = format!("198.51.100.{number}");
        let mut guest = Visitor::of(&shop.url("")).with("x-forwarded-for", &from);
        if guest.sign_in(name, "not the password").await.status == 429 {
            return;
        }
    }
}

/// Otherwise, whoever has an account could guess the passwords of all others without a wait.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_right_password_takes_back_no_failure_of_its_address_but_its_own() {
    let shop = Shop::open().await;
    let guess = async |name: &str| Visitor::of(&shop.url("")).sign_in(name, "x").await.status;
    for number in 0..19 {
        assert_eq!(guess(&format!("user{number}")).await, 422);
    }
    Visitor::signed_in(&shop, "superuser").await;
    assert_eq!(guess("the twentieth").await, 422);
    shop.database.execute(LENGTHEN_WAITS).await;
    assert_eq!(guess("another").await, 429);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_device_on_which_its_user_has_signed_in_has_a_count_of_its_own() {
    let shop = shop_behind_a_proxy().await;
    let mut desk = Visitor::signed_in(&shop, "superuser").await;
    let mut phone = Visitor::signed_in(&shop, "superuser").await;
    desk.fill("/", "/sign-out", &[]).await;
    guess_everywhere(&shop, "superuser").await;
    let new = async |name| Visitor::of(&shop.url("")).sign_in(name, PASSWORD).await.status;
    assert_eq!(new("superuser").await, 429, "a device that is not known has to wait");
    assert_eq!(desk.sign_in("superuser", PASSWORD).await.status, 303);
    // Not even another name on the same device, which then is like any other.
    guess_everywhere(&shop, "administrator").await;
    assert_eq!(desk.sign_in("administrator", PASSWORD).await.status, 429);

    for _ in 0..5 {
        assert_eq!(desk.sign_in("superuser", "not the password").await.status, 422);
    }
    shop.database.execute(LENGTHEN_WAITS).await;
    assert_eq!(desk.sign_in("superuser", PASSWORD).await.status, 429, "it has a limit, too");
    assert_eq!(phone.sign_in("superuser", PASSWORD).await.status, 303);
    eventually("the wait is over", async || {
        let mut desk = Visitor::of(&shop.url(""));
        desk.cookies.clone_from(&phone.cookies);
        (desk.sign_in("superuser", PASSWORD).await.status == 303).then_some(())
    })
    .await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_cookie_of_a_device_is_strict_and_worthless_without_its_user_and_password() {
    let shop = shop_behind_a_proxy().await;
    let cookie = async |visitor: Visitor| {
        let mut visitor = visitor;
        let seen = visitor.sign_in("superuser", PASSWORD).await;
        let cookie = seen.headers.get_all("set-cookie").iter().nth(1).unwrap().to_str().unwrap();
        let (name, rest) = cookie.split_once('=').unwrap();
        let (_, attributes) = rest.split_once("; ").unwrap();
        (name.to_owned(), attributes.to_owned(), visitor)
    };
    let (name, attributes, plain) = cookie(Visitor::of(&shop.url(""))).await;
    assert_eq!(name, "administration-device");
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/administrator; Max-Age=7776000");
    let behind = Visitor::of(&shop.url("")).with("x-forwarded-proto", "https");
    let (name, attributes, _) = cookie(behind).await;
    assert_eq!(name, "__Host-administration-device");
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=7776000");

    let device = plain.cookies["administration-device"].clone();
    // It ends where the browser forgets it.
    let until: i64 = device.split('.').nth(1).unwrap().parse().unwrap();
    let left = until - OffsetDateTime::now_utc().unix_timestamp();
    assert!((7_776_000 - 60..=7_776_000).contains(&left), "{left}");
    let sign_in = async |name: &str, password: &str, device: &str| {
        let mut visitor = Visitor::of(&shop.url(""));
        visitor.cookies.insert("administration-device".to_owned(), device.to_owned());
        let seen = visitor.sign_in(name, password).await;
        (seen.status, visitor.cookies["administration-device"].clone())
    };
    guess_everywhere(&shop, "superuser").await;
    let (user, rest) = device.split_once('.').unwrap();
    let changed = format!("{}.{rest}", user.parse::<i64>().unwrap() + 1);
    for wrong in ["x", &device[1..], &format!("{device}0"), &changed] {
        assert_eq!(sign_in("superuser", PASSWORD, wrong).await.0, 429, "{wrong}");
    }
    let (status, device) = sign_in("superuser", PASSWORD, &device).await;
    assert_eq!(status, 303);
    shop.site.set_password("superuser", "another password".to_owned()).await.unwrap();
    assert_eq!(sign_in("superuser", "another password", &device).await.0, 429);

    // Nor is it of use for another user of the same name.
    let (_, device) = sign_in("administrator", PASSWORD, "").await;
    guess_everywhere(&shop, "administrator").await;
    shop.site.remove_user("administrator", Force::No).await.unwrap();
    add(&shop.site, "administrator", "Super Users").await;
    assert_eq!(sign_in("administrator", PASSWORD, &device).await.0, 429);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_session_cookie_is_strict_and_replaced_at_every_sign_in() {
    let shop = shop_behind_a_proxy().await;
    let cookie = async |visitor: Visitor| {
        let mut visitor = visitor;
        let seen = visitor.sign_in("superuser", PASSWORD).await;
        assert_eq!(seen.status, 303);
        let cookie = seen.headers["set-cookie"].to_str().unwrap().to_owned();
        let (name, rest) = cookie.split_once('=').unwrap();
        let (secret, attributes) = rest.split_once(';').unwrap();
        assert_eq!(secret.len(), 64);
        (name.to_owned(), attributes.trim().to_owned())
    };
    assert_eq!(
        cookie(Visitor::of(&shop.url(""))).await,
        (
            "administration".to_owned(),
            "HttpOnly; SameSite=Strict; Path=/administrator; Max-Age=43200".to_owned()
        )
    );
    // Behind a trusted proxy with a certificate.
    let behind = Visitor::of(&shop.url("")).with("x-forwarded-proto", "https");
    assert_eq!(
        cookie(behind).await,
        (
            "__Host-administration".to_owned(),
            "HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=43200".to_owned()
        )
    );

    // Each session has a new cookie, and the previous one is invalid.
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let before = ann.cookies.clone();
    assert_eq!(ann.sign_in("superuser", PASSWORD).await.status, 303);
    assert_ne!(ann.cookies, before);
    assert!(ann.is_in().await);
    ann.cookies = before;
    assert!(!ann.is_in().await);
}

#[tokio::test]
async fn the_account_lists_the_valid_sessions_of_its_user() {
    let shop = shop_behind_a_proxy().await;
    let mut visitors = Vec::new();
    for (number, user) in
        ["superuser", "superuser", "administrator", "superuser", "superuser"].iter().enumerate()
    {
        let address = format!("198.51.{number}.7");
        let mut visitor = Visitor::of(&shop.url("")).with("x-forwarded-for", &address);
        assert_eq!(visitor.sign_in(user, PASSWORD).await.status, 303);
        visitors.push(visitor);
    }
    for (column, address) in [("used_on", "198.51.3.7"), ("created_on", "198.51.4.7")] {
        let expire = format!("UPDATE host_sessions SET {column} = '2020-01-01T00:00:00' WHERE");
        shop.database.execute(&format!("{expire} address = '{address}'")).await;
    }
    let html = visitors[1].get("/account").await.html;
    let (_, list) = html.split_once("Your sessions").unwrap();
    let rows = list.split("<th scope=\"row\">").skip(1);
    let rows: BTreeSet<_> = rows.map(|row| row.split_once("</th>").unwrap().0).collect();
    let current = "198.51.1.7 <span class=\"pill\">this session</span>";
    assert_eq!(rows, BTreeSet::from(["198.51.0.7", current]));
}

#[tokio::test]
async fn the_key_of_a_second_factor_is_good_for_its_user_only() {
    let shop = Shop::open().await;
    let (_, _, _) = set_up(&shop, "superuser").await;
    let (_, phone, _) = set_up(&shop, "administrator").await;
    let user = id(&shop.site, "superuser").await;
    let other = id(&shop.site, "administrator").await;
    let copy = format!(
        "UPDATE host_second_factors SET sealed = (SELECT o.sealed FROM (SELECT user_id, sealed \
         FROM host_second_factors) AS o WHERE o.user_id = {other}) WHERE user_id = {user}"
    );
    shop.database.execute(&copy).await;
    let mut ann = Visitor::of(&shop.url(""));
    assert_eq!(ann.sign_in("superuser", PASSWORD).await.status, 303);
    let seen = ann.post("/sign-in/code", &[("code", &phone.code(0))]).await;
    assert_eq!(seen.status, 500);
    assert_eq!(ann.get("/users").await.status, 303);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_form_from_elsewhere_changes_nothing() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let target = format!("/users/{}/block", id(&shop.site, "manager").await);
    ann.get("/users").await;
    let foreign = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
    ];
    for (name, value) in foreign {
        ann = ann.with(name, value);
        let seen = ann.post(&target, &[]).await;
        assert_eq!(seen.status, 403, "{name}: {value}");
        ann.headers.clear();
        ann.get("/users").await;
    }
    // The CSRF token of another session is invalid.
    let other = Visitor::signed_in(&shop, "administrator").await;
    let mut stolen = Visitor::of(&shop.url(""));
    stolen.cookies = other.cookies;
    stolen.html.clone_from(&ann.html);
    assert_eq!(stolen.post(&target, &[]).await.status, 403);
    stolen.html.clear();
    assert_eq!(stolen.post(&target, &[]).await.status, 403);
    assert!(!shop.site.user("manager").await.unwrap().blocked);

    ann.get("/users").await;
    assert_eq!(ann.post(&target, &[]).await.status, 303);
    assert!(shop.site.user("manager").await.unwrap().blocked);
}

#[tokio::test]
async fn a_session_ends_by_a_sign_out_a_block_a_new_password_or_a_lost_permission() {
    let shop = Shop::open().await;
    let mut one = Visitor::signed_in(&shop, "superuser").await;
    let mut two = Visitor::signed_in(&shop, "superuser").await;
    let mut admin = Visitor::signed_in(&shop, "administrator").await;
    assert_eq!(one.fill("/", "/sign-out", &[]).await.status, 303);
    assert!(!one.is_in().await && two.is_in().await, "only this session ends");

    let mut one = Visitor::signed_in(&shop, "superuser").await;
    assert_eq!(one.fill("/account", "/account/sign-out-everywhere", &[]).await.status, 303);
    assert!(!one.is_in().await && !two.is_in().await && admin.is_in().await);

    // Another administrator blocks the user; unblocking does not restore the session.
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let user = id(&shop.site, "administrator").await;
    ann.fill(&format!("/users/{user}"), &format!("/users/{user}/block"), &[]).await;
    assert!(!admin.is_in().await);
    ann.fill(&format!("/users/{user}"), &format!("/users/{user}/unblock"), &[]).await;
    assert!(!admin.is_in().await);

    // Another process on the same database changes the password.
    let mut admin = Visitor::signed_in(&shop, "administrator").await;
    shop.site.set_password("administrator", "another password".to_owned()).await.unwrap();
    assert!(!admin.is_in().await);
    assert_eq!(admin.sign_in("administrator", PASSWORD).await.status, 422);
    assert_eq!(admin.sign_in("administrator", "another password").await.status, 303);
    shop.site.remove_user("administrator", Force::No).await.unwrap();
    assert!(!admin.is_in().await);

    // The permission is removed.
    shop.site.set_rule("Public", "core.admin", "root", Setting::Deny, Force::Yes).await.unwrap();
    assert!(!ann.is_in().await);
}

#[tokio::test]
async fn a_session_is_valid_and_ends_in_every_host_of_a_site() {
    let place = Place::of_the_store();
    let (left, right) = tokio::join!(place.serve(), place.serve());
    place.add_administrator("ann", PASSWORD).await;
    let mut ann = Visitor::of(&left.url(""));
    eventually("the host has heard of ann", async || {
        let seen = Visitor::of(&left.url("")).sign_in("ann", PASSWORD).await;
        (seen.status == 303).then_some(())
    })
    .await;
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let mut there = Visitor::of(&right.url(""));
    there.cookies.clone_from(&ann.cookies);
    assert!(there.is_in().await);
    // The next page of the other host shows the change.
    let add = [("title", "Tills"), ("parent", "Public")];
    assert_eq!(there.fill("/groups/new", "/groups/new", &add).await.status, 303);
    ann.get("/groups").await.says("Tills");
    place.run("user block ann --force").await;
    assert!(!ann.is_in().await && !there.is_in().await);
    left.stop().await;
    right.stop().await;
}
