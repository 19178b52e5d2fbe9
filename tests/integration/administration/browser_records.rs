//! The forms of records in a real browser: with the keyboard alone, without scripts, and checked by axe in each look.

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use serde_json::{Value, json};

use crate::support::browser::{Browser, DESK, LOOKS};
use crate::support::harness::Shop;
use crate::support::review::Review;

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';
const DELETE: char = '\u{e017}';
const CONTROL: char = '\u{e009}';

/// The address of a page about records of the store.
fn page(of: &str) -> String {
    format!("/records/webservices-shop/{of}")
}

/// The element with this name.
fn named(name: &str) -> String {
    format!("[name='{name}']")
}

/// What is said at a field.
fn fault_at(name: &str) -> String {
    format!("[id='{name}-fault']")
}

/// Presses keys, one after the other.
async fn press(browser: &Browser, keys: &[char]) {
    let mut actions = KeyActions::new("keyboard".to_owned());
    for key in keys {
        actions = actions.then(KeyAction::Down { value: *key }).then(KeyAction::Up { value: *key });
    }
    browser.client.perform_actions(actions).await.unwrap();
}

async fn type_text(browser: &Browser, text: &str) {
    press(browser, &text.chars().collect::<Vec<_>>()).await;
}

/// Presses the Tab key until the matching element has the focus.
async fn tab_to(browser: &Browser, css: &str) {
    let is_there = format!("return document.activeElement.matches({})", json!(css));
    for _ in 0..200 {
        if browser.script(&is_there).await == Value::Bool(true) {
            return;
        }
        press(browser, &[TAB]).await;
    }
    panic!("{css} cannot be reached");
}

/// Replaces the text of the field with the focus.
async fn replace(browser: &Browser, text: &str) {
    let select_all = KeyActions::new("keyboard".to_owned())
        .then(KeyAction::Down { value: CONTROL })
        .then(KeyAction::Down { value: 'a' })
        .then(KeyAction::Up { value: 'a' })
        .then(KeyAction::Up { value: CONTROL });
    browser.client.perform_actions(select_all).await.unwrap();
    press(browser, &[DELETE]).await;
    type_text(browser, text).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn records_are_added_corrected_and_deleted_with_the_keyboard_only() {
    let shop = Shop::open().await;
    let browser = Browser::of(&shop, "superuser", DESK).await;
    let name = named("/manufacturer_name");

    browser.goto(&page("manufacturers/new")).await;
    browser.is_at("New manufacturer").await;
    tab_to(&browser, &name).await;
    type_text(&browser, "Birch").await;
    press(&browser, &[ENTER]).await;
    browser.says("[role=status]", "Birch was added.").await;

    browser.goto(&page("manufacturers/1/edit")).await;
    browser.is_at("Edit Birch").await;
    tab_to(&browser, &name).await;
    replace(&browser, " ").await;
    press(&browser, &[ENTER]).await;
    browser.text(&fault_at("/manufacturer_name")).await;
    tab_to(&browser, &name).await;
    replace(&browser, "Beech").await;
    press(&browser, &[ENTER]).await;
    browser.says("[role=status]", "Birch was saved.").await;

    browser.goto(&page("manufacturers/1/edit")).await;
    browser.is_at("Edit Beech").await;
    let other = json!({"manufacturer_name": "Oak"});
    shop.patch("/manufacturers/1", other).send().await.expect(200);
    tab_to(&browser, &name).await;
    replace(&browser, "Ash").await;
    press(&browser, &[ENTER]).await;
    browser.is_at("Oak has changed").await;
    tab_to(&browser, "[type=radio]").await;
    // The arrow keys and the space bar choose among radio buttons.
    press(&browser, &[' ']).await;
    tab_to(&browser, "main button").await;
    press(&browser, &[ENTER]).await;
    browser.says("[role=status]", "Oak was saved.").await;
    let saved = shop.get("/manufacturers/1").send().await.expect(200);
    assert_eq!(saved.attribute("manufacturer_name"), "Ash");

    browser.goto(&page("manufacturers/1/delete")).await;
    browser.is_at("Delete Ash?").await;
    tab_to(&browser, "button.danger").await;
    press(&browser, &[ENTER]).await;
    browser.says("[role=status]", "The manufacturer was deleted.").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn an_order_is_added_and_its_status_changed_without_scripts() {
    let shop = Shop::open().await;
    let browser = Browser::without_scripts_of(&shop, "superuser", DESK).await;
    browser.goto(&page("orders/new")).await;
    browser.fill("/user_email", "ada@example.com").await;
    browser.fill("/items/0/orderitem_name", "Lamp").await;
    browser.fill("/items/0/orderitem_price", "19.90").await;
    browser.press("Add a row").await;
    browser.fill("/items/1/orderitem_name", "Bulb").await;
    browser.fill("/items/1/orderitem_price", "0.10").await;
    browser.press_on("button.primary").await;
    browser.text("[role=status]").await;
    let order = shop.get("/orders/1").send().await.expect(200);
    assert_eq!(order.attribute("order_subtotal"), "20.00");

    browser.goto(&page("orders/1/do/status")).await;
    browser.choose(&named("/status_id"), "7").await;
    browser.fill("/comment", "On its way.").await;
    browser.press_on("button.primary").await;
    browser.text("[role=status]").await;
    let order = shop.get("/orders/1").send().await.expect(200);
    assert_eq!(order.attribute("orderstatus_name"), "Shipped");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn every_form_of_records_is_accessible_at_each_width_and_in_each_colour_scheme() {
    let shop = Shop::open().await;
    shop.fill().await;
    let mut review = Review::begin();
    for look in LOOKS {
        let browser = Browser::of(&shop, "superuser", look).await;
        let mut check = async |page: &str| review.look_and_reach(&browser, page).await;
        for (name, of) in [
            ("record-new", "products/new"),
            ("record-new-rows", "orders/new"),
            ("record-edit", "products/7/edit"),
            ("record-edit-json", "paymentmethods/1/edit"),
            ("record-delete", "products/7/delete"),
            ("record-action", "orders/1/do/status"),
            ("record-action-rows", "orders/1/do/refunds"),
            ("record-action-empty", "webhooks/1/do/rotate"),
        ] {
            browser.goto(&page(of)).await;
            check(name).await;
        }
        wrong(&browser).await;
        check("record-edit-faulty").await;
        contested(&shop, &browser).await;
        check("record-conflict").await;
        browser.goto(&page("webhooks/1/do/rotate")).await;
        browser.press_on("button.primary").await;
        browser.text("#once").await;
        check("record-once").await;
        browser.goto(&page("products/9999/edit")).await;
        check("record-missing").await;
        browser.close().await;
    }
    review.passes();
}

/// Sends a form with faults at several fields.
async fn wrong(browser: &Browser) {
    browser.goto(&page("products/7/edit")).await;
    browser.fill("/product_name", " ").await;
    browser.fill("/price", "a lot").await;
    browser.press_on("button.primary").await;
    browser.text(&fault_at("/price")).await;
}

/// Sends a form about a record that is changed meanwhile.
async fn contested(shop: &Shop, browser: &Browser) {
    browser.goto(&page("products/7/edit")).await;
    browser.fill("/product_name", "Reading lamp").await;
    let product = shop.get("/products/7").send().await.expect(200);
    let name = format!("{} again", product.attribute("product_name").as_str().unwrap());
    let theirs = json!({"product_name": name, "vendor_id": name.len()});
    shop.patch("/products/7", theirs).send().await.expect(200);
    browser.press_on("button.primary").await;
    browser.is_at(&format!("{name} has changed")).await;
}
