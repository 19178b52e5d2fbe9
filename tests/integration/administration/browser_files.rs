//! A file on its way from a real browser through the pages of imports, with and without scripts.

use fantoccini::Locator;

use super::uploads::FILE;
use crate::support::browser::{Browser, DESK, PHONE};
use crate::support::harness::Shop;
use crate::support::review::Review;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_file_is_imported_in_a_browser_with_and_without_scripts_by_keyboard() {
    let shop = Shop::open().await;
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("products.csv");
    let mut review = Review::begin();
    for (name, look, has_scripts) in
        [("desk", DESK, true), ("phone", PHONE, true), ("plain", DESK, false)]
    {
        std::fs::write(&file, FILE.replace("U-", &format!("{name}-"))).unwrap();
        let browser = if has_scripts {
            Browser::of(&shop, "superuser", look).await
        } else {
            Browser::without_scripts_of(&shop, "superuser", look).await
        };
        let mut check = async |page: &str| {
            if !has_scripts {
                return review.picture(&browser, &format!("{page}-{name}")).await;
            }
            review.look_and_reach(&browser, page).await;
            // Of all bars, only the latest is shown.
            let shown = "return [...document.querySelectorAll('.bars > *')].filter(bar => \
                bar.checkVisibility()).every(bar => !bar.nextElementSibling)";
            assert_eq!(browser.script(shown).await, true);
        };
        browser.press("Import").await;
        browser.is_at("Import").await;
        let field = browser.client.find(Locator::Id("file")).await.unwrap();
        field.send_keys(file.to_str().unwrap()).await.unwrap();
        browser.choose("#type", "products").await;
        // The buttons are pressed with the keyboard.
        let press = async |css: &str| {
            let button = browser.client.find(Locator::Css(css)).await.unwrap();
            button.send_keys("\u{e007}").await.unwrap();
        };
        press("form[enctype] button").await;
        browser.says("h2#result", "2 records can be imported, 1 record cannot").await;
        check("import-dry-run").await;
        press("main form button").await;
        browser.says("h2#result", "2 records imported, 1 record left out").await;
        check("import-done").await;
        let path = format!("/products?filter[sku]={name}-");
        assert_eq!(shop.get(&path).send().await.expect(200).total(), 2);
        browser.close().await;
    }
    review.passes();
}
