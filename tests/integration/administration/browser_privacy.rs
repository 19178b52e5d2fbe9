//! A person who is found and erased in a real browser, at each width, by keyboard and without scripts.

use example_host::NewUser;

use crate::support::browser::{Browser, DESK, LOOKS};
use crate::support::harness::Shop;
use crate::support::review::Review;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";

async fn add_quinx(shop: &Shop) {
    let user = NewUser {
        username: "quinx".to_owned(),
        email: "quinx@example.com".to_owned(),
        groups: vec!["Registered".to_owned()],
        password: None,
    };
    shop.site.add_user(user).await.unwrap();
    shop.site.generate_token("quinx").await.unwrap();
}

async fn type_on(browser: &Browser, text: &str) {
    browser.client.active_element().await.unwrap().send_keys(text).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn what_is_found_and_erased_is_accessible_at_each_width_and_in_each_colour_scheme() {
    let shop = Shop::open().await;
    let mut review = Review::begin();
    for look in LOOKS {
        add_quinx(&shop).await;
        let browser = Browser::of(&shop, "superuser", look).await;
        let mut check = async |page: &str| review.look_and_reach(&browser, page).await;
        browser.press("Privacy").await;
        browser.is_at("Privacy").await;
        check("privacy").await;
        browser.press("Count what would be removed").await;
        browser.says("#retention", "What is kept no longer").await;
        check("privacy-retention").await;
        browser.fill("email", "quinx@example.com").await;
        browser.press("Find").await;
        browser.says("#found", "Found: quinx@example.com").await;
        check("privacy-found").await;
        browser.press("Count only").await;
        browser.says("#found", "Found: quinx@example.com").await;
        browser.fill("reason", "quinx has asked").await;
        browser.press_on(".danger").await;
        browser.says("[role=alert]", "The reason stays in the audit trail, so it must not contain a name or an address of the person.").await;
        check("privacy-refused").await;
        browser.fill("email", "quinx@example.com").await;
        browser.press("Find").await;
        browser.fill("reason", "asked in a letter").await;
        browser.press_on(".danger").await;
        browser.says("[role=status]", "The person was erased.").await;
        check("privacy-erased").await;
        browser.close().await;
        assert!(shop.site.user("quinx").await.is_err());
    }
    review.passes();
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_person_is_erased_with_the_keyboard_only_and_without_scripts() {
    let shop = Shop::open().await;
    add_quinx(&shop).await;
    let browser = Browser::without_scripts_of(&shop, "superuser", DESK).await;
    browser.goto("/privacy").await;
    // Past the navigation, to the first field.
    for keys in [TAB, ENTER, TAB, "quinx@example.com", ENTER] {
        type_on(&browser, keys).await;
    }
    browser.says("#found", "Found: quinx@example.com").await;
    for keys in [TAB, ENTER, TAB, TAB, TAB, TAB, TAB, "asked in a letter", ENTER] {
        type_on(&browser, keys).await;
    }
    // The key alone erases nobody.
    browser.says("#found", "Found: quinx@example.com").await;
    assert!(shop.site.user("quinx").await.is_ok());
    let mut at = String::new();
    for _ in 0..60 {
        type_on(&browser, TAB).await;
        at = browser.client.active_element().await.unwrap().text().await.unwrap();
        if at == "Erase" {
            break;
        }
    }
    assert_eq!(at, "Erase");
    type_on(&browser, ENTER).await;
    browser.says("[role=status]", "The person was erased.").await;
    assert!(shop.site.user("quinx").await.is_err());
    browser.close().await;
}
