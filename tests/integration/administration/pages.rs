//! Every page of the administration as a program reads it: who may open it, its security headers,
//! and the content of the dashboard. Tests in a real browser are in `browser.rs`.

use std::collections::BTreeSet;

use example_host::{Force, ServerSettings, Setting, Site, TOKEN_AUTH};
use host_interface::with_separators;
use reqwest::header::HeaderValue;
use serde_json::json;

use crate::support::harness::{Answer, Role, Shop, library};
use crate::support::process::Place;
use crate::support::visitor::{PASSWORD, Visitor, add};

const PAGES: [&str; 34] = [
    "/",
    "/users",
    "/users/new",
    "/users/5",
    "/users/5/token",
    "/users/5/token/new",
    "/users/5/token/5/rotate",
    "/users/5/permissions",
    "/users/5/delete",
    "/tokens",
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
    "/import",
    "/export",
    "/records/webservices-shop/products",
    "/records/webservices-shop/currencies/1",
    "/records/webservices-shop/countries/1?tab=zones",
    "/search?q=euro",
    "/audit",
    "/audit?type=inventory&id=1",
    "/privacy",
    "/account",
];

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn every_page_requires_signing_in() {
    let shop = Shop::open().await;
    let mut nobody = Visitor::of(&shop.url(""));
    for path in PAGES {
        let seen = nobody.get(path).await;
        assert_eq!(seen.status, 303, "{path}");
        assert!(seen.to().starts_with("/administrator/sign-in"), "{path}: {}", seen.to());
        assert_eq!(seen.html, "");
        let seen = nobody.post(path, &[]).await;
        assert_eq!((seen.status, seen.to()), (303, "/administrator/sign-in"), "{path}");
    }
    // The requested page is remembered; a page of another site cannot be.
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
async fn the_headers_of_every_page_restrict_what_it_can_do() {
    let shop = Shop::open().await;
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_dashboard_shows_requests_and_refusals_of_the_api() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let seen = ann.get("/").await;
    seen.says("All systems work");
    seen.says("Requests to this host: <strong>0</strong> in total");
    seen.says("No request has been refused");
    seen.says("Nothing was sold.");
    // Without any request, each minute has a bar of zero and the charts have their scale.
    assert_eq!(seen.html.matches("<rect class=\"zero\"").count(), 2 * 60);
    assert_eq!(seen.html.matches("<span class=\"most\">Highest: 0 a minute</span>").count(), 2);
    shop.get("/products").send().await.expect(200);
    shop.get("/products").by(Role::Nobody).send().await.expect(401);
    shop.get("/nothing").send().await.expect(404);
    let refused = shop.delete("/products/1").by(Role::Manager);
    let refused = refused.send().await.expect(403);
    let wrong = shop.post("/manufacturers", json!({"manufacturer_name": "<b>", "enabled": 7}));
    wrong.send().await.expect(422);

    let seen = ann.get("/").await;
    seen.says(
        "Requests to this host: <strong>5</strong> in total, <strong>4</strong> refused, \
         <strong>0</strong> failed",
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
    has(rows[2], &["401", "unauthorised", "Unknown"]);
    assert_eq!(rows.iter().filter(|row| row.contains("<code class=\"id\">")).count(), 3);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn sales_are_shown_to_users_with_permission_to_see_them() {
    let shop = Shop::open().await;
    shop.fill().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let report = shop.get("/reports/sales").by(Role::SuperUser).send().await.expect(200);
    let totals = report.json()["meta"]["totals"].as_array().unwrap().clone();
    let sold = totals.iter().filter(|sums| sums["orders"] != 0);
    let seen = ann.get("/").await;
    let mut long = false;
    for sums in sold {
        let text = |name: &str| sums[name].as_str().unwrap().to_owned();
        seen.says(&format!(">{}</a></th>", text("currency_code")));
        let net = with_separators(text("net_sales"));
        seen.says(&format!("<td data-label=\"Net sales\">{net}</td>"));
        long |= net.contains(',');
    }
    assert!(long, "one of the sums has separators");
    seen.says("<title id=\"webservices-shop-sales-");

    // The same permissions apply as for the API, and disabling the extension has the same effect; a
    // token is not needed.
    shop.site.set_enabled(TOKEN_AUTH, false).await.unwrap();
    ann.get("/").await.says("<title id=\"webservices-shop-sales-");
    shop.site.set_enabled(TOKEN_AUTH, true).await.unwrap();
    let mut other = Visitor::signed_in(&shop, "administrator").await;
    other.get("/").await.says("<title id=\"webservices-shop-sales-");
    shop.site
        .set_rule("Administrator", "store.view", "com_shop.reports", Setting::Deny, Force::No)
        .await
        .unwrap();
    let seen = other.get("/").await;
    seen.says("You lack the permission store.view on com_shop.reports.");
    assert!(!seen.html.contains("shop-sales-"), "{}", seen.html);
    ann.get("/").await.says("<title id=\"webservices-shop-sales-");
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    ann.get("/").await.says("The extension webservices-shop is disabled");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn panels_of_any_extension_are_drawn() {
    let place = Place::of_the_fixture();
    let add = place.call("user add ann --email ann@example.com --password-stdin --group");
    add.word("Super Users").input(&format!("{PASSWORD}\n")).finish().await.succeeds();
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let seen = ann.get("/").await;
    seen.says("<h2 id=\"misbehaves-weather\">The &#60;b&#62;weather&#60;/b&#62;</h2>");
    seen.says("<h3>Degrees</h3>");
    seen.says("<polyline class=\"line\" points=\"5,0 15,100\"/>");
    seen.says("<title>4 May: -2 degrees</title>");
    seen.says("<span class=\"most\">Highest: 10.5 degrees</span>");
    seen.says("<td data-label=\"Sky\" class=\"words\">&#60;i&#62;blue&#60;/i&#62;</td>");
    seen.says("<p class=\"hint\">Nobody knows why.</p>");
    // A panel that fails or panics does not affect the rest of the page, and its message goes to
    // the log only.
    let failed = "<p class=\"hint\">The extension misbehaves cannot show this now.</p>";
    assert_eq!(seen.html.matches(failed).count(), 2, "{}", seen.html);
    assert!(!seen.html.contains("the secret of"), "{}", seen.html);
    served.log.wait_for("the secret of the panel").await;
    seen.says("You lack the permission fixture.touch on com_fixture.");
    served.stop().await;
}

/// A session survives a restart of the host, because it is stored in the database.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_administration_is_unavailable_while_the_site_is_closed() {
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn forms_of_signed_in_users_have_a_size_limit() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = "/groups/new";
    let fill = async |ann: &mut Visitor, length: usize| {
        ann.fill(page, page, &[("title", &*"x".repeat(length))]).await.status
    };
    assert_eq!(fill(&mut ann, 100_000).await, 422, "the form is read, but the title is too long");
    assert_eq!(fill(&mut ann, 300_000).await, 413);
}
