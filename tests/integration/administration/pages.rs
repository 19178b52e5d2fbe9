//! The administration as any program sees it: who gets in and for how long, what forms are
//! believed, and what administrators may not do to each other. What a browser makes of the pages
//! is in `browser.rs`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use example_host::{NewUser, ServerSettings, Setting, Site, TOKEN_AUTH};
use reqwest::header::HeaderValue;
use serde_json::json;

use crate::support::harness::{Answer, MEDIA_TYPE, ROOT, Role, Setup, Shop, library};
use crate::support::process::{Place, eventually, operator};
use crate::support::visitor::{
    PASSWORD, Visitor, add, beside, field, give_passwords, id, parameters, shop,
};

const PAGES: [&str; 23] = [
    "/",
    "/users",
    "/users/new",
    "/users/5",
    "/users/5/token",
    "/users/5/permissions",
    "/users/5/delete",
    "/groups",
    "/groups/new",
    "/groups/5",
    "/permissions",
    "/permissions/why",
    "/extensions",
    "/extensions/token-auth",
    "/extensions/webservices-shop",
    "/extensions/webservices-shop/parameters",
    "/extensions/webservices-shop/routes",
    "/api",
    "/api?group=orders",
    "/api/webservices-shop/products.list",
    "/api/webservices-shop/products.create",
    "/audit",
    "/account",
];

#[tokio::test]
async fn nobody_sees_a_page_who_has_not_signed_in() {
    let shop = shop().await;
    let mut nobody = Visitor::of(&shop.url(""));
    for path in PAGES {
        let seen = nobody.get(path).await;
        assert_eq!(seen.status, 303, "{path}");
        assert!(seen.to().starts_with("/administrator/sign-in"), "{path}: {}", seen.to());
        assert_eq!(seen.html, "");
        let seen = nobody.post(path, &[]).await;
        assert_eq!((seen.status, seen.to()), (303, "/administrator/sign-in"), "{path}");
    }
    // Where they wanted to go is remembered, and nowhere else can be.
    let seen = nobody.get("/users?search=a%26b").await;
    let next = "/administrator/users?search=a%26b";
    let asked = reqwest::Url::parse(&format!("http://x{}", seen.to())).unwrap();
    assert_eq!(asked.query_pairs().next().unwrap(), ("next".into(), next.into()));
    for (next, to) in [
        (next, next),
        ("https://evil.example/administrator/", "/administrator/"),
        ("//evil.example", "/administrator/"),
    ] {
        let fields = [("username", "superuser"), ("password", PASSWORD), ("next", next)];
        let seen = Visitor::of(&shop.url("")).post("/sign-in", &fields).await;
        assert_eq!((seen.status, seen.to()), (303, to));
    }
}

#[tokio::test]
async fn every_page_is_kept_from_doing_anything_but_show() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for path in PAGES.iter().chain(&["/sign-in", "/nothing", "/users/999", "/users/x"]) {
        let seen = ann.get(path).await;
        let expected = if path.ends_with(['g', 'x']) || path.ends_with("999") { 404 } else { 200 };
        assert_eq!(seen.status, expected, "{path}: {}", seen.html);
        let header = |name: &str| seen.headers.get(name).unwrap().to_str().unwrap();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'"));
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert!(!seen.html.contains(" style=") && !seen.html.contains("<script>"), "{path}");
        assert!(seen.html.contains("<h1>") && seen.html.contains("<title>"), "{path}");
    }
    let page = ann.get("/").await.html;
    let names = page.split('"').filter(|text| text.starts_with("/administrator/assets/"));
    let names: BTreeSet<&str> = names.collect();
    assert_eq!(names.len(), 3, "a stylesheet, a script, an icon: {names:?}");
    for name in names {
        let seen =
            Visitor::of(&shop.url("")).get(name.strip_prefix("/administrator").unwrap()).await;
        assert_eq!(seen.status, 200, "{name}");
        assert!(seen.headers["cache-control"].to_str().unwrap().contains("immutable"));
    }
    let bare = ann.client.get(shop.url("/administrator")).send().await.unwrap();
    assert_eq!(
        (bare.status().as_u16(), &bare.headers()["location"]),
        (308, &HeaderValue::from_static("/administrator/"))
    );
    let put = ann.client.put(shop.url("/administrator/users")).send().await.unwrap();
    assert_eq!(put.status(), 405);
}

#[tokio::test]
async fn who_is_refused_learns_nothing_of_who_there_is() {
    let shop = shop().await;
    shop.site.set_blocked("registered", true).await.unwrap();
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

    // Who knows the password is told that it is of no use.
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
async fn guesses_have_to_wait_and_others_need_not() {
    let shop = shop().await;
    for name in ["superuser", "nobody-of-that-name"] {
        let mut guest = Visitor::of(&shop.url(""));
        for _ in 0..5 {
            assert_eq!(guest.sign_in(name, "not the password").await.status, 422);
        }
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
    assert!(began.elapsed() < Duration::from_secs(10), "and it was not long");
}

#[tokio::test]
async fn the_secret_of_a_session_is_for_the_browser_alone() {
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let server = ServerSettings { trusted_proxies: proxies, ..ServerSettings::default() };
    let shop = Shop::with(Setup { server, ..Setup::default() }).await;
    give_passwords(&shop.site).await;
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
            "Path=/administrator; Max-Age=43200; HttpOnly; SameSite=Strict".to_owned()
        )
    );
    // Behind a proxy that is known and has a certificate.
    let behind = Visitor::of(&shop.url("")).with("x-forwarded-proto", "https");
    assert_eq!(
        cookie(behind).await,
        (
            "__Host-administration".to_owned(),
            "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure".to_owned()
        )
    );

    // Each time it is another one, and the one before is worth nothing.
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let before = ann.cookies.clone();
    assert_eq!(ann.sign_in("superuser", PASSWORD).await.status, 303);
    assert_ne!(ann.cookies, before);
    assert!(ann.is_in().await);
    ann.cookies = before;
    assert!(!ann.is_in().await);
}

#[tokio::test]
async fn a_form_that_no_page_of_the_site_has_sent_changes_nothing() {
    let shop = shop().await;
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
    // The proof of another session is none.
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
async fn a_session_ends_when_it_is_to_end() {
    let shop = shop().await;
    let mut one = Visitor::signed_in(&shop, "superuser").await;
    let mut two = Visitor::signed_in(&shop, "superuser").await;
    let mut admin = Visitor::signed_in(&shop, "administrator").await;
    assert_eq!(one.fill("/", "/sign-out", &[]).await.status, 303);
    assert!(!one.is_in().await && two.is_in().await, "only the one");

    let mut one = Visitor::signed_in(&shop, "superuser").await;
    assert_eq!(one.fill("/account", "/account/sign-out-everywhere", &[]).await.status, 303);
    assert!(!one.is_in().await && !two.is_in().await && admin.is_in().await);

    // By another one, who blocks the user: also when they are unblocked again.
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let user = id(&shop.site, "administrator").await;
    ann.fill(&format!("/users/{user}"), &format!("/users/{user}/block"), &[]).await;
    assert!(!admin.is_in().await);
    ann.fill(&format!("/users/{user}"), &format!("/users/{user}/unblock"), &[]).await;
    assert!(!admin.is_in().await);

    // By another process on the same database.
    let mut admin = Visitor::signed_in(&shop, "administrator").await;
    shop.site.set_password("administrator", "another password".to_owned()).await.unwrap();
    assert!(!admin.is_in().await);
    assert_eq!(admin.sign_in("administrator", PASSWORD).await.status, 422);
    assert_eq!(admin.sign_in("administrator", "another password").await.status, 303);
    shop.site.remove_user("administrator").await.unwrap();
    assert!(!admin.is_in().await);

    // And when the permission has gone.
    shop.site.set_rule("Public", "core.admin", "root", Setting::Deny).await.unwrap();
    assert!(!ann.is_in().await);
}

#[tokio::test]
async fn a_session_holds_in_every_host_of_a_site_and_ends_in_every_host() {
    let place = Place::of_the_store();
    let (left, right) = tokio::join!(place.serve(), place.serve());
    place
        .call("user add ann --email ann@example.com --group")
        .word("Super Users")
        .finish()
        .await
        .succeeds();
    let set = place.call("user password ann").input(&format!("{PASSWORD}\n")).finish().await;
    assert_eq!(set.succeeds(), "");
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
    // What one host has changed, the next page of the other one shows.
    let add = [("title", "Tills"), ("parent", "Public")];
    assert_eq!(there.fill("/groups/new", "/groups/new", &add).await.status, 303);
    ann.get("/groups").await.says("Tills");
    place.run("user block ann").await;
    assert!(!ann.is_in().await && !there.is_in().await);
    left.stop().await;
    right.stop().await;
}

#[tokio::test]
async fn who_may_manage_does_not_become_who_may_do_everything() {
    let shop = shop().await;
    let boss = id(&shop.site, "superuser").await;
    let own = id(&shop.site, "administrator").await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let account = format!("/users/{boss}");
    for (to, fields) in [
        ("/block", &[][..]),
        ("/unblock", &[]),
        ("/sign-out", &[]),
        ("/delete", &[]),
        ("/token", &[]),
        ("/token/revoke", &[]),
        (
            "",
            &[
                ("username", "superuser"),
                ("email", "mine@example.com"),
                ("password", "mine for ever"),
                ("group", "5"),
            ],
        ),
    ] {
        let seen = ann.fill(&account, &format!("{account}{to}"), fields).await;
        assert_eq!((seen.status, seen.to()), (303, &*format!("/administrator{account}")), "{to}");
        ann.get(&account).await.says("Only users with core.admin may change others who have it");
    }
    // Nor by giving the group to themselves or to somebody new.
    let fields = |name| [("username", name), ("email", "x@example.com"), ("group", "5")];
    for (page, name) in [(format!("/users/{own}"), "administrator"), ("/users/new".into(), "eve")] {
        assert_eq!(ann.fill(&page, &page, &fields(name)).await.status, 303);
        ann.get(&page).await.says("may put somebody into a group with it");
    }
    for path in ["/groups/new", "/groups/2", "/groups/2/delete"] {
        assert_eq!(ann.get(path).await.status, 403, "{path}");
        ann.get("/groups").await;
        assert_eq!(ann.post(path, &[("title", "x")]).await.status, 403, "{path}");
    }
    let page = ann.get("/permissions?asset=root").await;
    page.says("Only users with core.admin may change rules");
    let seen = field(&page.html, "seen").unwrap().to_owned();
    let rule = [("asset", "root"), ("seen", &seen), ("core.admin-4", "allow")];
    assert_eq!(ann.post("/permissions", &rule).await.status, 403);
    assert_eq!(
        shop.site.rules().await.unwrap().iter().filter(|rule| rule.action == "core.admin").count(),
        1
    );

    // What they may do works.
    let manager = id(&shop.site, "manager").await;
    let page = format!("/users/{manager}");
    let seen = ann.fill(&page, &format!("{page}/token"), &[]).await;
    assert_eq!(seen.status, 200);
}

#[tokio::test]
async fn nobody_locks_themselves_out_and_so_somebody_is_always_left() {
    let shop = shop().await;
    let own = id(&shop.site, "superuser").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = format!("/users/{own}");
    let profile = [("username", "superuser"), ("email", "superuser@example.com"), ("group", "3")];
    for (to, fields) in [("/block", &[][..]), ("/delete", &[]), ("", &profile)] {
        assert_eq!(ann.fill(&page, &format!("{page}{to}"), fields).await.status, 303);
        ann.get(&page).await.says("This would lock you out");
    }
    let seen = ann.get("/permissions?asset=root").await;
    let fingerprint = field(&seen.html, "seen").unwrap().to_owned();
    for (rule, setting) in [("core.admin-5", "inherit"), ("core.admin-1", "deny")] {
        let fields = [("asset", "root"), ("seen", &*fingerprint), (rule, setting)];
        ann.fill("/permissions?asset=root", "/permissions", &fields).await;
        ann.get("/permissions?asset=root").await.says("This would lock you out");
    }
    let user = shop.site.user("superuser").await.unwrap();
    assert_eq!((user.blocked, user.groups), (false, vec!["Super Users".to_owned()]));

    // Of two who take it from each other at the same moment one keeps it.
    add(&shop.site, "bob", "Super Users").await;
    for _ in 0..5 {
        let mut bob = Visitor::signed_in(&shop, "bob").await;
        let mut ann = Visitor::signed_in(&shop, "superuser").await;
        let target = id(&shop.site, "bob").await;
        ann.get("/users").await;
        bob.get("/users").await;
        let (to_bob, to_ann) = (format!("/users/{target}/block"), format!("/users/{own}/block"));
        tokio::join!(ann.post(&to_bob, &[]), bob.post(&to_ann, &[]));
        let users = shop.site.users().await.unwrap();
        let left = users
            .iter()
            .filter(|user| !user.blocked && user.groups.contains(&"Super Users".to_owned()));
        assert_eq!(left.count(), 1);
        for name in ["bob", "superuser"] {
            shop.site.set_blocked(name, false).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_token_is_shown_once_and_its_use_is_seen() {
    let shop = shop().await;
    let user = id(&shop.site, "manager").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = format!("/users/{user}/token");
    ann.get(&page).await.says("Never");
    let seen = ann.post(&page, &[]).await;
    assert_eq!(seen.status, 200);
    let (_, rest) = seen.html.split_once("<code id=\"token\">").unwrap();
    let token = rest.split_once('<').unwrap().0;
    seen.says(&format!("curl -H &#39;Authorization: Bearer {token}&#39;"));
    assert!(!ann.get(&page).await.html.contains(token), "shown this once");

    let ask = |token: &str| {
        shop.get("/manufacturers").header("authorization", &format!("Bearer {token}")).send()
    };
    ask(token).await.expect(200);
    ask(shop.token(Role::Manager)).await.expect(401);
    eventually("its use is seen", async || {
        let client = &ann.client;
        let cookie = ann.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        let page = client
            .get(shop.url(&format!("/administrator{page}")))
            .header("cookie", cookie.collect::<String>());
        (!page.send().await.unwrap().text().await.unwrap().contains("Never")).then_some(())
    })
    .await;
    assert_eq!(ann.fill(&page, &format!("{page}/revoke"), &[]).await.status, 303);
    ask(token).await.expect(401);
    // The use of the token before is not that of the next one.
    ann.get(&page).await;
    ann.post(&page, &[]).await.says("Never");
}

#[tokio::test]
async fn users_are_found_in_any_case_and_paged_without_repeating_any() {
    let shop = shop().await;
    for number in 0..45 {
        let name = format!("kunde{number:02}");
        let user = NewUser {
            username: name.clone(),
            email: format!("{name}@example.com"),
            groups: vec!["Registered".to_owned()],
            password: None,
        };
        shop.site.add_user(user).await.unwrap();
    }
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let names = |html: &str| -> Vec<String> {
        let rows = html.split("<th scope=\"row\"><a").skip(1);
        let name = |row: &str| row.split(['>', '<']).nth(1).unwrap().to_owned();
        rows.map(name).collect()
    };
    let (mut forwards, mut path) = (Vec::new(), "/users".to_owned());
    let mut pages = Vec::new();
    loop {
        let html = ann.get(&path).await.html;
        pages.push(names(&html));
        forwards.extend(names(&html));
        match beside(&html, "next") {
            Some(next) => path = next,
            None => break,
        }
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [20, 20, 10]);
    assert!(forwards.is_sorted() && forwards.len() == 50);
    let mut html = ann.get(&path).await.html;
    for page in pages.iter().rev().skip(1) {
        html = ann.get(&beside(&html, "prev").unwrap()).await.html;
        assert_eq!(&names(&html), page);
    }
    assert_eq!(beside(&html, "prev"), None);

    let user = id(&shop.site, "kunde07").await;
    let profile = [
        ("username", "kunde07"),
        ("name", "Jürgen Öztürk_7"),
        ("email", "J7@example.com"),
        ("group", "2"),
    ];
    assert_eq!(
        ann.fill(&format!("/users/{user}"), &format!("/users/{user}"), &profile).await.status,
        303
    );
    shop.site.set_blocked("kunde08", true).await.unwrap();
    for (query, found) in [
        ("search=JÜRGEN", vec!["kunde07"]),
        ("search=özt", vec!["kunde07"]),
        ("search=k_7", vec!["kunde07"]),
        ("search=e_0", vec![]),
        ("search=%25", vec![]),
        ("search=KUNDE1&state=active", (10..20).map(|_| "").collect()),
        ("state=blocked", vec!["kunde08"]),
        ("group=5", vec!["superuser"]),
        ("group=5&state=blocked", vec![]),
        ("search=manager&group=3", vec!["manager"]),
    ] {
        let names = names(&ann.get(&format!("/users?{query}")).await.html);
        match found.first() {
            Some(&"") => assert_eq!(names.len(), found.len(), "{query}: {names:?}"),
            _ => assert_eq!(names, found, "{query}"),
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_user_is_said_beside_each_field() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let wrong = [
        ("username", "MANAGER"),
        ("name", "<script>alert(1)</script>"),
        ("email", "nobody"),
        ("password", "short"),
    ];
    let seen = ann.fill("/users/new", "/users/new", &wrong).await;
    assert_eq!(seen.status, 422);
    for text in [
        "is no e-mail address",
        "A password has 12 to 1000 characters",
        "A user belongs to one group at least",
        "&#60;script&#62;alert(1)",
        "value=\"MANAGER\"",
        "aria-invalid=\"true\" aria-describedby=\"password-fault password-hint\"",
    ] {
        seen.says(text);
    }
    assert!(!seen.html.contains("<script>alert"), "nothing is taken for a page's own");
    assert!(!seen.html.contains("short"), "a password is not shown again");
    let taken = [("username", "MANAGER"), ("email", "REGISTERED@example.com"), ("group", "2")];
    let seen = ann.fill("/users/new", "/users/new", &taken).await;
    assert_eq!(seen.status, 422);
    seen.says("Another user has &#34;MANAGER&#34; already.");
    seen.says("Another user has &#34;REGISTERED@example.com&#34; already.");

    let good = [
        ("username", "eve"),
        ("name", "<b>Eve</b>"),
        ("email", "eve@example.com"),
        ("password", "long enough for eve"),
        ("group", "2"),
        ("group", "4"),
    ];
    let seen = ann.fill("/users/new", "/users/new", &good).await;
    assert_eq!(seen.status, 303, "{}", seen.html);
    let user = shop.site.user("eve").await.unwrap();
    assert_eq!(user.groups, ["Registered", "Administrator"]);
    ann.get("/users?search=eve").await.says("&#60;b&#62;Eve");
    let mut eve = Visitor::of(&shop.url(""));
    assert_eq!(eve.sign_in("Eve", "long enough for eve").await.status, 303);

    let seen =
        ann.fill("/groups/new", "/groups/new", &[("title", "manager"), ("parent", "Public")]).await;
    assert_eq!(seen.status, 422);
    seen.says("already");
    ann.fill("/groups/3/delete", "/groups/3/delete", &[]).await;
    ann.get("/groups").await.says("A group with users in it cannot be deleted");
}

#[tokio::test]
async fn a_rule_counts_with_the_next_request_and_why_names_it() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = "/permissions?asset=com_shop.manufacturers";
    let ask = || shop.get("/manufacturers").by(Role::Manager).send();
    ask().await.expect(200);
    let html = ann.get(page).await.html;
    let seen = field(&html, "seen").unwrap();
    let fields = [
        ("asset", "com_shop.manufacturers"),
        ("seen", seen),
        ("store.view-1", "deny"),
        ("store.delete-3", "allow"),
        ("store.edit-3", "nonsense"),
    ];
    assert_eq!(ann.post("/permissions", &fields).await.status, 303);
    ask().await.expect(403);
    ann.get(page).await.says("2 rules about com_shop.manufacturers are changed");
    // The form is of before; what it does not know it does not undo.
    assert_eq!(ann.post("/permissions", &fields).await.status, 303);
    ann.get(page).await.says("Somebody has changed these rules meanwhile");

    let why = "/permissions/why?user=manager&action=store.view&asset=com_shop.manufacturers";
    let answer = ann.get(why).await;
    answer.says("The rule for Public denies store.view on com_shop.manufacturers");
    answer.says("<code>store.view</code> on <code>com_shop.manufacturers</code>");
    let by_command =
        shop.site.explain("manager", "store.view", "com_shop.manufacturers").await.unwrap();
    assert_eq!(by_command.reason, "deny store.view on com_shop.manufacturers for Public");
    ann.get("/permissions/why?user=superuser&action=store.view&asset=com_shop.config")
        .await
        .says("Super Users has core.admin on root, which allows everything");
    ann.get("/permissions/why?user=public&action=core.manage&asset=root")
        .await
        .says("No rule allows it");
    ann.get("/permissions/why?user=nobody&action=core.manage&asset=root")
        .await
        .says("There is no user called");
    for missing in ["action=x&asset=root", "action=core.manage&asset=x"] {
        let path = format!("/permissions/why?user=public&{missing}");
        assert_eq!(ann.get(&path).await.status, 404, "{missing}");
    }
}

/// What a page of the audit trail shows: who, what and to what, the newest first.
fn changes(html: &str) -> Vec<String> {
    let text = |html: &str| {
        let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let cell = |row: &str, start: &str, end: &str| {
        let (_, rest) = row.split_once(start).unwrap();
        text(rest.split_once(end).unwrap().0)
    };
    let rows = html.split("<tr><td data-label=\"When\">").skip(1);
    rows.map(|row| {
        let who = cell(row, "data-label=\"Who\">", "</td>");
        let who = who.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let what = cell(row, "<th scope=\"row\">", "</th>");
        format!("{who}: {what}: {}", cell(row, "data-label=\"Record\">", "</td>"))
    })
    .collect()
}

/// The audit trail as soon as it has this many entries that are like the query.
async fn audited(visitor: &mut Visitor, query: &str, count: usize) -> Vec<String> {
    for _ in 0..200 {
        let seen = visitor.get(&format!("/audit?{query}")).await;
        assert_eq!(seen.status, 200, "{}", seen.html);
        let found = changes(&seen.html);
        if found.len() == count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not {count} changes like {query:?}: {:?}", changes(&visitor.html));
}

#[tokio::test]
async fn every_change_is_in_the_audit_trail_and_nothing_of_its_body() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let create = shop.post("/manufacturers", json!({"manufacturer_name": "Secret Birch"}));
    let created = create.by(Role::Manager).header("x-request-id", "the-first").send().await;
    let made = created.expect(201).id();
    let path = format!("/manufacturers/{made}");
    let secret = json!({"manufacturer_name": "Secret Oak"});
    shop.patch(&path, secret.clone()).by(Role::Manager).send().await.expect(200);
    // What was not done is not there, nor what was only read.
    shop.delete(&path).by(Role::Manager).send().await.expect(403);
    shop.get(&path).by(Role::Manager).send().await.expect(200);
    shop.patch(&path, json!({"nonsense": 1})).by(Role::Manager).send().await.expect(422);
    shop.delete(&path).by(Role::Administrator).send().await.expect(204);
    // Those of the API are written down a moment later than what is done here.
    audited(&mut ann, "origin=api", 3).await;
    let user = id(&shop.site, "manager").await;
    let page = format!("/users/{user}");
    assert_eq!(ann.fill(&page, &format!("{page}/block"), &[]).await.status, 303);
    let rules = "/permissions?asset=com_shop.products";
    let html = ann.get(rules).await.html;
    let seen = field(&html, "seen").unwrap().to_owned();
    let fields = [("asset", "com_shop.products"), ("seen", &*seen), ("store.view-2", "deny")];
    assert_eq!(ann.post("/permissions", &fields).await.status, 303);
    assert_eq!(ann.fill(&page, &format!("{page}/delete"), &[]).await.status, 303);

    assert_eq!(
        audited(&mut ann, "", 6).await,
        [
            format!("superuser session: Delete a user administration.users.delete: user {user}"),
            "superuser session: Change permissions: deny store.view for Registered \
             administration.permissions: asset com_shop.products"
                .to_owned(),
            format!("superuser session: Block a user administration.users.block: user {user}"),
            format!(
                "administrator token: Delete DELETE manufacturers.delete: manufacturers {made}"
            ),
            format!("manager token: Change PATCH manufacturers.update: manufacturers {made}"),
            format!("manager token: Add POST manufacturers.create: manufacturers {made}"),
        ]
    );
    assert!(!ann.html.contains("Secret"), "{}", ann.html);
    for (query, count) in [
        ("user=MANAGER", 2),
        ("user=nobody", 0),
        ("origin=api", 3),
        ("origin=administration", 3),
        ("origin=command-line", 0),
        ("type=manufacturers", 3),
        (&*format!("type=manufacturers&id={made}&user=manager"), 2),
        ("type=user", 2),
        ("request=the-first", 1),
        ("request=the-second", 0),
        ("since=2020-01-01&until=2020-12-31", 0),
        ("since=2020-01-01&until=9000-01-01&origin=api", 3),
        ("since=never&after=nonsense", 6),
        ("user=%27%3B%25", 0),
    ] {
        audited(&mut ann, query, count).await;
    }
    let seen = Visitor::signed_in(&shop, "administrator").await.get("/audit").await;
    assert_eq!(seen.status, 403, "who may not do everything does not oversee who may");
}

#[tokio::test]
async fn the_audit_trail_is_paged_without_repeating_any_and_bounded() {
    let server = ServerSettings { audit_entries: 130, ..ServerSettings::default() };
    let shop = Shop::with(Setup { server, ..Setup::default() }).await;
    give_passwords(&shop.site).await;
    let mut made = Vec::new();
    for number in 0..140 {
        let body = json!({"manufacturer_name": format!("Birch {number}")});
        made.push(shop.create("/manufacturers", body).await);
    }
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let last = format!("id={}", made[139]);
    audited(&mut ann, &format!("type=manufacturers&{last}"), 1).await;
    audited(&mut ann, &format!("type=manufacturers&id={}", made[9]), 0).await;
    audited(&mut ann, &format!("type=manufacturers&id={}", made[10]), 1).await;

    for query in ["", "?type=manufacturers", "?user=administrator&origin=api"] {
        let mut path = format!("/audit{query}");
        let (mut pages, mut html) = (Vec::new(), String::new());
        loop {
            html.clone_from(&ann.get(&path).await.html);
            pages.push(changes(&html));
            match beside(&html, "next") {
                Some(next) => path = next,
                None => break,
            }
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 30], "{query}");
        let found: Vec<String> = pages.concat();
        let expected = made[10..].iter().rev().map(|id| {
            format!("administrator token: Add POST manufacturers.create: manufacturers {id}")
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
        for page in pages.iter().rev().skip(1) {
            html = ann.get(&beside(&html, "prev").unwrap()).await.html;
            assert_eq!(&changes(&html), page, "{query}");
        }
        assert_eq!(beside(&html, "prev"), None);
    }
}

#[tokio::test]
async fn what_was_answered_is_in_the_audit_trail_after_a_shutdown() {
    let database = crate::support::databases::Database::new().await;
    let serve = async || {
        let site = Site::open(&database.address(), &[library()]).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let running = site.serve(listener, &ServerSettings::default()).unwrap();
        (site, format!("http://{}", running.addr()), running)
    };
    let (site, origin, running) = serve().await;
    add(&site, "ann", "Super Users").await;
    let token = site.generate_token("ann").await.unwrap();
    let client = reqwest::Client::new();
    let asking = (0..20).map(|number| {
        let request = client
            .post(format!("{origin}{ROOT}/manufacturers"))
            .header("authorization", format!("Bearer {token}"))
            .header("accept", MEDIA_TYPE)
            .json(&json!({"manufacturer_name": format!("Birch {number}")}));
        tokio::spawn(Answer::to(request))
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.unwrap().expect(201);
    }
    running.shutdown().await;

    let (_site, origin, running) = serve().await;
    let mut ann = Visitor::of(&origin);
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let html = ann.get("/audit").await.html;
    let ids: BTreeSet<String> = changes(&html).into_iter().collect();
    assert_eq!(ids.len(), 20, "{ids:?}");
    running.shutdown().await;
}

#[tokio::test]
async fn a_command_is_in_the_audit_trail_too() {
    let place = Place::of_the_store();
    place
        .call("user add ann --email ann@example.com --group")
        .word("Super Users")
        .finish()
        .await
        .succeeds();
    let set = place.call("user password ann").input(&format!("{PASSWORD}\n")).finish().await;
    assert_eq!(set.succeeds(), "");
    place.run("user add bob --email bob@example.com --group Manager").await;
    place.run("permission set Manager store.delete com_shop.products allow").await;
    place.run("user remove bob").await;
    place.run("user list").await;
    place.refusal("user remove bob").await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let html = ann.get("/audit?origin=command-line").await.html;
    let who = format!("{} command", operator());
    assert_eq!(
        changes(&html),
        [
            format!("{who}: Delete a user user remove: user 2"),
            format!(
                "{who}: Change permissions: allow store.delete for Manager permission set: \
                 asset com_shop.products"
            ),
            format!("{who}: Add a user user add: user 2"),
            format!("{who}: Set a password user password: user 1"),
            format!("{who}: Add a user user add: user 1"),
        ]
    );
    served.stop().await;
}

#[tokio::test]
async fn the_dashboard_says_what_the_api_has_to_do_and_what_it_refuses() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let seen = ann.get("/").await;
    seen.says("All is well");
    seen.says("<strong>0</strong> requests to this host");
    seen.says("None was refused");
    seen.says("Nothing was sold.");
    shop.get("/products").send().await.expect(200);
    shop.get("/products").by(Role::Nobody).send().await.expect(401);
    shop.get("/nothing").send().await.expect(404);
    let refused = shop.delete("/products/1").by(Role::Manager);
    let refused = refused.send().await.expect(403);
    let wrong = shop.post("/manufacturers", json!({"manufacturer_name": "<b>", "enabled": 7}));
    wrong.send().await.expect(422);

    let seen = ann.get("/").await;
    seen.says(
        "<strong>5</strong> requests to this host, of which it refused <strong>4</strong> and \
         failed <strong>0</strong>",
    );
    let (_, refusals) = seen.html.split_once("<table class=\"refusals\">").unwrap();
    let rows: Vec<&str> = refusals.split("</tr>").filter(|row| row.contains("<td")).collect();
    let has = |row: &str, texts: &[&str]| {
        for text in texts {
            assert!(row.contains(text), "{text:?} is not in {row}");
        }
    };
    has(rows[0], &["422", "invalid_value", "POST /api/index.php/v1/shop/manufacturers"]);
    has(rows[1], &["403", "forbidden", "store.delete on com_shop.products", ">manager<"]);
    has(rows[1], &[refused.header("x-request-id"), "DELETE /api/index.php/v1/shop/products/1"]);
    has(rows[2], &["401", "unauthorised", "Nobody"]);
    assert_eq!(rows.iter().filter(|row| row.contains("<code class=\"id\">")).count(), 3);
}

#[tokio::test]
async fn sales_are_shown_to_who_may_see_them() {
    let shop = shop().await;
    shop.fill().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let report = shop.get("/reports/sales").by(Role::SuperUser).send().await.expect(200);
    let totals = report.json()["meta"]["totals"].as_array().unwrap().clone();
    let sold = totals.iter().filter(|sums| sums["orders"] != 0);
    let seen = ann.get("/").await;
    assert!(sold.clone().count() > 0);
    for sums in sold {
        let text = |name: &str| sums[name].as_str().unwrap().to_owned();
        seen.says(&format!("<th scope=\"row\">{}</th>", text("currency_code")));
        seen.says(&format!("<td data-label=\"Net sales\">{}</td>", text("net_sales")));
    }
    seen.says("<title id=\"sales-");

    // The same rules count as for the API, and the same switch; a token is not needed.
    shop.site.set_enabled(TOKEN_AUTH, false).await.unwrap();
    ann.get("/").await.says("<title id=\"sales-");
    shop.site.set_enabled(TOKEN_AUTH, true).await.unwrap();
    let mut other = Visitor::signed_in(&shop, "administrator").await;
    other.get("/").await.says("<title id=\"sales-");
    shop.site
        .set_rule("Administrator", "store.view", "com_shop.reports", Setting::Deny)
        .await
        .unwrap();
    let seen = other.get("/").await;
    seen.says("You may not see them. You lack the permission store.view on com_shop.reports.");
    assert!(!seen.html.contains("sales-"), "{}", seen.html);
    ann.get("/").await.says("<title id=\"sales-");
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    ann.get("/").await.says("The extension webservices-shop is switched off");
}

#[tokio::test]
async fn a_switch_acts_at_once_and_says_what_it_means() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let ask = || shop.get("/manufacturers").send();
    ask().await.expect(200);
    let routes = plugin::app::describe().routes.len();
    let off = format!("Its {routes} routes are answered with 404. Its data, parameters");
    let seen = ann.get("/extensions").await;
    for text in ["token-auth", "Part of the host", host_interface::CONTRACT_VERSION, &off] {
        seen.says(text);
    }
    seen.says(library().file_name().unwrap().to_str().unwrap());
    ann.get("/extensions/webservices-shop").await.says(library().to_str().unwrap());

    let switch = |name: &str, to: &str| format!("/extensions/{name}/switch-{to}");
    let seen = ann.fill("/extensions", &switch("webservices-shop", "off"), &[]).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/extensions"));
    assert_eq!(ask().await.status, 404);
    let seen = ann.get("/extensions").await;
    seen.says(&format!("webservices-shop is switched off. {off}"));
    seen.says("<span class=\"pill bad\">Switched off</span>");
    // What it has registered can still be read, and what it means is said there too.
    ann.get("/api").await.says("webservices-shop is switched off, so each of these routes");
    let page = "/api/webservices-shop/products.list";
    ann.get(page).await.says("webservices-shop is switched off, so this route");
    ann.post(page, &[]).await.says("404 Not Found");
    ann.get("/extensions/webservices-shop/parameters").await.says("value-store_name");
    ann.fill("/extensions", &switch("webservices-shop", "on"), &[]).await;
    ask().await.expect(200);

    ann.fill("/extensions", &switch("token-auth", "off"), &[]).await;
    ask().await.expect(401);
    ann.get("/extensions").await.says("Nobody gets in to the API: every request is answered");
    ann.post(page, &[]).await.says("200 OK");
    ann.fill("/extensions", &switch("token-auth", "on"), &[]).await;
    ask().await.expect(200);

    for path in ["/extensions/nothing", "/extensions/nothing/parameters"] {
        assert_eq!(ann.get(path).await.status, 404, "{path}");
    }
    for path in ["/extensions/token-auth/parameters", "/extensions/token-auth/routes"] {
        assert_eq!(ann.get(path).await.status, 404, "there are none: {path}");
    }
    ann.get("/extensions").await;
    assert_eq!(ann.post(&switch("nothing", "off"), &[]).await.status, 404);
    ann.html.clear();
    assert_eq!(ann.post(&switch("webservices-shop", "off"), &[]).await.status, 403);

    // Who may not do everything looks on.
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let seen = bob.get("/extensions").await;
    seen.says("Only users with core.admin may use it.");
    assert!(!seen.html.contains("<button class=\"danger\">"));
    assert_eq!(bob.post(&switch("webservices-shop", "off"), &[]).await.status, 403);
    ask().await.expect(200);
}

#[tokio::test]
async fn an_extension_whose_library_is_not_loaded_is_shown_as_such() {
    let database = crate::support::databases::Database::new().await;
    Site::open(&database.address(), &[library()]).await.unwrap().close().await;
    let site = Site::open(&database.address(), &[]).await.unwrap();
    add(&site, "ann", "Super Users").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = site.serve(listener, &ServerSettings::default()).unwrap();
    let mut ann = Visitor::of(&format!("http://{}", running.addr()));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let seen = ann.get("/extensions").await;
    seen.says("<span class=\"pill bad\">Not loaded</span>");
    seen.says("This host has not loaded its library, so it is not in use here");
    ann.get("/extensions/webservices-shop").await.says("Not loaded by this host");
    for path in ["parameters", "routes"] {
        let path = format!("/extensions/webservices-shop/{path}");
        assert_eq!(ann.get(&path).await.status, 404, "{path}");
    }
    ann.get("/api").await.says("No extension that is loaded has a document of its routes.");
    assert_eq!(ann.get("/api/openapi.json").await.status, 404);
    // The switch is the site's: it holds for hosts that have the library.
    let off = "/extensions/webservices-shop/switch-off";
    assert_eq!(ann.fill("/extensions", off, &[]).await.status, 303);
    let shop = site.extensions().await.unwrap().pop().unwrap();
    assert_eq!((shop.name.as_str(), shop.enabled), ("webservices-shop", false));
    running.shutdown().await;
}

#[tokio::test]
async fn parameters_are_saved_together_or_not_at_all() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = "/extensions/webservices-shop/parameters";
    let value = |name: &str| {
        let parameter = shop.site.parameter(name).unwrap();
        (parameter.set, parameter.value.to_string())
    };
    let save = async |ann: &mut Visitor, changes: &[(&str, &str)]| {
        let html = ann.get(page).await.html;
        let fields = parameters(&shop.site, field(&html, "seen").unwrap(), changes);
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        ann.post(page, &fields).await
    };
    let seen = ann.get(page).await;
    for text in [
        "The code of the currency that prices are in.",
        "<code>low_stock_threshold</code>",
        "Not set, so the default is in force.",
        "value=\"1, 2, 7, 8\"",
    ] {
        seen.says(text);
    }

    let wrong = [
        ("store_name", "Lamps"),
        ("default_currency", "XXX"),
        ("initial_order_status", "soon"),
        ("report_statuses", "1, 99"),
        ("low_stock_threshold", "-1"),
        ("order_mail_subject", "{{ order_id"),
    ];
    let seen = save(&mut ann, &wrong).await;
    assert_eq!(seen.status, 422);
    for text in [
        "Nothing was saved. See below.",
        "There is no currency with the code &#34;XXX&#34;.",
        "This is a whole number, at least 1.",
        "There is no order status with the id 99.",
        "This is a whole number, from 0 to 2147483647.",
        "aria-invalid=\"true\" aria-describedby=\"value-report_statuses-fault",
        // What was entered is there still.
        "value=\"Lamps\"",
        "value=\"soon\"",
    ] {
        seen.says(text);
    }
    assert!(shop.site.parameters().iter().all(|parameter| !parameter.set));

    let good = [
        ("store_name", "Lamps & more"),
        ("report_statuses", "1 2,\r\n7"),
        ("order_mail_text", "Hello {{ first_name }},\r\n\r\nit is {{ status }}.\r\n"),
    ];
    let seen = save(&mut ann, &good).await;
    assert_eq!((seen.status, seen.to()), (303, &*format!("/administrator{page}")));
    ann.get(page).await.says("3 parameters are changed, and count from now on.");
    assert_eq!(value("store_name"), (true, "\"Lamps & more\"".to_owned()));
    assert_eq!(value("report_statuses"), (true, "[1,2,7]".to_owned()));
    let text = r#""Hello {{ first_name }},\n\nit is {{ status }}.\n""#;
    assert_eq!(value("order_mail_text"), (true, text.to_owned()));
    assert!(!value("default_currency").0, "a default that is sent back stays one");
    save(&mut ann, &[]).await;
    ann.get(page).await.says("Nothing was changed.");
    assert_eq!(shop.site.parameters().iter().filter(|parameter| parameter.set).count(), 3);

    save(&mut ann, &[("unset", "store_name"), ("unset", "report_statuses")]).await;
    assert_eq!(value("store_name"), (false, "\"Online store\"".to_owned()));
    assert!(!value("report_statuses").0 && value("order_mail_text").0);

    // A form of before does not undo what it does not know.
    let before = ann.get(page).await.html;
    shop.site.set_parameter("low_stock_threshold", &9.into()).await.unwrap();
    let stale = parameters(&shop.site, field(&before, "seen").unwrap(), &[("store_name", "x")]);
    let stale: Vec<(&str, &str)> =
        stale.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let seen = ann.post(page, &stale).await;
    assert_eq!(seen.status, 422);
    seen.says("Somebody has changed these parameters meanwhile.");
    assert!(!value("store_name").0);

    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    bob.get(page).await.says("Only users with core.admin may change parameters.");
    assert_eq!(save(&mut bob, &[("store_name", "x")]).await.status, 403);
    assert!(!value("store_name").0);
}

#[tokio::test]
async fn every_route_of_the_api_has_a_page_and_the_document_can_be_kept() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let all = ann.get("/api").await;
    all.says(">Order history <");
    let routes = plugin::app::describe().routes;
    assert!(!routes.is_empty());
    for route in &routes {
        let page = format!("/api/webservices-shop/{}", route.name);
        all.says(&format!("href=\"/administrator{page}\""));
        let seen = ann.get(&page).await;
        assert_eq!(seen.status, 200, "{page}");
        assert!(seen.html.contains("Any</option>") || !page.ends_with(".list"), "{page}");
    }
    let seen = ann.get("/api/webservices-shop/manufacturers.create").await;
    for text in [
        "/api/index.php/v1/shop/manufacturers",
        "<code>store.create</code> on",
        "&#34;manufacturer_name&#34;: &#34;manufacturer name&#34;",
        "A value breaks a rule.",
        "name=\"sure\" value=\"yes\" required",
    ] {
        seen.says(text);
    }
    let some = ann.get("/api?group=orderhistories").await;
    assert!(some.html.contains("orderhistories.list_of_orders"));
    assert!(!some.html.contains("products.list"));

    let kept = ann.get("/api/openapi.json").await;
    assert_eq!(kept.headers["content-type"], "application/json");
    assert_eq!(kept.headers["content-disposition"], "attachment; filename=\"openapi.json\"");
    assert_eq!(kept.html, shop.site.openapi().unwrap()[0]);
    for missing in [
        "/api?group=nothing",
        "/api/webservices-shop/nothing",
        "/api/nothing/products.list",
        "/api/openapi.json?extension=token-auth",
    ] {
        assert_eq!(ann.get(missing).await.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn a_try_is_answered_as_the_api_answers_anybody() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let total = async || shop.get("/manufacturers").send().await.expect(200).total();
    let route = |name: &str| format!("/api/webservices-shop/manufacturers.{name}");
    let body = r#"{"manufacturer_name": "Birch <b>&</b> Sons"}"#;

    // What changes something is confirmed first.
    let seen = ann.fill(&route("create"), &route("create"), &[("body", body)]).await;
    assert_eq!(seen.status, 422);
    seen.says("Nothing was sent. This changes the real site");
    seen.says("Birch &#60;b&#62;");
    assert_eq!(total().await, 0);
    let seen = ann.post(&route("create"), &[("body", body), ("sure", "yes")]).await;
    assert_eq!(seen.status, 200);
    seen.says("201 Created");
    seen.says("/api/index.php/v1/shop/manufacturers/1");
    assert!(!seen.html.contains("<b>&"), "nothing is taken for a page's own");
    assert_eq!(total().await, 1);

    let fields = [("query-filter[search]", "bir"), ("query-page[limit]", "1")];
    let seen = ann.fill(&route("list"), &route("list"), &fields).await;
    for text in [
        "200 OK",
        "&#34;manufacturer_name&#34;: &#34;Birch &#60;b&#62;&#38;&#60;/b&#62; Sons&#34;",
        "content-type",
        "shop/manufacturers?page%5Blimit%5D=1&#38;filter%5Bsearch%5D=bir&#39;",
        "value=\"bir\"",
    ] {
        seen.says(text);
    }
    for (name, fields, says) in [
        ("list", &[("query-page[limit]", "none")][..], "400 Bad Request"),
        ("show", &[("path-id", "99")], "404 Not Found"),
        ("show", &[("path-id", "../1?x")], "404 Not Found"),
        ("show", &[("path-id", "1")], "200 OK"),
        ("create", &[("body", "{"), ("sure", "yes")], "400 Bad Request"),
        ("create", &[("body", "{\"enabled\": 2}"), ("sure", "yes")], "400 Bad Request"),
        ("delete", &[("path-id", "1"), ("sure", "yes")], "204 No Content"),
        ("delete", &[("path-id", "1"), ("sure", "yes")], "404 Not Found"),
    ] {
        let seen = ann.fill(&route(name), &route(name), fields).await;
        assert_eq!(seen.status, 200, "{name} {fields:?}");
        seen.says(says);
    }
    assert_eq!(total().await, 0);
    assert_eq!(
        audited(&mut ann, "type=manufacturers", 2).await,
        [
            "superuser session: Delete manufacturers.delete: manufacturers 1",
            "superuser session: Add manufacturers.create: manufacturers 1",
        ],
        "once each"
    );

    // It is the user who has signed in who asks, not whoever made the page.
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    bob.fill(&route("list"), &route("list"), &[]).await.says("200 OK");
    shop.site
        .set_rule("Administrator", "store.view", "com_shop.manufacturers", Setting::Deny)
        .await
        .unwrap();
    bob.get(&route("list")).await.says("<span class=\"unseen\">: why?</span>");
    let seen = bob.post(&route("list"), &[]).await;
    seen.says("403 Forbidden");
    seen.says("You lack the permission store.view on com_shop.manufacturers.");
    ann.fill(&route("list"), &route("list"), &[]).await.says("200 OK");
    shop.site.set_rule("Administrator", "core.login.api", "root", Setting::Deny).await.unwrap();
    bob.fill(&route("list"), &route("list"), &[]).await.says("401 Unauthorized");

    // Nor does another site ask for them.
    let fields = [("path-id", "1"), ("sure", "yes")];
    ann.get(&route("delete")).await;
    let mut foreign = ann.with("sec-fetch-site", "cross-site");
    assert_eq!(foreign.post(&route("delete"), &fields).await.status, 403);
}

/// A session outlives a restart of the host, as it lives in the database.
#[tokio::test]
async fn the_administration_is_unavailable_and_not_open_while_the_site_is_closed() {
    let database = crate::support::databases::Database::new().await;
    let site = Site::open(&database.address(), &[library()]).await.unwrap();
    add(&site, "ann", "Super Users").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = site.serve(listener, &ServerSettings::default()).unwrap();
    let mut ann = Visitor::of(&format!("http://{}", running.addr()));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    assert!(ann.is_in().await);
    site.close().await;
    let seen = ann.get("/users").await;
    assert_eq!(seen.status, 503);
    assert!(seen.headers.contains_key("retry-after"));
    seen.says("does not answer");
    let answer = Answer::to(ann.client.get(format!("{}/health", ann.origin))).await;
    assert_eq!(answer.status, 503);
    running.shutdown().await;
}

#[tokio::test]
async fn a_form_has_a_limit_for_whoever_has_signed_in_too() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = "/groups/new";
    let fill = async |ann: &mut Visitor, length: usize| {
        ann.fill(page, page, &[("title", &*"x".repeat(length))]).await.status
    };
    assert_eq!(fill(&mut ann, 100_000).await, 422, "it is read, and too long for a title");
    assert_eq!(fill(&mut ann, 300_000).await, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_whose_browser_leaves_is_in_the_audit_trail_if_it_was_done() {
    let shop = shop().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let route = "/api/webservices-shop/manufacturers.create";
    ann.get(route).await;
    for number in 0..20 {
        let body = json!({"manufacturer_name": format!("m{number}")}).to_string();
        let fields = [("body", &*body), ("sure", "yes")];
        let after = Duration::from_micros(number * 1_000);
        // Either it is answered by then or the browser has gone.
        let _ = tokio::time::timeout(after, ann.post(route, &fields)).await;
    }
    ann.fill(route, route, &[("body", "{\"manufacturer_name\": \"last\"}"), ("sure", "yes")]).await;
    for _ in 0..200 {
        let list = shop.get("/manufacturers?page[limit]=50").send().await.expect(200);
        let seen = ann.get("/audit?type=manufacturers&origin=administration").await;
        if changes(&seen.html).len() == list.ids().len() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("what is there is not what is in the audit trail: {:?}", changes(&ann.html));
}
