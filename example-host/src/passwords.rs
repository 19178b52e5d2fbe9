//! Passwords: what one has to be, what is kept of one, and whether one is right. Refuses to know
//! whose a password is and how often somebody has tried.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

use crate::error::Error;

/// How many characters a password has at least. Length is what makes one hard to guess, so nothing
/// is said about which characters.
const SHORTEST: usize = 12;

/// How many it has at most: more than anybody types, and nothing to keep a processor busy with.
const LONGEST: usize = 1000;

/// What is kept of a password: Argon2id with its recommended parameters.
pub(crate) async fn hash(password: String) -> Result<String, Error> {
    check(&password)?;
    apart(move || hash_now(&password)).await
}

/// Whether a password is the one that this was kept of. Where nothing was kept it never is, which
/// takes just as long to find out, so that nobody learns from it who has a password.
pub(crate) async fn verify(password: String, kept: Option<String>) -> Result<bool, Error> {
    if password.chars().count() > LONGEST {
        return Ok(false);
    }
    apart(move || match kept {
        Some(kept) => Ok(is_hash_of(&password, &kept)),
        None => hash_now(&password).map(|_| false),
    })
    .await
}

/// Refuses what is no password.
fn check(password: &str) -> Result<(), Error> {
    match password.chars().count() {
        0 => Err(Error::Invalid("the password is empty".to_owned())),
        SHORTEST..=LONGEST => Ok(()),
        _ => Err(Error::Invalid(format!("a password has {SHORTEST} to {LONGEST} characters"))),
    }
}

fn hash_now(password: &str) -> Result<String, Error> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| Error::Password(error.to_string()))
}

fn is_hash_of(password: &str, kept: &str) -> bool {
    Argon2::default().verify_password(password.as_bytes(), kept).is_ok()
}

/// Does the work on a thread that may be kept busy.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::Password(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_right_and_every_other_one_is_wrong() {
        let kept = hash("correct horse battery".to_owned()).await.ok();
        assert!(kept.as_ref().is_some_and(|kept| kept.starts_with("$argon2id$")));
        for (password, right) in [
            ("correct horse battery", true),
            ("correct horse batterY", false),
            ("correct horse battery ", false),
            ("", false),
        ] {
            let verified = verify(password.to_owned(), kept.clone()).await;
            assert_eq!(verified.ok(), Some(right), "{password:?}");
        }
        assert_eq!(verify("correct horse battery".to_owned(), None).await.ok(), Some(false));
    }

    #[test]
    fn only_length_counts() {
        assert!(check("").is_err());
        assert!(check("elevenchars").is_err());
        assert!(check("twelve chars").is_ok());
        assert!(check("zwölf Zeichen").is_ok());
        assert!(check(&"x".repeat(1001)).is_err());
    }
}
