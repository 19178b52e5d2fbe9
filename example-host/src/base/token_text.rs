//! The text of an API token: `ost_`, 32 random bytes and a checksum, in digits and letters. Programs that
//! look for leaked secrets recognise one, and a mistyped one is refused without a look at the database. What
//! a token gives access to is not decided here.

use sha2::{Digest, Sha256};

/// How a token begins.
const PREFIX: &str = "ost_";

/// How many digits 32 bytes have in base 62.
const RANDOM: usize = 43;

/// How many digits the checksum has: the first 32 bits of the SHA-256 of all that precedes it.
const CHECKSUM: usize = 6;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new token.
pub(crate) fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(of(&bytes))
}

/// Whether a text can be a token. Those from before this form have 64 hexadecimal digits, and are not
/// checked further.
pub(crate) fn may_be_one(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX) else { return true };
    rest.is_ascii()
        && rest.len() == RANDOM + CHECKSUM
        && text.get(PREFIX.len() + RANDOM..)
            == text.get(..PREFIX.len() + RANDOM).map(checksum).as_deref()
}

fn of(bytes: &[u8; 32]) -> String {
    let mut text = format!("{PREFIX}{}", digits(bytes, RANDOM));
    let checksum = checksum(&text);
    text.push_str(&checksum);
    text
}

fn checksum(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    digits(hash.get(..4).unwrap_or_default(), CHECKSUM)
}

/// A number, given by its bytes from the highest to the lowest, in so many digits of base 62.
fn digits(number: &[u8], count: usize) -> String {
    let mut number = number.to_vec();
    let mut digits: Vec<u8> = (0..count)
        .map(|_| {
            let mut rest = 0_usize;
            for byte in &mut number {
                let value = (rest << 8) | usize::from(*byte);
                // The quotient is less than 256, because the rest is less than 62.
                *byte = u8::try_from(value / 62).unwrap_or_default();
                rest = value % 62;
            }
            DIGITS.get(rest).copied().unwrap_or(b'0')
        })
        .collect();
    digits.reverse();
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_in_the_digits() {
        assert_eq!(digits(&[0; 32], RANDOM), "0".repeat(RANDOM));
        assert_eq!(digits(&[0, 61], 3), "00z");
        assert_eq!(digits(&[1, 0], 3), "048");
        assert_eq!(digits(&[255; 32], RANDOM), "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1");
        // One digit more is not needed for any number of 32 bytes.
        assert!(digits(&[255; 32], RANDOM + 1).starts_with('0'));
    }

    #[test]
    fn a_mistyped_token_is_recognised() -> Result<(), getrandom::Error> {
        let token = random()?;
        assert_eq!(token.len(), 53);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        assert!(may_be_one(&token));
        for at in PREFIX.len()..token.len() {
            let other = if token.as_bytes().get(at) == Some(&b'x') { "y" } else { "x" };
            let mut mistyped = token.clone();
            mistyped.replace_range(at..=at, other);
            assert!(!may_be_one(&mistyped), "{mistyped}");
        }
        for wrong in ["ost_", "ost_é", &token[..52], &format!("{token}0")] {
            assert!(!may_be_one(wrong), "{wrong}");
        }
        assert!(may_be_one(&"0af1".repeat(16)), "a token of the form before");
        Ok(())
    }
}
