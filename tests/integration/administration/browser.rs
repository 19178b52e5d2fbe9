//! The administration in a real browser: the ways that people go through it, and every page at the
//! width of a desk and of a phone, light and dark, looked at by axe.
//!
//! `TEST_BROWSER` names the folder that `tests/browser/prepare.sh` makes. Pictures of the pages are
//! put there too, and `tests/browser/pictures.sh` takes those of the documents from there.

use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::harness::{Role, Shop};
use crate::support::process::{eventually, patiently};

const PASSWORD: &str = "correct horse battery";

/// Lets the time pass for which a password counts that was entered.
const LATE: &str = "UPDATE host_sessions SET confirmed_on = '2020-01-01T00:00:00'";

/// How somebody looks at a page.
#[derive(Clone, Copy)]
struct Look {
    width: u32,
    height: u32,
    dark: bool,
}

const DESK: Look = Look { width: 1280, height: 800, dark: false };
const PHONE: Look = Look { width: 390, height: 844, dark: false };
const LOOKS: [(&str, Look); 4] = [
    ("desk-light", DESK),
    ("desk-dark", Look { dark: true, ..DESK }),
    ("phone-light", PHONE),
    ("phone-dark", Look { dark: true, ..PHONE }),
];

/// A browser with nothing in it, looking at a shop.
struct Browser {
    client: Client,
    origin: String,
    driver: Driver,
    _profile: TempDir,
}

/// The program that steers the browser. Both end with the test, however that ends.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // The browser is in the group of whoever has started it.
        let group = self.0.id().map(|id| format!("-{id}"));
        let killed = group
            .map(|group| std::process::Command::new("kill").args(["-KILL", "--", &group]).status());
        drop(killed);
    }
}

/// Something that only this kind of browser can do.
#[derive(Debug)]
struct DevTools(&'static str, Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _url: &url::Url) -> (reqwest::Method, Option<String>) {
        let body = json!({"cmd": self.0, "params": self.1});
        (reqwest::Method::POST, Some(body.to_string()))
    }
}

impl Browser {
    async fn open(shop: &Shop, look: Look) -> Browser {
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = driver.process_group(0).spawn().expect("chromedriver is there");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = patiently("the port of the driver", async {
            loop {
                let line = lines.next_line().await.unwrap().expect("a port");
                if let Some((_, port)) = line.split_once("successfully on port ") {
                    return port.trim_end_matches('.').to_owned();
                }
            }
        })
        .await;

        let profile = tempfile::tempdir().unwrap();
        let Look { width, height, dark } = look;
        let args = [
            "--headless".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let phone = width < 600;
        let metrics = json!({"width": width, "height": height, "pixelRatio": 1, "mobile": phone, "touch": phone});
        let options = json!({"args": args, "mobileEmulation": {"deviceMetrics": metrics}});
        let capabilities = [
            ("browserName".to_owned(), json!("chrome")),
            ("goog:chromeOptions".to_owned(), options),
        ];
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.into_iter().collect())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("Chromium is there");
        Browser { client, origin: shop.url(""), driver: Driver(driver), _profile: profile }
    }

    /// A browser of somebody who has signed in.
    async fn of(shop: &Shop, username: &str, look: Look) -> Browser {
        let browser = Browser::open(shop, look).await;
        browser.goto("/").await;
        browser.sign_in(username, PASSWORD).await;
        browser.is_at("Dashboard").await;
        browser
    }

    async fn goto(&self, path: &str) {
        self.client.goto(&format!("{}/administrator{path}", self.origin)).await.unwrap();
    }

    async fn sign_in(&self, username: &str, password: &str) {
        self.fill("username", username).await;
        self.fill("password", password).await;
        self.press("Sign in").await;
    }

    /// Types into a field, in place of what is in it.
    async fn fill(&self, name: &str, text: &str) {
        eventually(name, async || {
            let field = self.client.find(Locator::Id(name)).await.ok()?;
            field.clear().await.ok()?;
            field.send_keys(text).await.ok()
        })
        .await;
    }

    /// Chooses from a list.
    async fn choose(&self, css: &str, value: &str) {
        eventually(css, async || {
            let list = self.client.find(Locator::Css(css)).await.ok()?;
            list.select_by_value(value).await.ok()
        })
        .await;
    }

    /// Presses the button, follows the link, or opens what is folded, with this text.
    async fn press(&self, text: &str) {
        let path = format!(
            "//*[self::button or self::a or self::summary][normalize-space()='{text}' or \
             normalize-space(text())='{text}']"
        );
        eventually(text, async || {
            // The page may be gone before what was found on it is pressed.
            self.client.find(Locator::XPath(&path)).await.ok()?.click().await.ok()
        })
        .await;
    }

    /// What stands in the first element that is like this, on the page that comes next.
    async fn text(&self, css: &str) -> String {
        eventually(css, async || {
            // The page may be gone before its element has been asked.
            self.client.find(Locator::Css(css)).await.ok()?.text().await.ok()
        })
        .await
    }

    /// Waits for the page on which this stands in the first element that is like that.
    async fn says(&self, css: &str, text: &str) {
        eventually(text, async || {
            let found = self.client.find(Locator::Css(css)).await.ok()?.text().await.ok()?;
            (found == text).then_some(())
        })
        .await;
    }

    /// Waits for the page with this heading.
    async fn is_at(&self, heading: &str) {
        self.says("h1", heading).await;
    }

    /// Runs no script of any page from now on.
    async fn without_script(&self) {
        let off = json!({"value": true});
        self.client.issue_cmd(DevTools("Emulation.setScriptExecutionDisabled", off)).await.unwrap();
    }

    /// Takes a small picture of what is shown.
    async fn picture(&self) -> Vec<u8> {
        let how = json!({"format": "webp", "quality": 82});
        let taken = self.client.issue_cmd(DevTools("Page.captureScreenshot", how)).await.unwrap();
        BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// Presses what is like this.
    async fn press_on(&self, css: &str) {
        eventually(css, async || {
            self.client.find(Locator::Css(css)).await.ok()?.click().await.ok()
        })
        .await;
    }

    /// What the keyboard does not get to on the page that is shown, by Tab alone from its top.
    async fn out_of_reach(&self) -> Vec<String> {
        let all = "window.missed = [...document.querySelectorAll('a[href], button, input, select, \
             textarea, summary, [tabindex]')].filter(found => found.checkVisibility() && \
             !found.matches(':disabled, [type=hidden], [tabindex=\"-1\"]')); \
             document.activeElement.blur(); scrollTo(0, 0); \
             return missed.length + 3 * document.querySelectorAll('[type=date]').length";
        let step = "missed = missed.filter(found => found !== document.activeElement); \
             return missed.map(found => found.outerHTML.slice(0, 120))";
        let steps = self.script(all).await.as_u64().unwrap();
        let mut missed = Vec::new();
        for _ in 0..=steps {
            self.client.active_element().await.unwrap().send_keys("\u{e004}").await.unwrap();
            missed = serde_json::from_value(self.script(step).await).unwrap();
            if missed.is_empty() {
                break;
            }
        }
        missed
    }

    async fn script(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    async fn close(self) {
        let Browser { client, driver, .. } = self;
        client.close().await.unwrap();
        drop(driver);
    }
}

/// The folder with what the tests need.
fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("TEST_BROWSER").unwrap())
}

/// A filled shop whose users have a password.
async fn shop() -> Shop {
    let shop = Shop::open().await;
    for user in shop.site.users().await.unwrap() {
        shop.site.set_password(&user.username, PASSWORD.to_owned()).await.unwrap();
    }
    shop
}

async fn id(shop: &Shop, name: &str) -> i64 {
    shop.site.user(name).await.unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn somebody_signs_in_by_the_keyboard_alone_and_out_again() {
    let shop = shop().await;
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
    // Past the navigation at once.
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
    let shop = shop().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    browser.press("Users").await;
    browser.is_at("Users").await;
    browser.fill("search", "MANAG").await;
    browser.press("Show").await;
    assert_eq!(browser.text("form.filter > a").await, "All users");
    browser.press("manager").await;
    browser.is_at("manager").await;
    browser.press("API token").await;
    browser.says(".tabs [aria-current]", "API token").await;
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
    browser.press("API token").await;
    browser.says(".tabs [aria-current]", "API token").await;
    assert!(!browser.client.source().await.unwrap().contains(&token), "shown this once");
    // Somebody has left the browser for a while: the password is asked for, and it goes on from there.
    shop.database.execute(LATE).await;
    browser.press("Revoke").await;
    browser.is_at("Confirm your password").await;
    ask().send().await.expect(200);
    browser.fill("confirmation", PASSWORD).await;
    browser.press("Confirm and go on").await;
    browser.says("[role=status]", "The token is revoked.").await;
    ask().send().await.expect(401);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_permission_is_denied_and_the_reason_is_found() {
    let shop = shop().await;
    let browser = Browser::of(&shop, "superuser", PHONE).await;
    let ask = || shop.get("/products").by(Role::Manager).send();
    ask().await.expect(200);
    browser.press("Permissions").await;
    browser.is_at("Permissions").await;
    browser.choose("#asset", "com_shop.products").await;
    browser.press("Show").await;
    browser.says("main h2", "Products com_shop.products").await;
    browser.choose("[name='store.view-3']", "deny").await;
    browser.press("Save").await;
    assert!(browser.text("[role=status]").await.contains("One rule about com_shop.products"));
    ask().await.expect(403);
    shop.get("/orders").by(Role::Manager).send().await.expect(200);

    browser.goto(&format!("/users/{}/permissions", id(&shop, "manager").await)).await;
    let why = "a[href*='user=manager&action=store.view&asset=com_shop.products']";
    assert!(browser.text(why).await.starts_with("Denied"));
    browser.client.find(Locator::Css(why)).await.unwrap().click().await.unwrap();
    assert_eq!(
        browser.text(".because").await,
        "The rule for Manager denies store.view on com_shop.products, and a denial always wins."
    );
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_user_is_blocked_and_session_and_token_end() {
    let shop = shop().await;
    let ask = || shop.get("/products").by(Role::Administrator).send();
    ask().await.expect(200);
    let (boss, other) = tokio::join!(
        Browser::of(&shop, "superuser", DESK),
        Browser::of(&shop, "administrator", DESK)
    );
    boss.goto(&format!("/users/{}", id(&shop, "administrator").await)).await;
    boss.press("Block").await;
    assert!(boss.text("[role=status]").await.contains("is blocked"));
    ask().await.expect(401);
    other.press("Users").await;
    other.is_at("Sign in").await;
    other.sign_in("administrator", PASSWORD).await;
    assert!(other.text("[role=alert]").await.contains("may not use the administration"));
    boss.press("Unblock").await;
    boss.says("[role=status]", "administrator may come in again, by the same token and password.")
        .await;
    ask().await.expect(200);
    boss.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_user_is_added_corrected_and_deleted() {
    let shop = shop().await;
    let browser = Browser::of(&shop, "superuser", PHONE).await;
    browser.goto("/users").await;
    browser.press("New user").await;
    browser.is_at("New user").await;
    browser.fill("username", "Manager").await;
    browser.fill("email", "eve@example.com").await;
    browser.press("Add the user").await;
    assert_eq!(browser.text("#groups-fault").await, "A user belongs to one group at least.");
    browser.fill("username", "eve").await;
    let group = browser.client.find(Locator::Css("[name=group][value='2']")).await.unwrap();
    group.click().await.unwrap();
    browser.press("Add the user").await;
    browser.is_at("eve").await;
    browser.press("Delete …").await;
    browser.is_at("Delete eve?").await;
    browser.press("Delete the user").await;
    assert_eq!(browser.text("[role=status]").await, "The user eve is deleted.");
    assert!(shop.site.user("eve").await.is_err());
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn an_extension_is_switched_off_and_on_again() {
    let shop = shop().await;
    let browser = Browser::of(&shop, "superuser", PHONE).await;
    let ask = || shop.get("/products").send();
    ask().await.expect(200);
    for (press, says, status) in [
        ("Switch off", "webservices-shop is switched off.", 404),
        ("Switch on", "webservices-shop is switched on.", 200),
    ] {
        browser.press("Extensions").await;
        browser.is_at("Extensions").await;
        browser.press("webservices-shop").await;
        browser.says("main h2", "About it").await;
        browser.press(press).await;
        browser.is_at("Extensions").await;
        assert!(browser.text("[role=status]").await.starts_with(says));
        assert_eq!(ask().await.status, status);
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_parameter_is_corrected_saved_and_given_back_its_default() {
    let shop = shop().await;
    let franc = format!("/currencies/{}", shop.currency("CHF").await);
    shop.patch(&franc, serde_json::json!({"enabled": 1})).send().await.expect(200);
    let browser = Browser::of(&shop, "superuser", DESK).await;
    browser.goto("/extensions/webservices-shop").await;
    browser.press("Parameters").await;
    browser.fill("value-default_currency", "XXX").await;
    browser.fill("value-store_name", "Lamps").await;
    browser.press("Save").await;
    assert_eq!(
        browser.text("#value-default_currency-fault").await,
        "There is no currency with the code \"XXX\"."
    );
    assert!(!shop.site.parameter("store_name").unwrap().set);
    browser.fill("value-default_currency", "CHF").await;
    browser.press("Save").await;
    browser.says("[role=status]", "2 parameters are changed, and count from now on.").await;
    assert_eq!(shop.site.parameter("store_name").unwrap().value, "Lamps");
    browser.press_on("[name=unset][value=store_name]").await;
    browser.press("Save").await;
    browser.says("[role=status]", "Store name is changed, and counts from now on.").await;
    let set = shop.site.parameters().into_iter().filter(|parameter| parameter.set);
    assert_eq!(set.map(|parameter| parameter.name).collect::<Vec<_>>(), ["default_currency"]);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_route_is_tried_by_who_has_signed_in() {
    let shop = shop().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    let total = async || shop.get("/manufacturers").send().await.expect(200).total();
    browser.press("API").await;
    browser.is_at("API").await;
    browser.press("Manufacturers").await;
    browser.press_on("a[href$='manufacturers.create']").await;
    browser.is_at("Create one manufacturer").await;
    browser.fill("body", "{\"manufacturer_name\": \"Birch\"}").await;
    browser.press("Send").await;
    // The browser itself does not send what is not confirmed.
    assert_eq!(total().await, 0);
    browser.press_on("#sure").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "201 Created").await;
    assert_eq!(total().await, 1);
    assert!(browser.text("#document").await.contains("\"manufacturer_name\": \"Birch\""));

    browser.goto("/api/webservices-shop/manufacturers.list").await;
    browser.choose("[name='query-list[direction]']", "desc").await;
    browser.fill("query-page[limit]", "5").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "200 OK").await;
    browser.press("The same by a program").await;
    let command = browser.text("#command").await;
    assert!(command.ends_with("page%5Blimit%5D=5&list%5Bdirection%5D=desc'"), "{command}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn nothing_but_copying_needs_a_script() {
    let shop = shop().await;
    let browser = Browser::open(&shop, DESK).await;
    browser.without_script().await;
    browser.goto("/").await;
    browser.sign_in("superuser", PASSWORD).await;
    browser.is_at("Dashboard").await;

    browser.goto(&format!("/users/{}/token", id(&shop, "manager").await)).await;
    browser.press("Generate").await;
    let token = browser.text("#token").await;
    let copy = browser.client.find(Locator::Css("[data-copies=token]")).await.unwrap();
    assert!(!copy.is_displayed().await.unwrap(), "there is no button that does nothing");
    let ask = || shop.get("/products").header("authorization", &format!("Bearer {token}"));
    ask().send().await.expect(200);

    browser.goto("/permissions?asset=com_shop.products").await;
    browser.choose("[name='store.view-3']", "deny").await;
    browser.press("Save").await;
    assert!(browser.text("[role=status]").await.contains("One rule about com_shop.products"));
    ask().send().await.expect(403);

    browser.goto("/extensions/webservices-shop/parameters").await;
    browser.fill("value-store_name", "Lamps").await;
    browser.press("Save").await;
    browser.says("[role=status]", "Store name is changed, and counts from now on.").await;
    browser.goto("/api/webservices-shop/products.list").await;
    browser.press("Send").await;
    browser.says("#answer .pill", "200 OK").await;
    browser.goto("/extensions/webservices-shop").await;
    browser.press("Switch off").await;
    assert!(browser.text("[role=status]").await.starts_with("webservices-shop is switched off."));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn everything_on_a_page_is_reached_by_the_keyboard() {
    let shop = shop().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    for (page, path) in pages(&shop).await {
        browser.goto(&path).await;
        assert_eq!(browser.out_of_reach().await, Vec::<String>::new(), "{page}");
    }
    browser.close().await;
}

/// Every page, by the name of its picture.
async fn pages(shop: &Shop) -> Vec<(&'static str, String)> {
    let (boss, manager) = (id(shop, "superuser").await, id(shop, "manager").await);
    let blocked = id(shop, "registered").await;
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
        ("user-token-blocked", format!("/users/{blocked}/token")),
        ("user-permissions", format!("/users/{manager}/permissions")),
        ("user-delete", format!("/users/{manager}/delete")),
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
        ("audit", "/audit".to_owned()),
        ("audit-some", "/audit?origin=api&type=products&since=2026-01-01".to_owned()),
        ("audit-none", "/audit?user=nobody".to_owned()),
        ("account", "/account".to_owned()),
        ("missing", "/nothing".to_owned()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn every_page_suits_everybody_at_each_width_and_in_each_colour() {
    let shop = shop().await;
    shop.fill().await;
    shop.site.set_blocked("registered", true).await.unwrap();
    busy(&shop).await;
    shop.site.set_parameter("store_name", &"Lamps and more".into()).await.unwrap();
    shop.site.set_parameter("order_mail_text", &"{{ status }}".into()).await.unwrap();
    let manager = id(&shop, "manager").await;
    let axe = std::fs::read_to_string(folder().join("axe.js")).unwrap();
    let pictures = folder().join("pictures");
    std::fs::create_dir_all(&pictures).unwrap();
    let pages = pages(&shop).await;
    let mut faults = Vec::new();
    for (look, how) in LOOKS {
        let browser = Browser::open(&shop, how).await;
        browser.goto("/").await;
        let mut check = async |page: &str| {
            for fault in faults_of(&browser, &axe, how).await {
                faults.push(format!("{page}, {look}: {fault}"));
            }
            let picture = browser.picture().await;
            std::fs::write(pictures.join(format!("{page}-{look}.webp")), picture).unwrap();
        };
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
        browser.press("Confirm and go on").await;
        browser.text("#confirmation-fault").await;
        check("confirm-wrong").await;
        browser.fill("confirmation", PASSWORD).await;
        browser.press("Confirm and go on").await;
        browser.text("#token").await;
        check("user-token-made").await;
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
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Lets programs use the API, some of them wrongly.
async fn busy(shop: &Shop) {
    for number in 0..30 {
        shop.get("/products").send().await.expect(200);
        let price = json!({"price": format!("{number}.50")});
        shop.patch("/products/7", price).by(Role::Manager).send().await.expect(200);
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

/// What keeps somebody from using the page that is shown.
async fn faults_of(browser: &Browser, axe: &str, look: Look) -> Vec<String> {
    browser.client.execute(axe, Vec::new()).await.unwrap();
    let run = "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then(found => \
        done(found.violations.map(rule => rule.id + ': ' + rule.help + ': ' + \
        rule.nodes.map(node => node.target.join(' ')).join(', '))))";
    let found = browser.client.execute_async(run, Vec::new()).await.unwrap();
    let mut faults: Vec<String> = serde_json::from_value(found).unwrap();
    let measured = browser
        .script(
            "const root = document.documentElement; \
             return [root.scrollWidth - root.clientWidth, \
             matchMedia('(prefers-color-scheme: dark)').matches, root.clientWidth, \
             getComputedStyle(document.body).colorScheme]",
        )
        .await;
    if measured[0] != 0 {
        faults.push(format!("is wider than its window by {}", measured[0]));
    }
    assert_eq!((&measured[1], &measured[2]), (&json!(look.dark), &json!(look.width)));
    assert_eq!(measured[3], "light dark", "the stylesheet counts");
    faults
}
