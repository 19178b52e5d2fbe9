//! The first minute in the administration, walked in a real browser as the tour describes it: what is emphasised there is
//! pressed, chosen or read here, in the same order.

use fantoccini::Locator;
use serde_json::json;

use crate::support::browser::{Browser, DESK};
use crate::support::harness::Shop;
use crate::support::project::root;
use crate::support::waiting::eventually;

/// What the tour emphasises in the steps of its section about the administration.
struct Steps(std::vec::IntoIter<String>);

impl Steps {
    fn read() -> Steps {
        let tour = std::fs::read_to_string(root().join("plugin/TOUR.md")).unwrap();
        let (_, section) = tour.split_once("\n## The administration\n").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let (_, steps) = section.split_once("\n1. ").unwrap();
        let (steps, _) = steps.split_once("\n\n").unwrap();
        let words = steps.split('*').skip(1).step_by(2).map(|words| words.replace("\n   ", " "));
        Steps(words.collect::<Vec<_>>().into_iter())
    }

    /// What is emphasised next.
    fn next(&mut self) -> String {
        self.0.next().expect("the tour has one more step")
    }

    /// Presses what is emphasised next.
    async fn press(&mut self, browser: &Browser) {
        browser.press(&self.next()).await;
    }

    /// Chooses, of what is emphasised next, the first in the field with the second as its label.
    async fn choose(&mut self, browser: &Browser) {
        let (choice, label) = (self.next(), self.next());
        let list = format!("//select[@id=//label[normalize-space(text())='{label}']/@for]");
        eventually(&format!("{choice} at {label}"), async || {
            let list = browser.client.find(Locator::XPath(&list)).await.ok()?;
            list.select_by_label(&choice).await.ok()
        })
        .await;
    }

    /// Waits for a page on which a matching element has what is emphasised next.
    async fn read_in(&mut self, browser: &Browser, css: &str) -> String {
        let words = self.next();
        let has = format!("//{css}[contains(normalize-space(), '{words}')]");
        eventually(&format!("{words} in {css}"), async || {
            browser.client.find(Locator::XPath(&has)).await.ok()?.text().await.ok()
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn the_first_minute_is_as_the_tour_describes_it() {
    let shop = Shop::filled().await;
    let items = json!([{"product_id": 1, "orderitem_quantity": 2}]);
    shop.create("/orders", json!({"user_email": "ada@example.com", "items": items})).await;
    let mails = shop.database.folder.path().join("mail");
    let browser = Browser::of(&shop, "superuser", DESK).await;
    let mut steps = Steps::read();

    steps.press(&browser).await;
    steps.press(&browser).await;
    steps.choose(&browser).await;
    steps.press(&browser).await;
    browser.press_on("th[scope=row] a").await;
    let order = browser.text("h1").await;

    steps.press(&browser).await;
    browser.says(".tabs [aria-current]", "Items").await;
    browser.text("tbody tr").await;
    steps.press(&browser).await;
    browser.says(".tabs [aria-current]", "History").await;
    browser.text("tbody tr:last-child:first-child").await;

    steps.press(&browser).await;
    let comment = "Parcel 00340 4341.";
    steps.choose(&browser).await;
    steps.choose(&browser).await;
    let label = steps.next();
    let field = format!("//textarea[@id=//label[normalize-space(text())='{label}']/@for]");
    browser.client.find(Locator::XPath(&field)).await.unwrap().send_keys(comment).await.unwrap();
    let button = steps.next();
    assert_eq!(browser.text("main button.primary").await, button);
    browser.press_on("main button.primary").await;
    steps.read_in(&browser, "*[@role='status']").await;
    browser.is_at(&order).await;
    steps.read_in(&browser, "dd").await;

    steps.press(&browser).await;
    browser.says(".tabs [aria-current]", "History").await;
    browser.text("tbody tr:last-child:nth-child(2)").await;
    assert!(browser.text("table").await.contains(comment));

    steps.press(&browser).await;
    steps.read_in(&browser, "h2").await;
    let by = eventually("the entry in the trail", async || {
        browser.client.refresh().await.unwrap();
        let changes = "section[aria-labelledby=changes] dd";
        let newest = browser.client.find(Locator::Css(changes)).await.ok()?.text().await.ok()?;
        newest.starts_with("superuser ").then_some(())
    });
    by.await;
    steps.press(&browser).await;
    browser.is_at("Audit trail").await;

    let mail = eventually("the mail", async || {
        let mails = std::fs::read_dir(&mails).ok()?.map(|mail| mail.unwrap().path());
        let mut mails = mails.filter(|mail| mail.extension().is_some_and(|end| end == "eml"));
        mails.next()
    });
    let mail = std::fs::read_to_string(mail.await).unwrap();
    assert!(mail.contains(comment) && mail.contains("is Shipped"), "{mail}");
    assert_eq!(steps.0.next(), None, "the tour has steps that are not walked");
    browser.close().await;
}
