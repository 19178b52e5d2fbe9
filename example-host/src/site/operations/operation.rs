//! What an operation is, apart from what it does.

/// An operation of administrators: who may do it, what the audit trail calls it, and where it is offered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// What the audit trail has about it, for example `block a user`.
    pub(crate) what: &'static str,
    /// The permission on the whole site that a user with a session needs.
    pub(crate) needs: &'static str,
    /// Whether it may take access from somebody, so that it is checked who keeps it.
    pub(crate) takes_access: bool,
    /// The name of the page whose form does it.
    pub(crate) page: Option<&'static str>,
    /// The command that does it.
    pub(crate) command: Option<&'static str>,
}

impl Operation {
    pub(super) const fn new(what: &'static str, needs: &'static str) -> Self {
        Self { what, needs, takes_access: false, page: None, command: None }
    }

    pub(super) const fn page(self, page: &'static str) -> Self {
        Self { page: Some(page), ..self }
    }

    pub(super) const fn command(self, command: &'static str) -> Self {
        Self { command: Some(command), ..self }
    }

    pub(super) const fn takes_access(self) -> Self {
        Self { takes_access: true, ..self }
    }
}
