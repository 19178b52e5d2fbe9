//! Who runs this program, as the system knows them. The environment is not asked: anybody can be
//! called anything there.

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operator {
    /// The name to log in with, or the number where the system has no name for it.
    pub(crate) name: String,
    pub(crate) uid: Option<u32>,
}

impl Operator {
    /// Whose process this is.
    #[cfg(unix)]
    pub(crate) fn of_this_process() -> Self {
        let uid = uzers::get_current_uid();
        // A container often has a user whom nobody has given a name.
        let known = uzers::get_user_by_uid(uid);
        let name = known.map(|user| user.name().to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| format!("uid {uid}"));
        Self { name, uid: Some(uid) }
    }

    /// Whose process this is, where there are no numbers of users.
    #[cfg(not(unix))]
    pub(crate) fn of_this_process() -> Self {
        Self { name: String::new(), uid: None }
    }
}
