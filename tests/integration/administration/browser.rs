//! The administration in a real browser: what needs one, such as scripts and the keyboard, and every page in the
//! widths of a desktop and a phone, light and dark, checked by axe. What a page does is tested by programs.
//!
//! `TEST_BROWSER` is the folder that `tests/browser/prepare.sh` prepares. `tests/browser/pictures.py` takes the
//! pictures in the documents.

use example_host::{Force, NewToken};
use fantoccini::Locator;
use serde_json::json;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

use crate::support::browser::{Browser, DESK, LOOKS};
use crate::support::harness::{Role, Shop};
use crate::support::review::Review;
use crate::support::visitor::{PASSWORD, id};

/// Makes the last entry of the password expire.
const LATE: &str = "UPDATE host_sessions SET confirmed_on = '2020-01-01T00:00:00'";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_user_signs_in_and_out_with_the_keyboard_only() {
    let shop = Shop::open().await;
    let browser = Browser::open(&shop, DESK).await;
    browser.goto("/users").await;
    browser.is_at("Sign in").await;
    browser.sign_in("superuser", "not the password").await;
    assert_eq!(browser.text("[role=alert]").await, "The username or the password is wrong.");

    let type_on = async |text: &str| {
        browser.client.active_element().await.unwrap().send_keys(text).await.unwrap();
    };
    browser.goto("/users").await;
    type_on("\u{e004}").await;
    assert_eq!(browser.script("return document.activeElement.hash").await, "#content");
    type_on("\u{e004}").await;
    type_on("superuser\u{e004}").await;
    type_on(PASSWORD).await;
    type_on("\u{e007}").await;
    browser.client.wait().for_element(Locator::Css("nav [aria-current]")).await.unwrap();
    browser.is_at("Users").await;
    // The link past the navigation comes first.
    type_on("\u{e004}").await;
    type_on("\u{e007}").await;
    assert_eq!(browser.script("return document.activeElement.id").await, "content");
    browser.press("Sign out").await;
    assert_eq!(browser.text("[role=status]").await, "You have signed out.");
    browser.goto("/users").await;
    browser.is_at("Sign in").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_token_is_generated_in_its_tab_and_used_with_the_api() {
    let shop = Shop::open().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    browser.press("Users").await;
    browser.is_at("Users").await;
    browser.fill("search", "MANAG").await;
    browser.press("Show").await;
    assert_eq!(browser.text("form.filter > a").await, "All users");
    browser.press("manager").await;
    browser.is_at("manager").await;
    browser.press_on(".tabs a[href$='/token']").await;
    browser.says(".tabs [aria-current]", "API tokens").await;
    browser.press("Generate").await;
    let token = browser.text("#token").await;
    assert!(browser.text("#command").await.contains(&token));
    browser.press("Copy the token").await;
    browser
        .client
        .wait()
        .for_element(Locator::XPath("//button[.='Copied' or .='Press Ctrl+C']"))
        .await
        .unwrap();

    let ask = || shop.get("/manufacturers").header("authorization", &format!("Bearer {token}"));
    ask().send().await.expect(200);
    browser.press("User").await;
    browser.says(".tabs [aria-current]", "User").await;
    browser.press_on(".tabs a[href$='/token']").await;
    browser.says(".tabs [aria-current]", "API tokens").await;
    assert!(!browser.client.source().await.unwrap().contains(&token), "shown only once");
    // After some absence, the password is asked for, and the task continues afterwards.
    shop.database.execute(LATE).await;
    browser.press_on("form[action$='/revoke'] button").await;
    browser.is_at("Confirm your password").await;
    ask().send().await.expect(200);
    browser.fill("confirmation", PASSWORD).await;
    browser.press("Confirm and continue").await;
    browser.says("[role=status]", "Token default was revoked.").await;
    ask().send().await.expect(401);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_signed_in_user_tries_a_route() {
    let shop = Shop::open().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    let total = async || shop.get("/manufacturers").send().await.expect(200).total();
    browser.press("API").await;
    browser.is_at("API").await;
    browser.press_on("main a[href$='group=manufacturers']").await;
    browser.press_on("a[href$='manufacturers.create']").await;
    browser.is_at("Create one manufacturer").await;
    browser.fill("body", "{\"manufacturer_name\": \"Birch\"}").await;
    browser.press("Send").await;
    // The browser itself does not send an unconfirmed form.
    assert_eq!(total().await, 0);
    browser.press_on("#sure").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "201 Created").await;
    assert_eq!(total().await, 1);
    assert!(browser.text("#document").await.contains("\"manufacturer_name\": \"Birch\""));

    browser.goto("/api/webservices-shop/manufacturers.update").await;
    browser.fill("path-id", "1").await;
    browser.fill("header-If-Match", "\"2\"").await;
    browser.fill("body", "{\"manufacturer_name\": \"Beech\"}").await;
    browser.press_on("#sure").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "412 Precondition Failed").await;
    browser.fill("header-If-Match", "\"1\"").await;
    browser.press_on("#sure").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "200 OK").await;

    browser.goto("/api/webservices-shop/manufacturers.list").await;
    browser.choose("[name='query-list[direction]']", "desc").await;
    browser.fill("query-page[limit]", "5").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "200 OK").await;
    browser.press("The same request with curl").await;
    let command = browser.text("#command").await;
    assert!(command.ends_with("page%5Blimit%5D=5&list%5Bdirection%5D=desc'"), "{command}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_record_is_found_with_the_keyboard_only() {
    let shop = Shop::open().await;
    shop.create("/products", json!({"product_name": "Lamp", "sku": "L-1", "price": "5"})).await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    let type_on = async |text: &str| {
        browser.client.active_element().await.unwrap().send_keys(text).await.unwrap();
    };
    type_on("/").await;
    assert_eq!(browser.script("return document.activeElement.id").await, "everywhere");
    // In a field it is a character like any other.
    type_on("L/1").await;
    assert_eq!(browser.script("return document.activeElement.value").await, "L/1");
    type_on("\u{e003}\u{e003}-1\u{e007}").await;
    browser.is_at("Lamp").await;
    browser.press_on(".tabs a[href$='tab=variants']").await;
    browser.says(".tabs [aria-current]", "Variants").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn only_copying_needs_a_script() {
    let shop = Shop::open().await;
    let browser = Browser::without_scripts_of(&shop, "superuser", DESK).await;

    browser.goto(&format!("/users/{}/token", id(&shop.site, "manager").await)).await;
    browser.press("Generate").await;
    let token = browser.text("#token").await;
    let copy = browser.client.find(Locator::Css("[data-copies=token]")).await.unwrap();
    assert!(!copy.is_displayed().await.unwrap(), "no button without a function is shown");
    let ask = || shop.get("/products").header("authorization", &format!("Bearer {token}"));
    ask().send().await.expect(200);

    browser.goto("/permissions?asset=com_shop.products").await;
    browser.choose("[name='store.view-3']", "deny").await;
    browser.press("Save").await;
    assert!(browser.text("[role=status]").await.contains("One rule for com_shop.products"));
    ask().send().await.expect(403);

    browser.goto("/extensions/webservices-shop/parameters").await;
    browser.fill("value-store_name", "Lamps").await;
    browser.press("Save").await;
    browser.says("[role=status]", "Store name was changed and is now in effect.").await;
    browser.goto("/api/webservices-shop/products.list").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "200 OK").await;
    browser.goto("/extensions/webservices-shop").await;
    browser.press("Disable").await;
    assert!(browser.text("[role=status]").await.starts_with("webservices-shop was disabled."));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn every_control_is_reached_with_the_keyboard() {
    let shop = Shop::open().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    let mut review = Review::begin();
    for (page, path) in pages(&shop).await {
        browser.goto(&path).await;
        review.reach(&browser, page).await;
    }
    browser.close().await;
    review.passes();
}

/// Every page, by the name of its picture.
async fn pages(shop: &Shop) -> Vec<(&'static str, String)> {
    let (boss, manager) = (id(&shop.site, "superuser").await, id(&shop.site, "manager").await);
    let blocked = id(&shop.site, "registered").await;
    // The first one, called default, is replaced between the looks.
    let rotated = shop.site.tokens("manager").await.unwrap().pop().unwrap().id;
    vec![
        ("dashboard", "/".to_owned()),
        ("users", "/users".to_owned()),
        ("users-none", "/users?search=nobody".to_owned()),
        ("user-new", "/users/new".to_owned()),
        ("user", format!("/users/{manager}")),
        ("user-blocked", format!("/users/{blocked}")),
        ("user-own", format!("/users/{boss}")),
        ("user-token", format!("/users/{manager}/token")),
        ("user-token-none", format!("/users/{boss}/token")),
        ("user-token-new", format!("/users/{manager}/token/new")),
        ("user-token-rotate", format!("/users/{manager}/token/{rotated}/rotate")),
        ("user-token-blocked", format!("/users/{blocked}/token")),
        ("user-permissions", format!("/users/{manager}/permissions")),
        ("user-delete", format!("/users/{manager}/delete")),
        ("tokens", "/tokens".to_owned()),
        ("groups", "/groups".to_owned()),
        ("group-new", "/groups/new".to_owned()),
        ("group", "/groups/3".to_owned()),
        ("group-delete", "/groups/3/delete".to_owned()),
        ("permissions", "/permissions".to_owned()),
        ("permissions-root", "/permissions?asset=root".to_owned()),
        ("why", "/permissions/why".to_owned()),
        ("why-missing", "/permissions/why?user=x&action=core.admin&asset=root".to_owned()),
        (
            "why-answered",
            "/permissions/why?user=manager&action=store.view&asset=com_shop.products".to_owned(),
        ),
        (
            "why-token",
            "/permissions/why?user=manager&token=Till+4&action=store.edit&asset=com_shop.products"
                .to_owned(),
        ),
        ("extensions", "/extensions".to_owned()),
        ("extension", "/extensions/webservices-shop".to_owned()),
        ("extension-built-in", "/extensions/token-auth".to_owned()),
        ("extension-routes", "/extensions/webservices-shop/routes".to_owned()),
        ("extension-parameters", "/extensions/webservices-shop/parameters".to_owned()),
        ("api", "/api".to_owned()),
        ("api-group", "/api?group=orders".to_owned()),
        ("api-list", "/api/webservices-shop/products.list".to_owned()),
        ("api-create", "/api/webservices-shop/orders.create".to_owned()),
        ("api-delete", "/api/webservices-shop/orders.delete".to_owned()),
        ("import", "/import".to_owned()),
        ("export", "/export".to_owned()),
        ("records", "/records/webservices-shop/products".to_owned()),
        ("records-none", "/records/webservices-shop/orders?filter[search]=nothing".to_owned()),
        ("records-report", "/records/webservices-shop/reports-sales".to_owned()),
        ("record", "/records/webservices-shop/orders/3".to_owned()),
        ("record-items", "/records/webservices-shop/orders/3?tab=items".to_owned()),
        ("record-long", "/records/webservices-shop/products/7".to_owned()),
        ("search", "/search?q=lamp".to_owned()),
        ("search-none", "/search?q=nothing+of+that+name".to_owned()),
        ("audit", "/audit".to_owned()),
        ("audit-some", "/audit?origin=api&type=products&since=2026-01-01".to_owned()),
        ("audit-none", "/audit?user=nobody".to_owned()),
        ("audit-record", "/audit?type=products&id=7".to_owned()),
        ("account", "/account".to_owned()),
        ("second-factor-new", "/account/second-factor".to_owned()),
        ("missing", "/nothing".to_owned()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn every_page_is_accessible_at_each_width_and_in_each_colour_scheme() {
    let shop = Shop::open().await;
    shop.fill().await;
    shop.site.block_user("registered", Force::No).await.unwrap();
    busy(&shop).await;
    shop.site.set_parameter("store_name", &"Lamps and more".into()).await.unwrap();
    shop.site.set_parameter("order_mail_text", &"{{ status }}".into()).await.unwrap();
    limited_tokens(&shop).await;
    let manager = id(&shop.site, "manager").await;
    let pages = pages(&shop).await;
    let mut review = Review::begin();
    for look in LOOKS {
        let browser = Browser::open(&shop, look).await;
        browser.goto("/").await;
        let mut check = async |page: &str| review.look(&browser, page).await;
        check("sign-in").await;
        browser.sign_in("superuser", "not the password").await;
        check("sign-in-wrong").await;
        browser.sign_in("superuser", PASSWORD).await;
        browser.is_at("Dashboard").await;
        for (page, path) in &pages {
            browser.goto(path).await;
            check(page).await;
        }
        browser.goto(&format!("/users/{manager}/token")).await;
        shop.database.execute(LATE).await;
        browser.press("Generate").await;
        browser.is_at("Confirm your password").await;
        check("confirm").await;
        browser.fill("confirmation", "not the password").await;
        browser.press("Confirm and continue").await;
        browser.text("#confirmation-fault").await;
        check("confirm-wrong").await;
        browser.fill("confirmation", PASSWORD).await;
        browser.press("Confirm and continue").await;
        browser.text("#token").await;
        check("user-token-made").await;
        browser.goto(&format!("/users/{manager}/token/new")).await;
        browser.fill("name", "Default").await;
        browser.fill("addresses", "10.0.0.0/8\nmy till").await;
        browser.press("Create the token").await;
        browser.text("#scopes-fault").await;
        check("user-token-new-faulty").await;
        browser.goto("/users/new").await;
        browser.fill("username", "Manager").await;
        browser.fill("email", "manager@example.com").await;
        browser.press("Add the user").await;
        browser.text("#groups-fault").await;
        check("user-new-faulty").await;
        browser.goto("/extensions/webservices-shop/parameters").await;
        browser.fill("value-default_currency", "XXX").await;
        browser.press("Save").await;
        browser.text("#value-default_currency-fault").await;
        check("extension-parameters-faulty").await;
        browser.goto("/api/webservices-shop/manufacturers.list").await;
        browser.fill("query-page[limit]", "2").await;
        browser.press("Send").await;
        browser.says("#answer .pill", "200 OK").await;
        check("api-tried").await;
        browser.goto("/api/webservices-shop/orders.delete").await;
        browser.fill("path-id", "999999").await;
        browser.press_on("#sure").await;
        browser.press("Send").await;
        browser.says("#answer .pill", "404 Not Found").await;
        check("api-refused").await;
        shop.site.set_enabled("webservices-shop", false).await.unwrap();
        for (page, path) in [
            ("extensions-off", "/extensions"),
            ("api-off", "/api"),
            ("api-list-off", "/api/webservices-shop/products.list"),
        ] {
            browser.goto(path).await;
            check(page).await;
        }
        shop.site.set_enabled("webservices-shop", true).await.unwrap();
        browser.close().await;
    }
    review.passes();
}

/// Gives a user tokens in each state.
async fn limited_tokens(shop: &Shop) {
    let scopes =
        ["orders:view", "orders:edit", "inventory:view", "inventory:edit", "products:view"];
    let scopes = Some(scopes.map(str::to_owned).to_vec());
    let addresses = ["192.0.2.0/24", "2001:db8::/32"].map(|range| range.parse().unwrap()).to_vec();
    let expires_on = |days| {
        let moment = OffsetDateTime::now_utc() + Duration::days(days);
        Some(PrimitiveDateTime::new(moment.date(), moment.time()))
    };
    let till = NewToken {
        name: "Till 4".to_owned(),
        scopes: scopes.clone(),
        expires_on: expires_on(9),
        addresses,
        rate: Some(120),
    };
    let report = NewToken {
        name: "Monthly report".to_owned(),
        scopes: Some(vec!["*:view".to_owned()]),
        expires_on: expires_on(200),
        ..NewToken::default()
    };
    let old = NewToken { name: "Old importer".to_owned(), scopes, ..NewToken::default() };
    for new in [till, report, old] {
        shop.site.create_token("manager", &new).await.unwrap();
    }
    let overlap = std::time::Duration::from_secs(24 * 60 * 60);
    shop.site.rotate_token("manager", "Monthly report", overlap, None).await.unwrap();
    let old = "UPDATE host_api_tokens SET created_on = '2020-01-01T00:00:00', \
         expires_on = '2021-01-01T00:00:00' WHERE name = 'Old importer'";
    shop.database.execute(old).await;
}

/// Sends requests to the API, some of them wrong.
async fn busy(shop: &Shop) {
    for number in 0..30 {
        shop.get("/products").send().await.expect(200);
        let price = json!({"price": format!("{number}.50")});
        shop.patch("/products/7", price).by(Role::Manager).send().await.expect(200);
    }
    let long = "Found to be broken after delivery, ".repeat(7);
    for (delta, reason) in [(12, "Counted"), (-3, &*long)] {
        let body = json!({"quantity_delta": delta, "reason": reason, "reference": "Till 4"});
        shop.post("/inventory/8/adjust", body).by(Role::Manager).send().await.expect(200);
    }
    shop.create("/manufacturers", json!({"manufacturer_name": "Weiß & Söhne"})).await;
    shop.get("/orders").by(Role::Nobody).send().await.expect(401);
    shop.delete("/products/7").by(Role::Manager).send().await.expect(403);
    shop.get("/nothing").send().await.expect(404);
    let wrong = json!({"zone_nmae": "Zug", "zone_code": 7, "country_id": 100_000});
    shop.post("/zones", wrong).send().await.expect(400);
    let wrong = json!({"currency_title": "Euro again", "currency_code": "EUR"});
    shop.post("/currencies", wrong).send().await.expect(422);
}
