//! What plugins may ask a site as a whole about persons. It stands apart from the site, because the services that plugins
//! are given exist before the site does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use host_interface::{Body, ErasedEverywhere, Erasure, Error, Person};

/// A site, as far as it answers its plugins about persons.
pub(crate) trait Persons: Send + Sync {
    /// Everything that the site keeps about a person, for an extension that this user has asked.
    fn export(
        self: Arc<Self>,
        extension: String,
        person: Person,
        by: i64,
    ) -> BoxFuture<'static, Result<Body, Error>>;

    /// Removes what the site keeps about a person, for an extension.
    fn erase(
        self: Arc<Self>,
        extension: String,
        erasure: Erasure,
    ) -> BoxFuture<'static, Result<ErasedEverywhere, Error>>;

    /// Erases all persons again who were erased before, for an extension.
    fn erase_again(self: Arc<Self>, extension: String) -> BoxFuture<'static, Result<u64, Error>>;
}
