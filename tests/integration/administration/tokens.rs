//! The pages of API tokens: creating one with limits, rotating and revoking it, those that need attention,
//! and why a token may or may not do something.

use std::time::Duration as Life;

use example_host::{Databases, Libraries, NewToken, Site, TokenEntry};
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

use crate::support::databases::Database;
use crate::support::harness::{Answer, Role, Shop, library};
use crate::support::visitor::{PASSWORD, Seen, Visitor, add, id};

use super::audit_trail::audited;

/// A moment relative to now.
fn after(time: Duration) -> PrimitiveDateTime {
    let moment = OffsetDateTime::now_utc() + time;
    PrimitiveDateTime::new(moment.date(), moment.time())
}

/// A moment as a browser sends it.
fn entered(moment: PrimitiveDateTime) -> String {
    moment.format(format_description!("[year]-[month]-[day]T[hour]:[minute]")).unwrap()
}

/// The secret that a page shows.
fn secret(seen: &Seen) -> String {
    let (_, rest) = seen.html.split_once("<code id=\"token\">").expect(&seen.html);
    rest.split_once('<').unwrap().0.to_owned()
}

async fn token(shop: &Shop, user: &str, name: &str) -> TokenEntry {
    let tokens = shop.site.tokens(user).await.unwrap();
    tokens.into_iter().find(|token| token.name == name).unwrap()
}

async fn ask(shop: &Shop, path: &str, secret: &str) -> Answer {
    shop.get(path).header("authorization", &format!("Bearer {secret}")).send().await
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_token_does_what_was_ticked_and_no_more() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let tab = format!("/users/{}/token", id(&shop.site, "manager").await);
    let form = format!("{tab}/new");
    let blank = ann.get(&form).await;
    blank.says("value=\"orders:edit\" aria-label=\"Edit, Orders\"");
    blank.says("View everything, but not Configuration <code>*:view</code>");
    let end = entered(after(Duration::days(30)));
    let fields = [
        ("name", " Till 4 "),
        ("may", "scopes"),
        ("scope", "orders:view"),
        ("scope", "orders:edit"),
        ("expires", &*end),
        ("addresses", "127.0.0.1\r\n\r\n 2001:db8::/32 \r\n"),
        ("rate", "100"),
    ];
    let seen = ann.post(&form, &fields).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    let secret = secret(&seen);
    // The command reads a list that the token may read.
    seen.says(&format!("Bearer {secret}"));
    seen.says("/api/index.php/v1/shop/orderrefunds&#39;");
    ask(&shop, "/orders", &secret).await.expect(200);
    ask(&shop, "/products", &secret).await.expect(403);

    let seen = ann.get(&tab).await;
    assert!(!seen.html.contains(&secret), "shown only once");
    for text in ["Till 4", "Active", "orders:edit", "127.0.0.1/32, 2001:db8::/32"] {
        seen.says(text);
    }
    seen.says("100 requests a minute");
    let made = token(&shop, "manager", "Till 4").await;
    let scopes = ["orders:edit", "orders:view"].map(str::to_owned);
    assert_eq!(made.scopes.as_deref(), Some(&scopes[..]));
    seen.says(&made.fingerprint);
    assert!(audited(&mut ann, "origin=administration", 2).await[0].contains("Till 4"));

    // Everything that the user may do, without any limit; ticked scopes are those of the other choice.
    let all = [("name", "all"), ("may", "everything"), ("scope", "orders:view")];
    let seen = ann.fill(&form, &form, &all).await;
    let secret = self::secret(&seen);
    ask(&shop, "/products", &secret).await.expect(200);
    assert_eq!(token(&shop, "manager", "all").await.scopes, None);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_is_wrong_with_a_new_token_is_said_beside_its_field() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let tab = format!("/users/{}/token", id(&shop.site, "manager").await);
    let form = format!("{tab}/new");
    let before = shop.site.tokens("manager").await.unwrap();
    let wrong = [
        ("name", "<b>\ttill"),
        ("may", "scopes"),
        ("scope", "*:view"),
        ("scope", "orders:paint"),
        ("expires", "soon"),
        ("addresses", "10.0.0.0/8\r\n<i>"),
        ("rate", "many"),
    ];
    let seen = ann.fill(&form, &form, &wrong).await;
    assert_eq!(seen.status, 422);
    for text in [
        "The token was not created. See below.",
        "id=\"name-fault\">The name of a token must be 1 to 150 characters",
        "id=\"scopes-fault\">&#34;orders:paint&#34; is not a scope",
        "id=\"expires-fault\">It must be a moment like",
        "id=\"addresses-fault\">&#34;&#60;i&#62;&#34; is neither a range of addresses",
        "id=\"rate-fault\">It must be a whole number from 1 to 1000000.",
        // What was entered is kept.
        "value=\"*:view\" checked",
        "10.0.0.0/8\r\n&#60;i&#62;</textarea>",
        "value=\"many\"",
    ] {
        seen.says(text);
    }
    let past = entered(after(Duration::hours(-1)));
    let wrong = [("name", "DEFAULT"), ("may", "scopes"), ("expires", &*past), ("rate", "0")];
    let seen = ann.fill(&form, &form, &wrong).await;
    assert_eq!(seen.status, 422);
    seen.says("A token with scopes needs at least one of them.");
    seen.says("A token must not end in the past.");
    seen.says("A rate must be from 1 to 1000000 requests a minute.");
    let seen = ann.fill(&form, &form, &[("name", "DEFAULT"), ("may", "everything")]).await;
    assert_eq!(seen.status, 422);
    seen.says("There is already a token called &#34;DEFAULT&#34;.");
    seen.says("id=\"everything\" name=\"may\" value=\"everything\" checked");
    assert_eq!(shop.site.tokens("manager").await.unwrap(), before, "nothing was changed");
    for missing in ["/users/999/token/new", "/users/x/token/new"] {
        assert_eq!(ann.get(missing).await.status, 404, "{missing}");
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_site_that_limits_the_life_of_tokens_says_so() {
    let database = Database::new().await;
    let libraries = Libraries::Named(vec![library()]);
    let databases = Databases::new(database.address());
    let loaded = Site::load(&databases, &libraries, &Default::default()).unwrap();
    let longest = Some(Life::from_secs(30 * 24 * 60 * 60));
    let site = loaded.token_lifetime(longest).open().await.unwrap();
    let user = add(&site, "ann", "Super Users").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = site.serve(listener, &Default::default()).unwrap();
    let mut ann = Visitor::of(&format!("http://{}", running.addr()));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let tab = format!("/users/{user}/token");
    let form = format!("{tab}/new");
    let limit = "On this site a token ends after 30 days at most.";
    ann.get(&tab).await.says(limit);
    ann.get(&form).await.says(limit);
    let late = entered(after(Duration::days(31)));
    let late = [("name", "late"), ("may", "everything"), ("expires", &*late)];
    let seen = ann.post(&form, &late).await;
    assert_eq!(seen.status, 422);
    seen.says(&format!("id=\"expires-fault\">{limit}"));
    assert_eq!(ann.fill(&form, &form, &late[..2]).await.status, 200);
    let made = site.tokens("ann").await.unwrap();
    let end = made[0].expires_on.unwrap();
    assert!(end > after(Duration::days(29)) && end <= after(Duration::days(30)), "{end}");
    running.shutdown().await;
    site.close().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_token_is_rotated_with_an_overlap_and_revoked() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let tab = format!("/users/{}/token", id(&shop.site, "manager").await);
    let page = format!("{tab}/{}", token(&shop, "manager", "default").await.id);
    let (rotate, revoke) = (format!("{page}/rotate"), format!("{page}/revoke"));
    let first = shop.token(Role::Manager).to_owned();

    let seen = ann.fill(&rotate, &rotate, &[("overlap", "24")]).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    let second = secret(&seen);
    assert!(!ann.get(&tab).await.html.contains(&second), "shown only once");
    ann.get(&tab).await.says("Old secret works until");
    for secret in [&first, &second] {
        ask(&shop, "/zones", secret).await.expect(200);
    }
    for (fields, fault) in [
        ([("overlap", "1"), ("expires", "2020-01-01T00:00")], "A token must not end in the past."),
        ([("overlap", "1"), ("expires", "x")], "It must be a moment like"),
    ] {
        let seen = ann.fill(&rotate, &rotate, &fields).await;
        assert_eq!(seen.status, 422);
        seen.says(&format!("id=\"expires-fault\">{fault}"));
        seen.says("<option value=\"1\" selected>");
    }
    assert_eq!(ann.fill(&rotate, &rotate, &[("overlap", "2")]).await.status, 303);
    ann.get(&rotate).await.says("Choose an overlap.");
    ask(&shop, "/zones", &second).await.expect(200);
    let end = entered(after(Duration::days(3)));
    let seen = ann.fill(&rotate, &rotate, &[("overlap", "0"), ("expires", &*end)]).await;
    let third = secret(&seen);
    seen.says("Expires soon");
    for secret in [&first, &second] {
        ask(&shop, "/zones", secret).await.expect(401);
    }
    ask(&shop, "/zones", &third).await.expect(200);

    let overlaps = async |seconds| {
        let overlap = std::time::Duration::from_secs(seconds);
        shop.site.rotate_token("manager", "default", overlap, None).await.is_ok()
    };
    assert!(overlaps(72 * 60 * 60).await && !overlaps(72 * 60 * 60 + 1).await);

    // That of another user is not found.
    let other = id(&shop.site, "registered").await;
    let of_other = page.replace(&tab, &format!("/users/{other}/token"));
    ann.get("/users").await;
    for page in [&of_other, &format!("{tab}/999"), &format!("{tab}/x")] {
        assert_eq!(ann.get(&format!("{page}/rotate")).await.status, 404, "{page}");
        ann.get("/users").await;
        for to in ["rotate", "revoke"] {
            let seen = ann.post(&format!("{page}/{to}"), &[("overlap", "0")]).await;
            assert_eq!(seen.status, 404, "{page}/{to}");
            ann.get("/users").await;
        }
    }
    ask(&shop, "/zones", &third).await.expect(200);
    let seen = ann.fill(&tab, &revoke, &[]).await;
    assert_eq!((seen.status, seen.to()), (303, &*format!("/administrator{tab}")));
    let seen = ann.get(&tab).await;
    seen.says("Token default was revoked.");
    seen.says("manager has no tokens.");
    ask(&shop, "/zones", &third).await.expect(401);
    assert_eq!(ann.get(&rotate).await.status, 404);
    let entries = audited(&mut ann, "origin=administration", 4).await;
    for (entry, what) in entries.iter().zip(["Revoke", "Rotate", "Rotate"]) {
        assert!(entry.contains(&format!("{what} a token: default")), "{entry}");
    }
}

#[tokio::test]
async fn tokens_that_expire_soon_or_are_not_used_are_listed() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get("/tokens").await;
    seen.says("No token expires within 14 days.");
    seen.says("Every token that is older than 90 days has been used since.");
    assert!(!ann.get("/").await.html.contains("will stop working"));
    for (name, days) in [("in a week", 7), ("in a month", 30)] {
        let expires_on = Some(after(Duration::days(days)));
        let new = NewToken { name: name.to_owned(), expires_on, ..NewToken::default() };
        shop.site.create_token("manager", &new).await.unwrap();
    }
    let seen = ann.get("/tokens").await;
    seen.says("in a week");
    seen.says(&format!("/administrator/users/{}/token", id(&shop.site, "manager").await));
    assert!(!seen.html.contains("in a month"));
    ann.get("/").await.says("One API token will stop working within 14 days.");
    let old =
        "UPDATE host_api_tokens SET created_on = '2020-01-01T00:00:00' WHERE name = 'in a month'";
    shop.database.execute(old).await;
    let (_, unused) = ann.get("/tokens").await.html.split_once("id=\"unused\"").map(own).unwrap();
    assert!(unused.contains("in a month") && unused.contains("Never"), "{unused}");
    assert!(!unused.contains("in a week"));
}

fn own((before, after): (&str, &str)) -> (String, String) {
    (before.to_owned(), after.to_owned())
}

#[tokio::test]
async fn the_why_page_answers_for_a_token_as_for_a_user() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let scopes = Some(vec!["*:view".to_owned(), "products:edit".to_owned()]);
    let addresses = vec!["192.0.2.0/24".parse().unwrap()];
    let new = NewToken { name: "Till".to_owned(), scopes, addresses, ..NewToken::default() };
    shop.site.create_token("manager", &new).await.unwrap();
    let why = |token: &str, action: &str, asset: &str| {
        format!("/permissions/why?user=manager&token={token}&action={action}&asset={asset}")
    };
    for (token, action, asset, outcome, reason) in [
        (
            "till",
            "store.edit",
            "com_shop.products",
            "Allowed",
            "A scope of the token covers it, but it may be used only from 192.0.2.0/24.",
        ),
        (
            "till",
            "store.edit",
            "com_shop.orders",
            "Denied",
            "The token lacks the scope orders:edit.",
        ),
        (
            "till",
            "store.edit",
            "com_shop",
            "Denied",
            "There is no scope for it, and the token has scopes.",
        ),
        ("till", "core.login.api", "root", "Allowed", "The token allows whatever its user may do"),
        (
            "default",
            "store.edit",
            "com_shop.orders",
            "Allowed",
            "The token allows whatever its user may do.",
        ),
        // The user must be allowed to do it as well.
        ("default", "store.delete", "com_shop.orders", "Denied", "No rule allows it"),
    ] {
        let seen = ann.get(&why(token, action, asset)).await;
        seen.says(&format!("\">{outcome}</span> <a href=\"/administrator/users/"));
        seen.says(reason);
        let command = shop.site.explain_token("manager", token, action, asset).await.unwrap();
        assert_eq!(command.allowed, outcome == "Allowed", "{token} {action} {asset}");
    }
    let seen = ann.get(&why("nothing", "store.view", "com_shop.products")).await;
    seen.says("id=\"token-fault\">There is no token called &#34;nothing&#34;.");
    shop.database
        .execute(
            "UPDATE host_api_tokens SET expires_on = '2020-01-01T00:00:00' WHERE name = 'Till'",
        )
        .await;
    let asset = "com_shop.products";
    let seen = ann.get(&why("till", "store.edit", asset)).await;
    seen.says("The token expired on 2020-01-01T00:00:00Z.");
    let command = shop.site.explain_token("manager", "till", "store.edit", asset).await.unwrap();
    assert_eq!(command.reason, "the token expired on 2020-01-01T00:00:00Z");
}
