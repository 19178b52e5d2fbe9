//! The thread that hashes passwords, and its memory. There is one in the whole process, because
//! guessed passwords are not to take the processors and the memory from requests to the API: Argon2id
//! uses 19 MiB, which an allocator does not give back reliably.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::{self, CustomizedPasswordHasher, PasswordVerifier, try_generate_salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use tokio::sync::oneshot;

use crate::base::error::Error;
use crate::base::lock::lock;

/// How much the thread gives way to others, as a change of its nice value: under full load it still
/// gets a quarter of what each of them does.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// The thread, once there is one.
static HASHING: Mutex<Option<Sender<Work>>> = Mutex::new(None);

type Work = Box<dyn FnOnce(&Hasher) + Send>;

/// Hashes with Argon2id in memory that is kept for the next password.
#[derive(Default)]
pub(super) struct Hasher {
    memory: RefCell<Vec<Block>>,
}

impl Hasher {
    /// The hash to store for a password, with a new salt and the recommended parameters.
    pub(super) fn hash(&self, password: &[u8]) -> password_hash::Result<PasswordHash> {
        let salt = try_generate_salt().map_err(|_| password_hash::Error::Crypto)?;
        self.hash_password_with_params(password, &salt, Params::default())
    }

    /// Whether a password has this hash, with the parameters that it was made with.
    pub(super) fn is_hash_of(&self, password: &[u8], kept: &str) -> bool {
        PasswordHash::new(kept).is_ok_and(|kept| self.verify_password(password, &kept).is_ok())
    }
}

/// Hashes as [`Argon2`] does, in memory that is used again.
impl CustomizedPasswordHasher<PasswordHash> for Hasher {
    type Params = Params;

    fn hash_password_customized(
        &self,
        password: &[u8],
        salt: &[u8],
        algorithm: Option<&str>,
        version: Option<u32>,
        params: Params,
    ) -> password_hash::Result<PasswordHash> {
        let algorithm = algorithm.map(Algorithm::try_from).transpose()?.unwrap_or_default();
        let version = version.map(Version::try_from).transpose()?.unwrap_or_default();
        let mut output = [0; Output::MAX_LENGTH];
        let length = params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
        let output = output.get_mut(..length).ok_or(password_hash::Error::OutputSize)?;
        let text = ParamsString::try_from(&params)?;
        let mut memory = self.memory.borrow_mut();
        let count = params.block_count();
        memory.resize(count, Block::new());
        let argon2 = Argon2::new(algorithm, version, params);
        argon2.hash_password_into_with_memory(password, salt, output, memory.as_mut_slice())?;
        Ok(PasswordHash {
            algorithm: algorithm.ident(),
            version: Some(version.into()),
            params: text,
            salt: Some(Salt::new(salt)?),
            hash: Some(Output::new(output)?),
        })
    }
}

/// Runs work on the thread, after what was given to it before. If the caller is cancelled meanwhile,
/// it is not begun.
pub(super) async fn in_turn<T: Send + 'static>(
    work: impl FnOnce(&Hasher) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (done, finished) = oneshot::channel();
    let work = move |hasher: &Hasher| {
        if !done.is_closed() {
            let _ = done.send(work(hasher));
        }
    };
    give(Box::new(work)).map_err(|error| Error::Password(error.to_string()))?;
    // Nothing is sent if the work panics.
    finished.await.unwrap_or_else(|error| Err(Error::Password(error.to_string())))
}

/// How long processors have worked on this thread. The time in which it waits for one is not included, because a
/// password costs no more where others need the processors. On other systems than Linux it is.
pub(super) fn worked() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let worked = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(worked).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    {
        static BEGUN: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        BEGUN.elapsed()
    }
}

/// Gives work to the thread, and begins it if there is none.
fn give(work: Work) -> std::io::Result<()> {
    let mut hashing = lock(&HASHING);
    let thread = match &*hashing {
        Some(thread) => thread,
        None => {
            let (thread, given) = mpsc::channel::<Work>();
            std::thread::Builder::new().name("passwords".to_owned()).spawn(move || {
                give_way();
                let hasher = Hasher::default();
                for work in given {
                    // A panic is the failure of this work only.
                    let _ = catch_unwind(AssertUnwindSafe(|| work(&hasher)));
                }
            })?;
            hashing.insert(thread)
        }
    };
    thread.send(work).map_err(|error| std::io::Error::other(error.to_string()))
}

/// Lowers the priority of this thread. If the system does not allow that, it keeps its own.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

#[cfg(test)]
mod tests {
    use argon2::PasswordHasher;

    use super::*;

    #[test]
    fn hashes_are_those_of_argon2_in_memory_of_any_previous_use() {
        let hasher = Hasher::default();
        let small = Params::new(64, 1, 1, None).map(Argon2::from);
        let kept = small.is_ok_and(|small| {
            let kept = small.hash_password_with_salt(b"secret", b"salt for a test");
            kept.is_ok_and(|kept| hasher.is_hash_of(b"secret", &kept.to_string()))
        });
        assert!(kept, "with other parameters");
        let expected = Argon2::default().hash_password_with_salt(b"secret", b"salt for a test");
        for _ in 0..2 {
            let hash =
                hasher.hash_password_with_params(b"secret", b"salt for a test", Params::default());
            assert_eq!(hash.ok(), expected.clone().ok());
        }
    }

    #[tokio::test]
    async fn work_is_done_in_turn_and_not_for_callers_who_have_left() {
        let (finish, waiting) = mpsc::channel::<()>();
        let (started, begun) = oneshot::channel();
        let first = tokio::spawn(in_turn(move |_| {
            let _ = started.send(());
            let _ = waiting.recv();
            Ok(1)
        }));
        assert!(begun.await.is_ok());
        let left = tokio::spawn(in_turn(|_| -> Result<i32, Error> { std::process::abort() }));
        tokio::task::yield_now().await;
        left.abort();
        assert!(left.await.is_err_and(|error| error.is_cancelled()), "the caller is cancelled");
        drop(finish);
        assert!(first.await.is_ok_and(|done| done.is_ok_and(|one| one == 1)));
    }

    #[tokio::test]
    async fn a_panic_is_the_failure_of_one_password() {
        let failed = in_turn(|_| -> Result<(), Error> { std::panic::resume_unwind(Box::new("x")) });
        assert!(failed.await.is_err());
        assert_eq!(in_turn(|_| Ok(1)).await.ok(), Some(1));
    }
}
