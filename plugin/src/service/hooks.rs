//! Services: what is done with the records of a resource beyond what its description implies, as functions
//! that its file names. Nothing here knows any of them.

use futures_util::future::BoxFuture;
use host_interface::{Method, Response};

use super::call::Call;
use crate::error::Error;
use crate::model::field::{Complaint, Field};
use crate::model::parameters::Parameters;
use crate::model::record::Record;
use crate::model::resource::{Report, Resource};
use crate::store::Transaction;
use crate::wire::draft::Draft;

/// A resource, and what its file adds to the five operations.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The resource.
    pub of: &'static Resource,
    /// How a record is created, where that is special.
    pub create: Option<Operation>,
    /// How a record is removed, where that is special.
    pub delete: Option<Operation>,
    /// Works out what follows from what a body gives, before it is checked. Gets the record as it
    /// was, where there is one.
    pub derive: Option<Derive>,
    /// What else is to be written once a record has been created: gets its key, and the record.
    pub after_insert: Option<AfterInsert>,
    /// Carries a change of the record over to others that depend on it: gets the record as it was and as
    /// it is.
    pub after_update: Option<AfterUpdate>,
    /// Routes beside the usual ones.
    pub special: &'static [Special],
    /// What else must be true of a record as it would be after a write.
    pub check: fn(&Record) -> Result<Vec<Complaint>, Error>,
    /// Whether the store permits that a record is deleted.
    pub deletable: fn(&Record, &Parameters) -> Result<(), Error>,
    /// What the store does not permit of a change of a record, which is given as it is and as it would be.
    pub changeable: fn(&Record, &Record, &Parameters) -> Result<Vec<Complaint>, Error>,
}

impl Service {
    /// The five operations as they are for most resources.
    pub const fn of(resource: &'static Resource) -> Self {
        Self {
            of: resource,
            create: None,
            delete: None,
            derive: None,
            after_insert: None,
            after_update: None,
            special: &[],
            check: |_| Ok(Vec::new()),
            deletable: |_, _| Ok(()),
            changeable: |_, _, _| Ok(Vec::new()),
        }
    }
}

/// What one of the functions does, in its time.
pub type Step<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// An operation that a resource's file defines by itself.
pub type Operation = for<'a> fn(&'a Call<'a>) -> Step<'a, Response>;

/// See [`Service::derive`].
pub type Derive = for<'a> fn(&'a mut Draft, Option<&'a Record>, &'a mut Scene<'_>) -> Step<'a, ()>;

/// See [`Service::after_insert`].
pub type AfterInsert = for<'a> fn(i64, &'a Record, &'a mut Scene<'_>) -> Step<'a, ()>;

/// See [`Service::after_update`].
pub type AfterUpdate = for<'a> fn(&'a Record, &'a Record, &'a mut Scene<'_>) -> Step<'a, ()>;

/// What a write happens in.
pub struct Scene<'a> {
    /// The request.
    pub call: &'a Call<'a>,
    /// Everything that the write does.
    pub transaction: &'a mut Transaction,
}

/// A route beside the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    /// The method.
    pub method: Method,
    /// The path below the store's.
    pub path: &'static str,
    /// The route's name, after the resource's kind.
    pub name: &'static str,
    /// The permission that it needs on the resource's asset.
    pub action: Option<&'static str>,
    /// The kind of the resource whose asset it is, where that is another one.
    pub asset: Option<&'static str>,
    /// The fields that its body has.
    pub takes: Option<&'static Resource>,
    /// What it answers with.
    pub gives: Gives,
    /// What it does.
    pub run: Operation,
}

/// What a route beside the usual ones answers with.
#[derive(Clone, Copy, Debug)]
pub enum Gives {
    /// A new record.
    New(&'static Resource),
    /// A record.
    One(&'static Resource),
    /// A page of records that are worked out from a view, with these attributes.
    Computed(&'static Resource, &'static [Field]),
    /// A report.
    Report(&'static Report),
    /// One record whose attributes depend on the site.
    Open,
}
