//! The system user who runs this program. The environment is not used, because every user can set
//! it to any name.

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operator {
    /// The login name, or the number if the system has no name for it.
    pub(crate) name: String,
    pub(crate) uid: Option<u32>,
}

impl Operator {
    /// The user of this process.
    #[cfg(unix)]
    pub(crate) fn of_this_process() -> Self {
        let uid = uzers::get_current_uid();
        // In a container, the user often has no name.
        let known = uzers::get_user_by_uid(uid);
        let name = known.map(|user| user.name().to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| format!("uid {uid}"));
        Self { name, uid: Some(uid) }
    }

    /// The user of this process, on systems without numeric user ids.
    #[cfg(not(unix))]
    pub(crate) fn of_this_process() -> Self {
        Self { name: String::new(), uid: None }
    }
}
