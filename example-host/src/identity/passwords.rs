//! Passwords: the rule for their length, hashing and verification. Failed attempts are counted in
//! `admin/throttle.rs`.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

use tokio::sync::Semaphore;

use crate::base::error::Error;

/// Limits hashing to two passwords at a time in the whole process, because each takes 19 MiB of
/// memory and a processor.
static SLOTS: Semaphore = Semaphore::const_new(2);

/// The minimum number of characters. Length makes a password hard to guess, so there is no rule
/// about which characters it contains.
const MIN_LENGTH: usize = 12;

/// The maximum number of characters: more than anyone types, and few enough to hash quickly.
const MAX_LENGTH: usize = 1000;

/// The hash to store for a password: Argon2id with its recommended parameters.
pub(crate) async fn hash(password: String) -> Result<String, Error> {
    check(&password)?;
    run_blocking(&SLOTS, move || hash_now(&password)).await
}

/// Whether a password matches the stored hash. Without a stored hash the answer is `false` after
/// the same time, so that the time does not reveal which users have a password.
pub(crate) async fn verify(password: String, kept: Option<String>) -> Result<bool, Error> {
    if password.chars().count() > MAX_LENGTH {
        return Ok(false);
    }
    run_blocking(&SLOTS, move || match kept {
        Some(kept) => Ok(is_hash_of(&password, &kept)),
        None => hash_now(&password).map(|_| false),
    })
    .await
}

/// Refuses a password of the wrong length.
fn check(password: &str) -> Result<(), Error> {
    match password.chars().count() {
        0 => Err(Error::Invalid("the password is empty".to_owned())),
        MIN_LENGTH..=MAX_LENGTH => Ok(()),
        _ => Err(Error::Invalid(format!(
            "a password must have {MIN_LENGTH} to {MAX_LENGTH} characters"
        ))),
    }
}

fn hash_now(password: &str) -> Result<String, Error> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| Error::Password(error.to_string()))
}

fn is_hash_of(password: &str, kept: &str) -> bool {
    Argon2::default().verify_password(password.as_bytes(), kept).is_ok()
}

/// Runs work on a blocking thread once a slot is free.
async fn run_blocking<T: Send + 'static>(
    slots: &'static Semaphore,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // The semaphore is never closed; if it were, there would be no limit.
    let slot = slots.acquire().await;
    let working = tokio::task::spawn_blocking(move || {
        // If the caller is cancelled, the work continues, so the slot is released with the work.
        let _slot = slot;
        work()
    });
    let done = working.await;
    done.unwrap_or_else(|error| Err(Error::Password(error.to_string())))
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
            assert_eq!(verified.ok(), Some(right), "{password:?}");
        }
        assert_eq!(verify("correct horse battery".to_owned(), None).await.ok(), Some(false));
    }

    #[tokio::test]
    async fn a_slot_is_held_until_the_work_ends_even_if_the_caller_is_cancelled() {
        static OWN: Semaphore = Semaphore::const_new(1);
        let (finish, waiting) = std::sync::mpsc::channel::<()>();
        let (started, begun) = tokio::sync::oneshot::channel();
        let left = tokio::spawn(run_blocking(&OWN, move || {
            let _ = started.send(());
            let _ = waiting.recv();
            Ok(())
        }));
        assert!(begun.await.is_ok());
        left.abort();
        assert!(left.await.is_err_and(|error| error.is_cancelled()), "the caller is cancelled");
        assert_eq!(OWN.available_permits(), 0, "the work still holds the slot");
        drop(finish);
        assert_eq!(run_blocking(&OWN, || Ok(1)).await.ok(), Some(1), "the slot is free afterwards");
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
