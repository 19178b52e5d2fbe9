//! Second factors, forgotten passwords and invitations in a real browser, with and without scripts.

use crate::support::browser::{Browser, DESK, PHONE};
use crate::support::harness::{Setup, Shop};
use crate::support::phone::{Phone, forget_codes};
use crate::support::review::Review;
use crate::support::smtp::Sink;
use crate::support::visitor::PASSWORD;

/// The answer to whoever asks for a link.
const SENT: &str = "If there is such an account, a mail with a link is on its way. The link is good once, \
     for 30 minutes.";

const NEW: &str = "another horse battery";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(browser), ignore = "needs a browser: TEST_BROWSER")]
async fn a_second_factor_and_a_forgotten_password_need_a_keyboard_only_and_no_scripts() {
    let mut review = Review::begin();
    for (name, look, has_scripts) in
        [("desk", DESK, true), ("phone", PHONE, true), ("plain", DESK, false)]
    {
        let sink = Sink::start().await;
        let mut setup = Setup::from(&sink);
        setup.mail.site_url = Some("https://www.example.com".to_owned());
        let shop = Shop::with(setup).await;
        let browser = Browser::open(&shop, look).await;
        if !has_scripts {
            browser.without_script().await;
        }
        let mut check = async |page: &str| {
            if has_scripts {
                review.look_and_reach(&browser, page).await;
            } else {
                review.picture(&browser, &format!("{page}-{name}")).await;
            }
        };
        let enter = async |text: &str| {
            let field = browser.client.active_element().await.unwrap();
            field.send_keys(text).await.unwrap();
        };

        browser.goto("/account").await;
        browser.sign_in("superuser", PASSWORD).await;
        browser.press("Set up the second factor").await;
        browser.is_at("Set up a second factor").await;
        check("second-factor-set-up").await;
        let phone = Phone { key: browser.text("code#key").await.replace(' ', "") };
        browser.fill("code", "000000").await;
        enter_in(&browser, "code", "\u{e007}").await;
        browser
            .says(
                "p#code-fault",
                "This code is wrong; check that the clock of your device is right.",
            )
            .await;
        check("second-factor-wrong").await;
        browser.fill("code", &phone.code(0)).await;
        enter_in(&browser, "code", "\u{e007}").await;
        browser.is_at("Recovery codes").await;
        check("recovery-codes").await;
        browser.press("Continue").await;
        browser.goto("/account/second-factor").await;
        let left = "You have 10 left. Each takes the place of a code once, if your device is lost.";
        browser.says("section[aria-labelledby=codes] p", left).await;
        check("second-factor").await;
        browser.press("Sign out").await;
        browser.says("[role=status]", "You have signed out.").await;

        browser.goto("/users").await;
        browser.sign_in("superuser", PASSWORD).await;
        browser.is_at("Enter your code").await;
        check("sign-in-code").await;
        forget_codes(&shop).await;
        browser.fill("code", &phone.code(0)).await;
        enter_in(&browser, "code", "\u{e004}").await;
        // The box is ticked, and the form sent, with the keyboard.
        enter(" ").await;
        enter("\u{e007}").await;
        browser.is_at("Users").await;
        browser.press("Sign out").await;
        browser.says("[role=status]", "You have signed out.").await;
        browser.sign_in("superuser", PASSWORD).await;
        browser.is_at("Dashboard").await;
        browser.press("Sign out").await;
        browser.says("[role=status]", "You have signed out.").await;

        browser.press("Forgot your password?").await;
        browser.is_at("Forgot your password?").await;
        check("forgotten").await;
        browser.fill("name", "administrator").await;
        enter_in(&browser, "name", "\u{e007}").await;
        browser.says("[role=status]", SENT).await;
        check("forgotten-sent").await;
        let mails = sink.wait_for(2).await;
        let text = mails[1].text();
        let (_, path) = text.split_once("https://www.example.com/administrator").unwrap();
        browser.goto(path.split_whitespace().next().unwrap()).await;
        browser.is_at("Choose a new password").await;
        check("new-password").await;
        browser.fill("password", NEW).await;
        enter_in(&browser, "password", "\u{e007}").await;
        browser.says("[role=status]", "Your password was set. Sign in with it.").await;
        browser.goto(path.split_whitespace().next().unwrap()).await;
        browser.is_at("This link is no longer good").await;
        check("link-gone").await;
        browser.goto("/sign-in").await;
        browser.sign_in("administrator", NEW).await;
        browser.is_at("Dashboard").await;
        browser.goto("/users/new").await;
        check("user-invited").await;
        browser.close().await;
    }
    review.passes();
}

/// Presses a key in a field.
async fn enter_in(browser: &Browser, name: &str, key: &str) {
    let field = browser.client.find(fantoccini::Locator::Id(name)).await.unwrap();
    field.send_keys(key).await.unwrap();
}
