//! Passwords: the rule for their length, hashing and verification. Failed attempts are counted in
//! `failures.rs`.

use std::time::Duration;

use crate::base::error::Error;

use super::hashing::{Hasher, in_turn, worked};

/// The minimum number of characters. Length makes a password hard to guess, so there is no rule
/// about which characters it contains.
const MIN_LENGTH: usize = 12;

/// The maximum number of characters: more than anyone types, and few enough to hash quickly.
const MAX_LENGTH: usize = 1000;

/// Refuses a password of the wrong length.
pub(crate) fn check(password: &str) -> Result<(), Error> {
    match password.chars().count() {
        0 => Err(Error::Invalid("the password is empty".to_owned())),
        MIN_LENGTH..=MAX_LENGTH => Ok(()),
        _ => Err(Error::Invalid(format!(
            "a password must have {MIN_LENGTH} to {MAX_LENGTH} characters"
        ))),
    }
}

/// The hash to store for a password: Argon2id with its recommended parameters.
pub(crate) async fn hash(password: String) -> Result<String, Error> {
    check(&password)?;
    in_turn(move |hasher| hash_now(hasher, &password)).await
}

/// Whether a password matches the stored hash. Without a stored hash the answer is `false` after
/// the same time, so that the time does not reveal which users have a password. Returns also how long
/// a processor worked on it.
pub(crate) async fn verify(
    password: String,
    kept: Option<String>,
) -> Result<(bool, Duration), Error> {
    if password.chars().count() > MAX_LENGTH {
        return Ok((false, Duration::ZERO));
    }
    in_turn(move |hasher| {
        let before = worked();
        let right = match kept {
            Some(kept) => hasher.is_hash_of(password.as_bytes(), &kept),
            None => hash_now(hasher, &password).map(|_| false)?,
        };
        Ok((right, worked().saturating_sub(before)))
    })
    .await
}

fn hash_now(hasher: &Hasher, password: &str) -> Result<String, Error> {
    let hash = hasher.hash(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| Error::Password(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_hashed_password_is_accepted() {
        let kept = hash("correct horse battery".to_owned()).await.ok();
        assert!(kept.as_ref().is_some_and(|kept| kept.starts_with("$argon2id$")));
        for (password, right) in [
            ("correct horse battery", true),
            ("correct horse batterY", false),
            ("correct horse battery ", false),
            ("", false),
        ] {
            let verified = verify(password.to_owned(), kept.clone()).await;
            assert_eq!(verified.ok().map(|(right, _)| right), Some(right), "{password:?}");
        }
        let without = verify("correct horse battery".to_owned(), None).await.ok();
        assert!(without.is_some_and(|(right, took)| !right && !took.is_zero()));
    }

    #[tokio::test]
    async fn the_longest_password_is_accepted_and_a_longer_one_costs_nothing() {
        let longest = "x".repeat(MAX_LENGTH);
        let kept = hash(longest.clone()).await.ok();
        assert!(verify(longest.clone(), kept.clone()).await.is_ok_and(|(right, _)| right));
        let longer = verify(longest + "x", kept).await.ok();
        assert_eq!(longer, Some((false, Duration::ZERO)));
    }

    #[test]
    fn only_the_length_of_a_password_is_checked() {
        assert!(check("").is_err());
        assert!(check("elevenchars").is_err());
        assert!(check("twelve chars").is_ok());
        assert!(check("zwölf Zeichen").is_ok());
        assert!(check(&"x".repeat(1001)).is_err());
    }
}
