//! The libraries that a host was to serve and cannot. The others are served; work on what all
//! extensions keep is refused.

use crate::base::error::Error;
use crate::base::text::one_line;

/// A library that this host does not serve.
#[derive(Clone, Debug)]
pub(crate) struct Unserved {
    /// The path of the library.
    pub(crate) file: String,
    /// The reason, as one line.
    pub(crate) reason: String,
}

/// The failures of a start.
#[derive(Default)]
pub(super) struct Failures {
    first: Option<Error>,
    list: Vec<Unserved>,
}

impl Failures {
    pub(super) fn add(&mut self, file: String, error: Error) {
        self.list.push(Unserved { file, reason: one_line(&error) });
        self.first.get_or_insert(error);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Ends a start for which nothing is left to serve, with the first failure.
    pub(super) fn unless_all(mut self, all: bool) -> Result<Self, Error> {
        match self.first.take_if(|_| all) {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The list, after a line in the log for each of them.
    pub(super) fn logged(self) -> Vec<Unserved> {
        for Unserved { file, reason } in &self.list {
            tracing::error!(library = file, reason, "an extension is not served");
        }
        self.list
    }
}
