//! The app of a second factor: it makes codes from the key that a page has shown. It is written from the standards (RFC
//! 4226, 4648 and 6238), and shares no code with the host.

use std::time::SystemTime;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::support::harness::Shop;
use crate::support::visitor::{Visitor, field};

/// A phone with the key of a user.
pub struct Phone {
    /// In base 32.
    pub key: String,
}

impl Phone {
    /// A phone that has read the key on a page.
    pub fn of(html: &str) -> Phone {
        let (_, rest) = html.split_once("<code id=\"key\">").expect("a page with a key");
        Phone { key: rest.split_once('<').unwrap().0.replace(' ', "") }
    }

    /// The code of so many steps after this moment.
    pub fn code(&self, steps: i64) -> String {
        let moment = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        self.code_at(i64::try_from(moment).unwrap() + 30 * steps)
    }

    /// The code of a moment, in seconds since 1970.
    pub fn code_at(&self, moment: i64) -> String {
        let mut bits = String::new();
        for digit in self.key.bytes() {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'2'..=b'7' => digit - b'2' + 26,
                other => panic!("{other} is no digit of base 32"),
            };
            bits += &format!("{value:05b}");
        }
        let bytes = bits.as_bytes().chunks_exact(8);
        let key: Vec<u8> = bytes
            .map(|bits| u8::from_str_radix(std::str::from_utf8(bits).unwrap(), 2).unwrap())
            .collect();
        let mut mac = Hmac::<Sha1>::new_from_slice(&key).unwrap();
        mac.update(&u64::try_from(moment / 30).unwrap().to_be_bytes());
        let hash = mac.finalize().into_bytes();
        let place = usize::from(hash[19] & 0xf);
        let number = u32::from_be_bytes(hash[place..place + 4].try_into().unwrap()) & 0x7fff_ffff;
        format!("{:06}", number % 1_000_000)
    }
}

/// A user who has signed in and set up a second factor: the visitor, the phone and the recovery codes.
pub async fn set_up(shop: &Shop, username: &str) -> (Visitor, Phone, Vec<String>) {
    let mut visitor = Visitor::signed_in(shop, username).await;
    let (phone, codes) = turn_on(&mut visitor).await;
    forget_codes(shop).await;
    (visitor, phone, codes)
}

/// Sets up a second factor for a visitor who has signed in.
pub async fn turn_on(visitor: &mut Visitor) -> (Phone, Vec<String>) {
    let page = visitor.get("/account/second-factor").await;
    let (phone, key) = (Phone::of(&page.html), field(&page.html, "key").unwrap().to_owned());
    let fields = [("key", key.as_str()), ("code", &phone.code(0))];
    let seen = visitor.post("/account/second-factor", &fields).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    (phone, recovery_codes(&seen.html))
}

/// The recovery codes on a page.
pub fn recovery_codes(html: &str) -> Vec<String> {
    let codes = html.split("<li><code>").skip(1);
    codes.map(|rest| rest.split_once('<').unwrap().0.to_owned()).collect()
}

/// Lets codes be used again, so that a test need not wait for the next one.
pub async fn forget_codes(shop: &Shop) {
    shop.database.execute("UPDATE host_second_factors SET last_step = 0").await;
}
