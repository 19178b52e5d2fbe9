//! A user of the host, as plugins see one.

use abi_stable::StableAbi;
use abi_stable::std_types::RString;

/// A user of the host. Passwords, tokens and groups never cross.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
pub struct User {
    id: i64,
    username: RString,
    name: RString,
    email: RString,
}

impl User {
    /// A user by its key, its name to sign in with, its display name and its e-mail address.
    pub fn new(
        id: i64,
        username: impl Into<String>,
        name: impl Into<String>,
        email: impl Into<String>,
    ) -> Self {
        Self {
            id,
            username: RString::from(username.into()),
            name: RString::from(name.into()),
            email: RString::from(email.into()),
        }
    }

    /// The primary key, greater than zero.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The name to sign in with.
    pub fn username(&self) -> &str {
        self.username.as_str()
    }

    /// The name to show.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The e-mail address.
    pub fn email(&self) -> &str {
        self.email.as_str()
    }
}

/// By what a user is looked up.
#[repr(C, u8)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
#[allow(private_interfaces, reason = "the text is read through `UserQuery::text`")]
pub enum UserQuery {
    /// The primary key.
    Id(i64),
    /// The name to sign in with, without regard to case.
    Username(Text),
    /// The e-mail address, without regard to case.
    Email(Text),
}

/// Text as it crosses, opaque to both sides.
#[repr(transparent)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
pub struct Text(RString);

impl UserQuery {
    /// Asks by the name to sign in with.
    pub fn username(name: impl Into<String>) -> Self {
        Self::Username(Text(RString::from(name.into())))
    }

    /// Asks by the e-mail address.
    pub fn email(address: impl Into<String>) -> Self {
        Self::Email(Text(RString::from(address.into())))
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_str()
    }
}
