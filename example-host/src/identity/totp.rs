//! The codes that the app of a second factor shows: TOTP as of RFC 6238, with SHA-1, six digits and steps of 30
//! seconds, because that is what every app can do. Knows neither users nor where keys are kept.

use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::Sha1;
use subtle::ConstantTimeEq;

/// The time for which an app shows a code, in seconds.
const STEP: i64 = 30;

/// How many steps a device may be before or behind.
const TOLERANCE: i64 = 1;

/// The number of digits of a code.
const DIGITS: usize = 6;

/// The alphabet of base 32 (RFC 4648).
const BASE_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// What is escaped in the address of a key: whatever is not unreserved in an address (RFC 3986).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A key that the host shares with an app: as long as its hash, as RFC 4226 recommends.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key([u8; 20]);

impl Key {
    /// A new key.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 20];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The key in a text that [`Key::text`] made.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut bytes = [0; 20];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// The text that is kept.
    pub(crate) fn text(&self) -> String {
        hex::encode(self.0)
    }

    /// The text that people type into an app.
    pub(crate) fn base_32(&self) -> String {
        base_32(&self.0)
    }

    /// The address that apps read from an image.
    pub(crate) fn address(&self, site: &str, username: &str) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        let (site, username, secret) = (encoded(site), encoded(username), self.base_32());
        format!("otpauth://totp/{site}:{username}?secret={secret}&issuer={site}")
    }

    /// The step whose code this is: one around this moment, in seconds since 1970, and after the last step
    /// whose code was used. All are compared, so that the time does not reveal which one it is.
    pub(crate) fn step_of(&self, code: &str, moment: i64, last: i64) -> Option<i64> {
        let now = moment.div_euclid(STEP);
        let mut found = None;
        for step in (now - TOLERANCE..=now + TOLERANCE).rev() {
            let is_it = self.code(step).as_bytes().ct_eq(code.as_bytes());
            if bool::from(is_it) && step > last {
                found = Some(step);
            }
        }
        found
    }

    /// The code of a step.
    fn code(&self, step: i64) -> String {
        // A short key is followed by zeros (RFC 2104).
        let mut key = [0; 64];
        key[..self.0.len()].copy_from_slice(&self.0);
        let hash: [u8; 20] = Hmac::<Sha1>::new(&key.into())
            .chain_update(step.to_be_bytes())
            .finalize()
            .into_bytes()
            .into();
        // The last half byte chooses four bytes, without their highest bit (RFC 4226, 5.3).
        let [.., last] = hash;
        let chosen = hash.iter().skip(usize::from(last & 15)).take(4);
        let number = chosen.fold(0, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
        format!("{:0DIGITS$}", number % 1_000_000)
    }
}

// A key must not reach a log through a debug format.
crate::base::opaque::opaque!(Key);

/// Whether a text has the form of a code.
pub(crate) fn is_code(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Bytes in base 32; a number of them that is no multiple of five is not padded.
pub(crate) fn base_32(bytes: &[u8]) -> String {
    let digits = bytes.chunks(5).flat_map(|chunk| {
        let (mut number, mut bits) = (0_u64, 0);
        for byte in chunk {
            number = number << 8 | u64::from(*byte);
            bits += 8;
        }
        (0..(bits + 4) / 5).map(move |place| {
            let rest = bits - 5 * (place + 1);
            (if rest < 0 { number << -rest } else { number >> rest }) & 31
        })
    });
    let digits = digits.filter_map(|digit| BASE_32.get(usize::try_from(digit).ok()?));
    digits.map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the examples of both RFCs.
    const EXAMPLE: Key = Key(*b"12345678901234567890");

    #[test]
    fn the_codes_are_those_of_the_standards() {
        // RFC 4226, appendix D.
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
            "399871", "520489",
        ];
        for (step, code) in (0..).zip(codes) {
            assert_eq!(EXAMPLE.code(step), code, "{step}");
        }
        // RFC 6238, appendix B: the last six of eight digits.
        for (moment, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(EXAMPLE.step_of(code, moment, 0), Some(moment / 30), "{moment}");
        }
    }

    #[test]
    fn a_code_is_good_one_step_early_or_late_and_not_after_a_later_one() {
        let code = EXAMPLE.code(1000);
        let step_of = |step: i64, last| EXAMPLE.step_of(&code, step * 30 + 7, last);
        let steps = [998, 999, 1000, 1001, 1002].map(|now| step_of(now, 0));
        assert_eq!(steps, [None, Some(1000), Some(1000), Some(1000), None]);
        assert_eq!(step_of(1000, 999), Some(1000));
        assert_eq!([1000, 1001].map(|last| step_of(1000, last)), [None, None]);
        for wrong in ["", "0", &code[1..], &format!("{code}0"), &format!(" {code}")] {
            assert_eq!(EXAMPLE.step_of(wrong, 30_000, 0), None, "{wrong:?}");
        }
    }

    #[test]
    fn texts_are_those_of_base_32() {
        // RFC 4648, chapter 10, without padding.
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base_32(bytes.as_bytes()), text);
        }
        assert_eq!(EXAMPLE.base_32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(Key::read(&EXAMPLE.text()), Some(EXAMPLE));
        assert_eq!(Key::read("31"), None);
        assert_eq!(format!("{EXAMPLE:?}"), "Key { .. }");
    }

    #[test]
    fn an_address_names_the_site_and_the_user() {
        assert_eq!(
            EXAMPLE.address("shop.example:8080", "ann & bob"),
            "otpauth://totp/shop.example%3A8080:ann%20%26%20bob\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=shop.example%3A8080"
        );
    }

    #[test]
    fn codes_have_six_digits() {
        assert!(is_code("005924"));
        for wrong in ["", "05924", "0059240", "00592a", "00592٣"] {
            assert!(!is_code(wrong), "{wrong}");
        }
    }
}
