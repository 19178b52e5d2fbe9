//! A real browser, driven through `chromedriver`.

use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::harness::Shop;
use crate::support::visitor::PASSWORD;
use crate::support::waiting::{eventually, patiently};

/// The appearance of a page.
#[derive(Clone, Copy)]
pub struct Look {
    width: u32,
    height: u32,
    dark: bool,
}

pub const DESK: Look = Look { width: 1280, height: 800, dark: false };

pub const PHONE: Look = Look { width: 360, height: 800, dark: false };

pub const LOOKS: [(&str, Look); 4] = [
    ("desk-light", DESK),
    ("desk-dark", Look { dark: true, ..DESK }),
    ("phone-light", PHONE),
    ("phone-dark", Look { dark: true, ..PHONE }),
];

/// A browser with an empty profile, showing a shop.
pub struct Browser {
    pub client: Client,
    origin: String,
    driver: Driver,
    _profile: TempDir,
}

/// The driver of the browser. Both end with the test, even if it panics.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // The browser is in the process group of its driver.
        let group = self.0.id().map(|id| format!("-{id}"));
        let killed = group
            .map(|group| std::process::Command::new("kill").args(["-KILL", "--", &group]).status());
        drop(killed);
    }
}

/// Starts a driver, and returns it with its port; `None` if it has ended before it had one: it takes a free port of
/// one family of addresses, and another program can have the same of the other.
async fn start_driver() -> Option<(Child, String)> {
    let mut driver = Command::new("chromedriver");
    driver.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut driver = driver.process_group(0).spawn().expect("chromedriver is there");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some((_, port)) = line.split_once("successfully on port ") {
            return Some((driver, port.trim_end_matches('.').to_owned()));
        }
    }
    None
}

/// A command that only this kind of browser has.
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
    pub async fn open(shop: &Shop, look: Look) -> Browser {
        let (driver, port) = patiently("a driver", async {
            loop {
                if let Some(driver) = start_driver().await {
                    return driver;
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

    /// A browser whose user has signed in.
    pub async fn of(shop: &Shop, username: &str, look: Look) -> Browser {
        Browser::open(shop, look).await.signed_in(username).await
    }

    /// The same, without scripts.
    pub async fn without_scripts_of(shop: &Shop, username: &str, look: Look) -> Browser {
        let browser = Browser::open(shop, look).await;
        browser.without_script().await;
        browser.signed_in(username).await
    }

    async fn signed_in(self, username: &str) -> Browser {
        self.goto("/").await;
        self.sign_in(username, PASSWORD).await;
        self.is_at("Dashboard").await;
        self
    }

    pub async fn goto(&self, path: &str) {
        self.client.goto(&format!("{}/administrator{path}", self.origin)).await.unwrap();
    }

    pub async fn sign_in(&self, username: &str, password: &str) {
        self.fill("username", username).await;
        self.fill("password", password).await;
        self.press("Sign in").await;
    }

    /// Types into a field, replacing its content.
    pub async fn fill(&self, name: &str, text: &str) {
        eventually(name, async || {
            let field = self.client.find(Locator::Id(name)).await.ok()?;
            field.clear().await.ok()?;
            field.send_keys(text).await.ok()
        })
        .await;
    }

    /// Chooses from a list.
    pub async fn choose(&self, css: &str, value: &str) {
        eventually(css, async || {
            let list = self.client.find(Locator::Css(css)).await.ok()?;
            list.select_by_value(value).await.ok()
        })
        .await;
    }

    /// Presses the button, follows the link, or opens the folded section with this text.
    pub async fn press(&self, text: &str) {
        let path = format!(
            "//*[self::button or self::a or self::summary][normalize-space()='{text}' or \
             normalize-space(text())='{text}']"
        );
        eventually(text, async || {
            // The page may be replaced before the element is pressed.
            self.client.find(Locator::XPath(&path)).await.ok()?.click().await.ok()
        })
        .await;
    }

    /// The text of the first matching element on the next page.
    pub async fn text(&self, css: &str) -> String {
        eventually(css, async || {
            // The page may be replaced before its element is read.
            self.client.find(Locator::Css(css)).await.ok()?.text().await.ok()
        })
        .await
    }

    /// Waits for a page on which the first matching element has this text.
    pub async fn says(&self, css: &str, text: &str) {
        eventually(text, async || {
            let found = self.client.find(Locator::Css(css)).await.ok()?.text().await.ok()?;
            (found == text).then_some(())
        })
        .await;
    }

    /// Waits for the page with this heading.
    pub async fn is_at(&self, heading: &str) {
        self.says("h1", heading).await;
    }

    /// Disables scripts from now on.
    pub async fn without_script(&self) {
        let off = json!({"value": true});
        self.client.issue_cmd(DevTools("Emulation.setScriptExecutionDisabled", off)).await.unwrap();
    }

    /// Takes a small picture of the visible part.
    pub async fn picture(&self) -> Vec<u8> {
        let how = json!({"format": "webp", "quality": 82});
        let taken = self.client.issue_cmd(DevTools("Page.captureScreenshot", how)).await.unwrap();
        BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// Presses the matching element.
    pub async fn press_on(&self, css: &str) {
        eventually(css, async || {
            self.client.find(Locator::Css(css)).await.ok()?.click().await.ok()
        })
        .await;
    }

    /// The controls of the shown page that cannot be reached with the Tab key from its top.
    pub async fn out_of_reach(&self) -> Vec<String> {
        let all = "window.missed = [...document.querySelectorAll('a[href], button, input, select, \
             textarea, summary, [tabindex]')].filter(found => found.checkVisibility() && \
             !found.matches(':disabled, [type=hidden], [tabindex=\"-1\"], [type=radio]:not(:checked)')); \
             document.activeElement.blur(); scrollTo(0, 0); \
             return missed.length + 3 * document.querySelectorAll('[type=date]').length + \
             7 * document.querySelectorAll('[type=datetime-local]').length";
        let step = "missed = missed.filter(found => found !== document.activeElement); \
             return missed.map(found => found.outerHTML.slice(0, 120))";
        let steps = self.script(all).await.as_u64().unwrap();
        let mut missed = Vec::new();
        for _ in 0..=steps {
            // Keys that are sent to an element are, where it takes a file, the name of one.
            const TAB: char = '\u{e004}';
            let press = KeyActions::new("keyboard".to_owned())
                .then(KeyAction::Down { value: TAB })
                .then(KeyAction::Up { value: TAB });
            self.client.perform_actions(press).await.unwrap();
            missed = serde_json::from_value(self.script(step).await).unwrap();
            if missed.is_empty() {
                break;
            }
        }
        missed
    }

    pub async fn script(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    pub async fn close(self) {
        let Browser { client, driver, .. } = self;
        client.close().await.unwrap();
        drop(driver);
    }
}

/// The folder with the tools of the tests.
pub fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("TEST_BROWSER").unwrap())
}

/// The words in tables of the shown page that are broken over two lines, without ids and the like.
const BROKEN_WORDS: &str = "
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const of = text.parentElement;
        if (!of.closest('td, th') || of.closest('code, pre, .unseen') || !of.checkVisibility()) continue;
        for (const word of text.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
            const range = new Range();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const tops = [...range.getClientRects()].map(rect => Math.round(rect.top));
            if (new Set(tops).size > 1) broken.push(word[0]);
        }
    }
    return broken";

/// The accessibility faults of the shown page.
pub async fn faults_of(browser: &Browser, axe: &str, look: Look) -> Vec<String> {
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
    let broken: Vec<String> = serde_json::from_value(browser.script(BROKEN_WORDS).await).unwrap();
    faults.extend(broken.into_iter().map(|word| format!("breaks inside a word: {word}")));
    assert_eq!((&measured[1], &measured[2]), (&json!(look.dark), &json!(look.width)));
    assert_eq!(measured[3], "light dark", "the stylesheet applies");
    faults
}
