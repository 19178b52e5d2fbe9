//! The pages about the API: every route with its description, and a form that sends requests to it.

use example_host::{Force, Setting};
use serde_json::json;

use super::audit_trail::audited;
use crate::support::harness::Shop;
use crate::support::visitor::{PASSWORD, Visitor};

#[tokio::test]
async fn every_route_of_the_api_has_a_page_and_the_document_can_be_downloaded() {
    let shop = Shop::open().await;
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
        // The order of the pick list is fixed, and that of refunds.
        let fixed = ["orderfulfilments.list", "orderrefunds.list"].contains(&&*route.name);
        let ordered = page.ends_with(".list") && !fixed;
        assert!(seen.html.contains("Any</option>") || !ordered, "{page}");
    }
    let seen = ann.get("/api/webservices-shop/manufacturers.create").await;
    for text in [
        "/api/index.php/v1/shop/manufacturers",
        "<code>store.create</code> on",
        "The name of the manufacturer. (string, up to 255 characters)",
        "&#34;manufacturer_name&#34;: &#34;Birch and Oak&#34;",
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
async fn a_tried_request_has_the_headers_that_were_entered() {
    let shop = Shop::open().await;
    shop.site.set_parameter("require_if_match", &json!(1)).await.unwrap();
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let route = |name: &str| format!("/api/webservices-shop/manufacturers.{name}");
    let create = [
        ("header-Idempotency-Key", "once"),
        ("body", r#"{"manufacturer_name": "Birch"}"#),
        ("sure", "yes"),
    ];
    let seen = ann.fill(&route("create"), &route("create"), &create).await;
    seen.says("201 Created");
    assert!(!seen.html.contains("idempotent-replayed"));
    let seen = ann.post(&route("create"), &create).await;
    seen.says("201 Created");
    seen.says("idempotent-replayed");
    assert_eq!(shop.get("/manufacturers").send().await.expect(200).total(), 1);

    for (version, says) in [
        ("", "428 Precondition Required"),
        ("\"2\"", "412 Precondition Failed"),
        ("\"1\"", "200 OK"),
        ("\"1\"", "412 Precondition Failed"),
    ] {
        let fields = [
            ("path-id", "1"),
            ("header-If-Match", version),
            ("body", r#"{"manufacturer_name": "Beech"}"#),
            ("sure", "yes"),
        ];
        let seen = ann.fill(&route("update"), &route("update"), &fields).await;
        assert_eq!(seen.status, 200, "{version}");
        seen.says(says);
        // The command sends what the form has sent.
        let sent = seen.html.contains("-H &#39;If-Match: &#34;");
        assert_eq!(sent, !version.is_empty(), "{version}: {}", seen.html);
    }
    let (update, stray) = (route("update"), "\"1\"\nhost: elsewhere.example");
    let fields = [("path-id", "1"), ("header-If-Match", stray), ("sure", "yes")];
    assert_eq!(ann.fill(&update, &update, &fields).await.status, 303);
    ann.get(&update).await.says("The values entered do not form a valid address or header.");
}

#[tokio::test]
async fn a_tried_request_gets_the_same_answer_as_any_other() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let total = async || shop.get("/manufacturers").send().await.expect(200).total();
    let route = |name: &str| format!("/api/webservices-shop/manufacturers.{name}");
    let body = r#"{"manufacturer_name": "Birch <b>&</b> Sons"}"#;

    // A request that changes something must be confirmed first.
    let seen = ann.fill(&route("create"), &route("create"), &[("body", body)]).await;
    assert_eq!(seen.status, 422);
    seen.says("Nothing was sent. This changes the real site");
    seen.says("Birch &#60;b&#62;");
    assert_eq!(total().await, 0);
    let seen = ann.post(&route("create"), &[("body", body), ("sure", "yes")]).await;
    assert_eq!(seen.status, 200);
    seen.says("201 Created");
    seen.says("/api/index.php/v1/shop/manufacturers/1");
    assert!(!seen.html.contains("<b>&"), "foreign text is escaped");
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
        (
            "delete",
            &[("path-id", "1"), ("header-If-Match", "\"9\""), ("sure", "yes")],
            "412 Precondition Failed",
        ),
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

    // The request is sent as the signed-in user.
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    bob.fill(&route("list"), &route("list"), &[]).await.says("200 OK");
    shop.site
        .set_rule("Administrator", "store.view", "com_shop.manufacturers", Setting::Deny, Force::No)
        .await
        .unwrap();
    bob.get(&route("list")).await.says("<span class=\"unseen\">: why?</span>");
    let seen = bob.post(&route("list"), &[]).await;
    seen.says("403 Forbidden");
    seen.says("You lack the permission store.view on com_shop.manufacturers.");
    ann.fill(&route("list"), &route("list"), &[]).await.says("200 OK");
    shop.site
        .set_rule("Administrator", "core.login.api", "root", Setting::Deny, Force::No)
        .await
        .unwrap();
    bob.fill(&route("list"), &route("list"), &[]).await.says("401 Unauthorized");

    // Forms from other sites are refused, too.
    let fields = [("path-id", "1"), ("sure", "yes")];
    ann.get(&route("delete")).await;
    let mut foreign = ann.with("sec-fetch-site", "cross-site");
    assert_eq!(foreign.post(&route("delete"), &fields).await.status, 403);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_person_is_not_erased_in_a_session_that_was_left_open() {
    let shop = Shop::open().await;
    let order = json!({
        "user_email": "quinx@example.com", "billing_last_name": "Quinx", "order_state_id": 8,
        "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}],
    });
    shop.create("/orders", order).await;
    let orders = async || shop.get("/orders?filter[search]=quinx").send().await.expect(200).total();
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    shop.database.execute("UPDATE host_sessions SET confirmed_on = '2020-01-01T00:00:00'").await;
    let page = "/api/webservices-shop/privacy.erase";
    let body = r#"{"email": "quinx@example.com", "reason": "asked", "force": 1}"#;
    let fields = [("body", body), ("sure", "yes")];
    let seen = ann.fill(page, page, &fields).await;
    assert_eq!(seen.status, 403);
    seen.says("<h1>Confirm your password</h1>");
    assert_eq!(orders().await, 1, "nothing was sent");
    let wrong = [&fields[..], &[("confirmation", "not the password")]].concat();
    assert_eq!(ann.post(page, &wrong).await.status, 422);
    assert_eq!(orders().await, 1, "nothing was sent");
    // Other routes do not need it.
    let create = "/api/webservices-shop/manufacturers.create";
    let other = [("body", r#"{"manufacturer_name": "Birch"}"#), ("sure", "yes")];
    ann.fill(create, create, &other).await.says("201 Created");

    ann.get(page).await;
    let right = [&fields[..], &[("confirmation", PASSWORD)]].concat();
    let seen = ann.post(page, &right).await;
    assert_eq!(seen.status, 200);
    seen.says("200 OK");
    assert_eq!(orders().await, 0);
}
