//! Guessing the codes of a second factor with devices and sessions that only know the password.

use super::second_factor::shop_behind_a_proxy;
use crate::support::harness::Shop;
use crate::support::phone::{Phone, forget_codes, set_up};
use crate::support::visitor::{PASSWORD, Visitor};

/// A visitor from an address of their own.
fn from(shop: &Shop, number: usize) -> Visitor {
    Visitor::of(&shop.url("")).with("x-forwarded-for", &format!("198.51.100.{number}"))
}

/// Enters the password and then wrong codes, and returns how many of them were checked.
async fn guess(visitor: &mut Visitor) -> usize {
    let asked = visitor.sign_in("superuser", PASSWORD).await;
    assert_eq!(asked.to(), "/administrator/sign-in/code?next=");
    let mut checked = 0;
    for _ in 0..5 {
        let status = visitor.post("/sign-in/code", &[("code", "000000")]).await.status;
        assert!([422, 429].contains(&status), "{status}");
        checked += usize::from(status == 422);
    }
    checked
}

async fn enters(visitor: &mut Visitor, phone: &Phone) -> u16 {
    visitor.sign_in("superuser", PASSWORD).await;
    visitor.post("/sign-in/code", &[("code", &phone.code(0))]).await.status
}

#[tokio::test]
async fn devices_that_know_the_password_only_share_ten_attempts_at_a_code() {
    let shop = shop_behind_a_proxy().await;
    // Before there is a second factor, the password is enough for any number of them.
    let mut devices = Vec::new();
    for number in 0..4 {
        let mut device = from(&shop, number);
        assert_eq!(device.sign_in("superuser", PASSWORD).await.status, 303);
        devices.push(device);
    }
    let (mut owner, phone, _) = set_up(&shop, "superuser").await;
    owner.fill("/", "/sign-out", &[]).await;
    let mut checked = 0;
    for device in &mut devices {
        checked += guess(device).await;
    }
    assert_eq!(checked, 10);
    // The owner has shown a code on that device, and is not kept out, nor after the next sign-in there.
    for _ in 0..2 {
        forget_codes(&shop).await;
        assert_eq!(enters(&mut owner, &phone).await, 303);
        owner.fill("/", "/sign-out", &[]).await;
    }
    forget_codes(&shop).await;
    assert_eq!(enters(&mut devices[0], &phone).await, 429, "not even the right one");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_session_that_began_on_a_trusted_browser_shares_the_ten_attempts_too() {
    let shop = shop_behind_a_proxy().await;
    let (mut owner, phone, _) = set_up(&shop, "superuser").await;
    owner.fill("/", "/sign-out", &[]).await;
    owner.sign_in("superuser", PASSWORD).await;
    let seen = owner.post("/sign-in/code", &[("code", &phone.code(0)), ("trust", "1")]).await;
    assert_eq!(seen.status, 303);
    owner.fill("/", "/sign-out", &[]).await;
    // Here the password is enough, so it could be anybody who sits at this browser.
    assert_eq!(owner.sign_in("superuser", PASSWORD).await.to(), "/administrator/");
    owner.get("/account").await;
    for _ in 0..3 {
        let fields = [
            ("current", PASSWORD),
            ("password", "another password"),
            ("confirmation-code", "000000"),
        ];
        let seen = owner.post("/account", &fields).await;
        assert_eq!(seen.status, 422);
        seen.says("This code is wrong");
    }
    let checked = guess(&mut from(&shop, 0)).await + guess(&mut from(&shop, 1)).await;
    assert_eq!(checked, 7);
}
