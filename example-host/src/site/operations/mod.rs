//! What administrators do to a site: each operation once, in a transaction that also records it in the audit
//! trail, and in effect in every process afterwards. Pages and commands parse what is wanted and phrase what
//! was done; this room knows them only by their names.

mod author;
pub(crate) mod extensions;
pub(crate) mod groups;
mod operation;
pub(crate) mod password_links;
pub(crate) mod permissions;
pub(crate) mod persons;
pub(crate) mod second_factor;
pub(crate) mod tokens;
pub(crate) mod users;

pub(crate) use self::author::Recorded;
pub(crate) use self::operation::Operation;

/// Every operation. Tests hold it against the forms of the pages and against the commands, which find theirs here.
pub(crate) static ALL: [&Operation; 28] = [
    &users::ADD,
    &users::INVITE,
    &users::CHANGE,
    &users::CHANGE_WITH_PASSWORD,
    &users::SET_PASSWORD,
    &users::CHANGE_OWN_PASSWORD,
    &users::BLOCK,
    &users::UNBLOCK,
    &users::SIGN_OUT,
    &users::SIGN_OUT_EVERYWHERE,
    &users::REMOVE,
    &second_factor::TURN_ON,
    &second_factor::RENEW_CODES,
    &second_factor::TURN_OFF,
    &second_factor::REMOVE,
    &tokens::GENERATE,
    &tokens::CREATE,
    &tokens::ROTATE,
    &tokens::REVOKE,
    &groups::ADD,
    &groups::CHANGE,
    &groups::REMOVE,
    &permissions::CHANGE,
    &extensions::ENABLE,
    &extensions::DISABLE,
    &extensions::CHANGE_PARAMETERS,
    &persons::EXPORT,
    &persons::ERASE,
];
