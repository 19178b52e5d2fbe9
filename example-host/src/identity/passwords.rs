//! Passwords: what one has to be, what is kept of one, and whether one is right. Refuses to know
//! whose a password is and how often somebody has tried.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

use tokio::sync::Semaphore;

use crate::base::error::Error;

/// Whose turn it is to hash: two at the same time in the whole process, because each takes 19 MiB
/// and a processor.
static TURNS: Semaphore = Semaphore::const_new(2);

/// How many characters a password has at least. Length is what makes one hard to guess, so nothing
/// is said about which characters.
const SHORTEST: usize = 12;

/// How many it has at most: more than anybody types, and nothing to keep a processor busy with.
const LONGEST: usize = 1000;

/// What is kept of a password: Argon2id with its recommended parameters.
pub(crate) async fn hash(password: String) -> Result<String, Error> {
    check(&password)?;
    apart(&TURNS, move || hash_now(&password)).await
}

/// Whether a password is the one that this was kept of. Where nothing was kept it never is, which
/// takes just as long to find out, so that nobody learns from it who has a password.
pub(crate) async fn verify(password: String, kept: Option<String>) -> Result<bool, Error> {
    if password.chars().count() > LONGEST {
        return Ok(false);
    }
    apart(&TURNS, move || match kept {
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
        _ => {
            Err(Error::Invalid(format!("a password must have {SHORTEST} to {LONGEST} characters")))
        }
    }
}

fn hash_now(password: &str) -> Result<String, Error> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| Error::Password(error.to_string()))
}

fn is_hash_of(password: &str, kept: &str) -> bool {
    Argon2::default().verify_password(password.as_bytes(), kept).is_ok()
}

/// Does the work on a thread that may be kept busy, when it has its turn.
async fn apart<T: Send + 'static>(
    turns: &'static Semaphore,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Nobody closes the semaphore; if somebody did, there would merely be no limit.
    let turn = turns.acquire().await;
    let working = tokio::task::spawn_blocking(move || {
        // Whoever asked may leave meanwhile and the work goes on, so the turn ends with the work.
        let _turn = turn;
        work()
    });
    let done = working.await;
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

    #[tokio::test]
    async fn a_turn_lasts_until_the_work_is_done_although_nobody_waits_for_it() {
        static OWN: Semaphore = Semaphore::const_new(1);
        let (go_on, waiting) = std::sync::mpsc::channel::<()>();
        let (started, begun) = tokio::sync::oneshot::channel();
        let left = tokio::spawn(apart(&OWN, move || {
            let _ = started.send(());
            let _ = waiting.recv();
            Ok(())
        }));
        assert!(begun.await.is_ok());
        left.abort();
        assert!(left.await.is_err_and(|error| error.is_cancelled()), "whoever asked has left");
        assert_eq!(OWN.available_permits(), 0, "the work still has the turn");
        drop(go_on);
        assert_eq!(apart(&OWN, || Ok(1)).await.ok(), Some(1), "the next one has it afterwards");
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
