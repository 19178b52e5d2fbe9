//! The administration in a real browser: the ways that people go through it, and every page at the
//! width of a desk and of a phone, light and dark, looked at by axe.
//!
//! `TEST_BROWSER` names the folder that `tests/browser/prepare.sh` makes. Pictures of the pages are
//! put there too.

use std::path::PathBuf;
use std::process::Stdio;

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::{Role, Shop};
use crate::process::{eventually, patiently};

const PASSWORD: &str = "correct horse battery";

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

    /// Presses the button, or follows the link, with this text.
    async fn press(&self, text: &str) {
        let path = format!(
            "//*[self::button or self::a][normalize-space()='{text}' or \
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
    browser.press("Revoke").await;
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
async fn every_page_suits_everybody_at_each_width_and_in_each_colour() {
    let shop = shop().await;
    shop.fill().await;
    shop.site.set_blocked("registered", true).await.unwrap();
    busy(&shop).await;
    let (boss, manager) = (id(&shop, "superuser").await, id(&shop, "manager").await);
    let blocked = id(&shop, "registered").await;
    let axe = std::fs::read_to_string(folder().join("axe.js")).unwrap();
    let pictures = folder().join("pictures");
    std::fs::create_dir_all(&pictures).unwrap();
    let pages = [
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
        ("audit", "/audit".to_owned()),
        ("audit-some", "/audit?origin=api&type=products&since=2026-01-01".to_owned()),
        ("audit-none", "/audit?user=nobody".to_owned()),
        ("account", "/account".to_owned()),
        ("missing", "/nothing".to_owned()),
    ];
    let mut faults = Vec::new();
    for (look, how) in LOOKS {
        let browser = Browser::open(&shop, how).await;
        browser.goto("/").await;
        let mut check = async |page: &str| {
            for fault in faults_of(&browser, &axe, how).await {
                faults.push(format!("{page}, {look}: {fault}"));
            }
            let picture = browser.client.screenshot().await.unwrap();
            std::fs::write(pictures.join(format!("{page}-{look}.png")), picture).unwrap();
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
        browser.press("Generate").await;
        browser.text("#token").await;
        check("user-token-made").await;
        browser.goto("/users/new").await;
        browser.fill("username", "Manager").await;
        browser.fill("email", "manager@example.com").await;
        browser.press("Add the user").await;
        browser.text("#groups-fault").await;
        check("user-new-faulty").await;
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
