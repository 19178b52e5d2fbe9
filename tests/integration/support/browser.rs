//! A real browser, driven through `chromedriver`.

use std::path::{Path, PathBuf};
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

use crate::support::harness::Shop;
use crate::support::visitor::PASSWORD;
use crate::support::waiting::{eventually, patiently};

/// The size of a window, with the name that it has in those of pictures.
#[derive(Clone, Copy)]
pub struct Look {
    pub name: &'static str,
    pub width: u32,
    height: u32,
}

pub const DESK: Look = Look { name: "desk", width: 1280, height: 800 };

pub const PHONE: Look = Look { name: "phone", width: 360, height: 800 };

pub const LOOKS: [Look; 2] = [DESK, PHONE];

/// Chromium without a window, as Debian's package installs it: it draws pages as Chromium does, and starts in a
/// fraction of the time, because it does not draw its own controls.
const SHELL: &str = "/usr/bin/chromium-headless-shell";

/// A browser with an empty profile, showing a shop.
pub struct Browser {
    pub client: Client,
    pub look: Look,
    origin: String,
    driver: Driver,
    _files: TempDir,
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
/// one family of addresses, and another program can have the same of the other. The browser keeps its files in the
/// driver's temporary folder.
async fn start_driver(files: &Path) -> Option<(Child, String)> {
    let mut driver = Command::new("chromedriver");
    driver
        .arg("--port=0")
        .env("TMPDIR", files)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
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
        let files = tempfile::tempdir().unwrap();
        let (driver, port) = patiently("a driver", async {
            loop {
                if let Some(driver) = start_driver(files.path()).await {
                    return driver;
                }
            }
        })
        .await;
        // It ends with this, also if no browser comes of it.
        let driver = Driver(driver);

        let Look { width, height, .. } = look;
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
            // Scripts run for a moment on each page: to optimise them takes longer than it saves.
            "--js-flags=--no-opt,--no-maglev".to_owned(),
            format!("--window-size={width},{height}"),
        ];
        let phone = width < 600;
        let metrics = json!({"width": width, "height": height, "pixelRatio": 1, "mobile": phone, "touch": phone});
        let options = json!({
            "binary": SHELL, "args": args, "mobileEmulation": {"deviceMetrics": metrics},
        });
        let capabilities = [
            ("browserName".to_owned(), json!("chrome")),
            ("goog:chromeOptions".to_owned(), options),
        ];
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.into_iter().collect())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("Chromium is there");
        let origin = shop.url("");
        Browser { client, look, origin, driver, _files: files }
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

    /// Shows pages in the colours of this scheme, `light` or `dark`, from now on.
    pub async fn colours(&self, scheme: &str) {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.client.issue_cmd(DevTools("Emulation.setEmulatedMedia", media)).await.unwrap();
    }

    /// Runs a script on the shown page, and on each that follows before it is read.
    pub async fn script_of_pages(&self, script: &str) {
        let each = json!({"source": script});
        let command = DevTools("Page.addScriptToEvaluateOnNewDocument", each);
        self.client.issue_cmd(command).await.unwrap();
        self.client.execute(script, Vec::new()).await.unwrap();
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
