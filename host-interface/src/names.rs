//! The names by which calls, capabilities, facts and occasions cross. New ones may be added at any time: a side that
//! does not know a call answers that it is unsupported. Knows nothing of what they mean.

/// What a host may offer, by the names that [`Environment::offers`](crate::Environment::offers) and
/// [`Description::requires`](crate::Description::requires) use.
pub mod capability {
    /// The host sends mails: [`HostHandle::send_mail`](crate::HostHandle::send_mail).
    pub const MAIL: &str = "mail";
    /// The host looks up users: [`HostHandle::find_user`](crate::HostHandle::find_user).
    pub const USERS: &str = "users";
    /// The host reports [events](crate::Event).
    pub const EVENTS: &str = "events";
    /// The host runs [jobs](crate::Job).
    pub const JOBS: &str = "jobs";
    /// The host sends requests to other sites: [`HostHandle::deliver`](crate::HostHandle::deliver).
    pub const DELIVER: &str = "deliver";
    /// The host encrypts what a plugin has to keep secret: [`HostHandle::seal`](crate::HostHandle::seal).
    pub const SECRETS: &str = "secrets";
    /// The host has an audit trail: [`HostHandle::record`](crate::HostHandle::record).
    pub const TRAIL: &str = "trail";
    /// The host copies and erases a person's data on the whole site:
    /// [`HostHandle::export_person`](crate::HostHandle::export_person).
    pub const PRIVACY: &str = "privacy";
    /// The host passes large bodies of requests on in pieces, and sends bodies of responses in pieces.
    pub const STREAMS: &str = "streams";
}

/// What a host may know about a request or a caller, by the names that
/// [`Request::fact`](crate::Request::fact) and [`Caller::fact`](crate::Caller::fact) use. Any of it may be
/// absent.
pub mod fact {
    /// Of a request: the address of the client, as text.
    pub const CLIENT_ADDRESS: &str = "client.address";
    /// Of a request: the header `traceparent`, as W3C Trace Context defines it.
    pub const TRACE_PARENT: &str = "trace.parent";
    /// Of a request to a route that [waits](crate::Route::waits): for how many seconds the plugin may hold
    /// the answer open, from `1` to `60`. See [`Request::wait`](crate::Request::wait).
    pub const WAIT: &str = "wait";
    /// Of a request: how many bytes the host wants an answer to have at most, unless it is a stream. See
    /// [`Request::answer_limit`](crate::Request::answer_limit).
    pub const ANSWER_LIMIT: &str = "answer.limit";
    /// Of a request: how many bytes its body may have, also once it is expanded.
    pub const BODY_LIMIT: &str = "body.limit";
    /// Of a caller: the user's name to sign in with.
    pub const USER_USERNAME: &str = "user.username";
    /// Of a caller: the user's name to show.
    pub const USER_NAME: &str = "user.name";
    /// Of a caller: the user's e-mail address.
    pub const USER_EMAIL: &str = "user.email";
    /// Of a caller with a token: what identifies the token, which is not its secret.
    pub const TOKEN_ID: &str = "token.id";
    /// Of a caller with a token: the name that its user gave it.
    pub const TOKEN_NAME: &str = "token.name";
    /// Of a caller with a token that has scopes: the scopes, separated by spaces, in the form that
    /// [`HostHandle::caller_within`](crate::HostHandle::caller_within) takes. It means the same whatever
    /// extensions come later.
    pub const TOKEN_SCOPES: &str = "token.scopes";
}

/// Why a request that a host sent for a plugin has no answer, by the names that
/// [`Delivered::error`](crate::Delivered::error) uses. Later hosts may know more of them.
pub mod undelivered {
    /// The name of the receiver could not be resolved.
    pub const DNS: &str = "dns";
    /// The address of the receiver is not allowed.
    pub const ADDRESS: &str = "address";
    /// There was no connection, or it ended before the answer.
    pub const CONNECT: &str = "connect";
    /// The receiver's certificate is not trusted, or the handshake failed.
    pub const TLS: &str = "tls";
    /// The time was over.
    pub const TIMEOUT: &str = "timeout";
}

/// When a host runs a [command](crate::Command) of its own accord, by the names that
/// [`Command::occasions`](crate::Command::occasions) has. A host need not know any of them.
pub mod occasion {
    /// Somebody tries the site out: it is new, and is to have data to look at.
    pub const TRIAL: &str = "trial";
    /// The site's databases were restored from a backup. What the plugin has reported to others since that
    /// backup is not true any more, so that they have to start over.
    pub const RESTORED: &str = "restored";
}

/// Calls of a host to a plugin.
pub(crate) mod plugin {
    pub(crate) const DESCRIBE: &str = "describe";
    pub(crate) const OPENAPI: &str = "openapi";
    pub(crate) const START: &str = "start";
    pub(crate) const INSTALL: &str = "install";
    pub(crate) const COMMAND: &str = "command";
    pub(crate) const COPY: &str = "copy";
    pub(crate) const HEALTH: &str = "health";
    pub(crate) const METRICS: &str = "metrics";
    pub(crate) const PANEL: &str = "panel";
    pub(crate) const DETAIL_PANEL: &str = "detail_panel";
    pub(crate) const AUTHENTICATE: &str = "authenticate";
    pub(crate) const CHECK_PARAMETER: &str = "check_parameter";
    pub(crate) const EVENT: &str = "event";
    pub(crate) const JOB: &str = "job";
    pub(crate) const EXPORT_PERSON: &str = "export_person";
    pub(crate) const ERASE_PERSON: &str = "erase_person";
    pub(crate) const SHUTDOWN: &str = "shutdown";
}

/// Calls of a plugin to a host.
pub(crate) mod host {
    pub(crate) const PARAMETERS: &str = "parameters";
    pub(crate) const PROGRESS: &str = "progress";
    pub(crate) const WAKE: &str = "wake";
    pub(crate) const FIND_USER: &str = "find_user";
    pub(crate) const SEND_MAIL: &str = "send_mail";
    pub(crate) const DELIVER: &str = "deliver";
    pub(crate) const MAY_DELIVER: &str = "may_deliver";
    pub(crate) const SEAL: &str = "seal";
    pub(crate) const UNSEAL: &str = "unseal";
    pub(crate) const RECORD: &str = "record";
    pub(crate) const MISSING_SCOPE: &str = "missing_scope";
    pub(crate) const EXPORT_PERSON: &str = "export_person";
    pub(crate) const ERASE_PERSON: &str = "erase_person";
    pub(crate) const ERASE_AGAIN: &str = "erase_again";
    pub(crate) const EMAIL_HASH: &str = "email_hash";
}
