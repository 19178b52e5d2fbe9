//! Services: the behaviour of a resource beyond what its description implies, as functions that its
//! file provides. Independent of particular resources.

use futures_util::future::BoxFuture;
use host_interface::{Method, Response};

use super::call::{Call, Shop};
use super::write::Write;
use crate::error::Error;
use crate::model::field::{Complaint, Field};
use crate::model::parameters::Parameters;
use crate::model::question::Condition;
use crate::model::record::Record;
use crate::model::resource::{Report, Resource};
use crate::wire::draft::Draft;

/// A resource, and the additions of its file to the five operations.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The resource.
    pub of: &'static Resource,
    /// Answers a request to create a record in place of the usual operation.
    pub create: Option<Operation>,
    /// Answers a request to delete a record in place of the usual operation.
    pub delete: Option<Operation>,
    /// Replaces the usual checks and insertion of the record that a draft describes. Returns its key.
    pub insert: Option<Insert>,
    /// Derives values from those in the body, before they are checked. Receives the present record,
    /// if it exists.
    pub derive: Option<Derive>,
    /// Writes further rows after a record has been inserted. Receives its key and the record.
    pub after_insert: Option<AfterInsert>,
    /// Changes dependent records before a record is updated. Receives it as it was and as it will be.
    pub before_update: Option<BeforeUpdate>,
    /// Whether a write changes other records of the resource too. Receives what it has written, and the record as it
    /// was, if it existed.
    pub spreads: Spreads,
    /// Writes further rows before a record is deleted, and with it its parts. Receives the record.
    pub before_delete: Option<OnDelete>,
    /// Writes further rows after a record has been deleted. Receives the record.
    pub after_delete: Option<OnDelete>,
    /// Adds conditions to those of the filters of a list, which it receives.
    pub narrow: Option<Narrow>,
    /// The conditions on the records that a user may see, where no permission decides about all of them.
    pub visible: Option<Visible>,
    /// Whether files of records of any type are posted to its list, which has what became of them.
    pub takes_files: bool,
    /// Additional routes.
    pub special: &'static [Special],
    /// Checks further rules on a record as it would be after a write.
    pub check: fn(&Record) -> Result<Vec<Complaint>, Error>,
    /// Whether the store permits the deletion of a record.
    pub deletable: fn(&Record, &Parameters) -> Result<(), Error>,
    /// Returns complaints about a change of a record, which is given before and after.
    pub changeable: fn(&Record, &Record, &Parameters) -> Result<Vec<Complaint>, Error>,
}

impl Service {
    /// The five operations without additions, as for most resources.
    pub const fn of(resource: &'static Resource) -> Self {
        Self {
            of: resource,
            create: None,
            delete: None,
            insert: None,
            derive: None,
            after_insert: None,
            before_update: None,
            spreads: |_, _| Ok(false),
            before_delete: None,
            after_delete: None,
            narrow: None,
            visible: None,
            takes_files: false,
            special: &[],
            check: |_| Ok(Vec::new()),
            deletable: |_, _| Ok(()),
            changeable: |_, _, _| Ok(Vec::new()),
        }
    }
}

/// The future that a hook returns.
pub type HookFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// An operation that a resource's file provides.
pub type Operation = for<'a> fn(&'a Call<'a>) -> HookFuture<'a, Response>;

/// See [`Service::insert`].
pub type Insert = for<'a> fn(&'a mut Draft, &'a mut Write<'_>) -> HookFuture<'a, i64>;

/// See [`Service::derive`].
pub type Derive =
    for<'a> fn(&'a mut Draft, Option<&'a Record>, &'a mut Write<'_>) -> HookFuture<'a, ()>;

/// See [`Service::after_insert`].
pub type AfterInsert = for<'a> fn(i64, &'a Record, &'a mut Write<'_>) -> HookFuture<'a, ()>;

/// See [`Service::before_update`].
pub type BeforeUpdate = for<'a> fn(&'a Record, &'a Record, &'a mut Write<'_>) -> HookFuture<'a, ()>;

/// See [`Service::spreads`].
pub type Spreads = fn(&Draft, Option<&Record>) -> Result<bool, Error>;

/// See [`Service::before_delete`] and [`Service::after_delete`].
pub type OnDelete = for<'a> fn(&'a Record, &'a mut Write<'_>) -> HookFuture<'a, ()>;

/// See [`Service::narrow`].
pub type Narrow = for<'a> fn(&'a Shop, &'a [Condition]) -> HookFuture<'a, Vec<Condition>>;

/// See [`Service::visible`].
pub type Visible = fn(&Call<'_>) -> Result<Vec<Condition>, Error>;

/// An additional route.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    /// The method.
    pub method: Method,
    /// The path below the store's.
    pub path: &'static str,
    /// The route's name, after the resource's kind.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// The permission that it needs on the resource's asset.
    pub action: Option<&'static str>,
    /// The kind of the resource with the asset, if it is another one.
    pub asset: Option<&'static str>,
    /// The fields of its body.
    pub body: Option<&'static Resource>,
    /// The content of its answer.
    pub answer: Answer,
    /// Its operation.
    pub run: Operation,
}

/// The content of the answer of an additional route.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// A new record that is part of another one, and the version of that in a member of `meta`.
    Part(&'static Resource, &'static str),
    /// A record.
    One(&'static Resource),
    /// A record that is in a list only: it has neither a route of its own nor a version.
    Entry(&'static Resource),
    /// All records that the request has changed, without pages.
    All(&'static Resource),
    /// A page of records with these attributes, computed from a view.
    Computed(&'static Resource, &'static [Field]),
    /// A page of the feed of changes.
    Changes,
    /// All records of a type, as a stream.
    Export,
    /// What the site has of a person, or did to it, by the name of the route. The host composes it.
    Person(&'static str),
    /// A report.
    Report(&'static Report),
    /// One record whose attributes depend on the site.
    Open,
}
