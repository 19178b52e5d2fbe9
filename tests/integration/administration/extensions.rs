//! Extensions and their parameters in the administration.

use example_host::{ServerSettings, Site};

use crate::support::harness::{Shop, library};
use crate::support::visitor::{PASSWORD, Visitor, add, field, parameters};

#[tokio::test]
async fn switching_an_extension_takes_effect_at_once_and_is_explained() {
    let shop = Shop::open().await;
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

    let switch = |name: &str, to: &str| format!("/extensions/{name}/{to}");
    let seen = ann.fill("/extensions", &switch("webservices-shop", "disable"), &[]).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/extensions"));
    assert_eq!(ask().await.status, 404);
    let seen = ann.get("/extensions").await;
    seen.says(&format!("webservices-shop was disabled. {off}"));
    seen.says("<span class=\"pill bad\">Disabled</span>");
    // Its routes can still be read, with an explanation.
    ann.get("/api").await.says("webservices-shop is disabled, so requests to these routes");
    let page = "/api/webservices-shop/products.list";
    ann.get(page).await.says("webservices-shop is disabled, so requests to this route");
    ann.post(page, &[]).await.says("404 Not Found");
    ann.get("/extensions/webservices-shop/parameters").await.says("value-store_name");
    ann.fill("/extensions", &switch("webservices-shop", "enable"), &[]).await;
    ask().await.expect(200);

    ann.fill("/extensions", &switch("token-auth", "disable"), &[]).await;
    ask().await.expect(401);
    ann.get("/extensions").await.says("No user has access to the API: every request is answered");
    ann.post(page, &[]).await.says("200 OK");
    ann.fill("/extensions", &switch("token-auth", "enable"), &[]).await;
    ask().await.expect(200);

    for path in ["/extensions/nothing", "/extensions/nothing/parameters"] {
        assert_eq!(ann.get(path).await.status, 404, "{path}");
    }
    for path in ["/extensions/token-auth/parameters", "/extensions/token-auth/routes"] {
        assert_eq!(ann.get(path).await.status, 404, "there are none: {path}");
    }
    ann.get("/extensions").await;
    assert_eq!(ann.post(&switch("nothing", "disable"), &[]).await.status, 404);
    ann.html.clear();
    assert_eq!(ann.post(&switch("webservices-shop", "disable"), &[]).await.status, 403);

    // A user without the permission to change it can only see it.
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let seen = bob.get("/extensions").await;
    seen.says("Only users with core.admin may enable or disable them.");
    assert!(!seen.html.contains("<button class=\"danger\">"));
    assert_eq!(bob.post(&switch("webservices-shop", "disable"), &[]).await.status, 403);
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
    ann.get("/api").await.says("No loaded extension has an OpenAPI document.");
    assert_eq!(ann.get("/api/openapi.json").await.status, 404);
    // The state belongs to the site: it applies to hosts that have loaded the library.
    let off = "/extensions/webservices-shop/disable";
    assert_eq!(ann.fill("/extensions", off, &[]).await.status, 303);
    let shop = site.extensions().await.unwrap().pop().unwrap();
    assert_eq!((shop.name.as_str(), shop.enabled), ("webservices-shop", false));
    running.shutdown().await;
}

#[tokio::test]
async fn parameters_are_saved_together_or_not_at_all() {
    let shop = Shop::open().await;
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
        "Not set; the default applies.",
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
        "The value must be a whole number, at least 1.",
        "There is no order status with the id 99.",
        "The value must be a whole number, from 0 to 2147483647.",
        "aria-invalid=\"true\" aria-describedby=\"value-report_statuses-fault",
        // The entered values are still in the form.
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
    ann.get(page).await.says("3 parameters were changed and are now in effect.");
    assert_eq!(value("store_name"), (true, "\"Lamps & more\"".to_owned()));
    assert_eq!(value("report_statuses"), (true, "[1,2,7]".to_owned()));
    let text = r#""Hello {{ first_name }},\n\nit is {{ status }}.\n""#;
    assert_eq!(value("order_mail_text"), (true, text.to_owned()));
    assert!(!value("default_currency").0, "a default that is sent back remains a default");
    save(&mut ann, &[]).await;
    ann.get(page).await.says("Nothing was changed.");
    assert_eq!(shop.site.parameters().iter().filter(|parameter| parameter.set).count(), 3);

    save(&mut ann, &[("unset", "store_name"), ("unset", "report_statuses")]).await;
    assert_eq!(value("store_name"), (false, "\"Online store\"".to_owned()));
    assert!(!value("report_statuses").0 && value("order_mail_text").0);

    // An outdated form does not undo later changes.
    let before = ann.get(page).await.html;
    shop.site.set_parameter("low_stock_threshold", &9.into()).await.unwrap();
    let stale = parameters(&shop.site, field(&before, "seen").unwrap(), &[("store_name", "x")]);
    let stale: Vec<(&str, &str)> =
        stale.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let seen = ann.post(page, &stale).await;
    assert_eq!(seen.status, 422);
    seen.says("Another user has changed these parameters in the meantime.");
    assert!(!value("store_name").0);

    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    bob.get(page).await.says("Only users with core.admin may change parameters.");
    assert_eq!(save(&mut bob, &[("store_name", "x")]).await.status, 403);
    assert!(!value("store_name").0);
}
