//! A write: the transaction of a request, and the steps that every write consists of. A transaction may
//! write any number of records, each with a draft of its own. Independent of the rules of resources.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use host_interface::{Method, Response};

use super::call::{Call, missing};
use super::once;
use super::outbox::{self, Outgoing};
use super::taken::Taken;
use crate::error::{Constraint, Error, Fault, FaultKind, Named};
use crate::model::field::{Access, Field};
use crate::model::question::{Check, Page, Shape};
use crate::model::record::Record;
use crate::model::resource::{PartOf, Resource, Unique};
use crate::model::value::Value;
use crate::sql;
use crate::store::Transaction;
use crate::wire::document::Records;
use crate::wire::draft::Draft;
use crate::wire::view::View;
use crate::wire::{answer, document, object, precondition};

/// How many checks one statement has at most.
const CHECKS_AT_ONCE: usize = 100;

/// A write in progress. Nothing is written unless it is committed.
#[derive(Debug)]
pub struct Write<'c> {
    /// The request.
    pub call: &'c Call<'c>,
    /// The transaction.
    pub transaction: Transaction,
    /// Whether mails have been queued, which are sent after the commit.
    has_mail: bool,
    /// Checks that were done beforehand, for several records at once, and passed.
    passed: HashSet<Check>,
    /// Values that count as taken although no record has them.
    pub taken: Option<Arc<Taken>>,
    /// What is known of the records that are written together.
    together: Option<Together>,
}

/// What is inserted later, for several records at once.
#[derive(Debug)]
struct Together {
    /// Entries of ledgers.
    entries: Vec<(&'static str, Entries)>,
    /// How many more records are expected to be new.
    new: usize,
}

/// Entries of a ledger: the columns, and the values of each.
type Entries = (Vec<&'static str>, Vec<Vec<Value>>);

impl<'c> Write<'c> {
    /// Begins the write of a request.
    ///
    /// # Errors
    /// [`Error::Repeated`] with the answer, if the write with the key of the request has been done.
    pub async fn begin(call: &'c Call<'c>) -> Result<Self, Error> {
        let transaction = once::begin(call).await?;
        let (passed, taken, together) = (HashSet::new(), None, None);
        Ok(Self { call, transaction, has_mail: false, passed, taken, together })
    }

    /// Prepares to write several records, of which about so many are new: does these checks of them at once, and from
    /// now on keeps the entries of ledgers until [`write_together`](Self::write_together), and new records where the
    /// engine permits it. Whatever the records do to one another is found by the constraints of the database.
    pub async fn prepare(&mut self, mut checks: Vec<Check>, new: usize) -> Result<(), Error> {
        self.together = Some(Together { entries: Vec::new(), new });
        let mut seen = HashSet::new();
        checks.retain(|check| seen.insert(check.clone()));
        let results = self.ask(&checks.iter().collect::<Vec<_>>()).await?;
        // What does not pass may do so when its record is written.
        let passed = checks.into_iter().zip(results).filter(|(_, passes)| *passes);
        self.passed.extend(passed.map(|(check, _)| check));
        Ok(())
    }

    /// Inserts what has been kept. The commit does so as well; before it, this shows what is wrong with it.
    pub async fn write_together(&mut self) -> Result<(), Error> {
        self.transaction.settle().await?;
        let kept = self.together.take().map(|kept| kept.entries);
        for (ledger, entries) in kept.unwrap_or_default() {
            self.insert_entries(ledger, entries).await?;
        }
        Ok(())
    }

    /// Commits, and returns the answer to the request, which is stored if the request has a key.
    pub async fn commit(mut self, answer: Response) -> Result<Response, Error> {
        self.write_together().await?;
        let answer = once::commit(self.call, self.transaction, answer).await?;
        if self.has_mail {
            self.call.shop.sender.wake();
        }
        Ok(answer)
    }

    /// Locks the record that the request is about, and checks that it has the version that the client
    /// expects.
    ///
    /// # Errors
    /// When there is no such record, or when it has another version.
    pub async fn target(&mut self, resource: &'static Resource, key: i64) -> Result<Record, Error> {
        let record = self.lock(resource, key).await?;
        let request = self.call.request;
        let changes = matches!(request.method(), Method::Patch | Method::Delete);
        let required = changes && self.call.shop.parameters.current()?.require_if_match;
        match precondition::check(request, record.version(), required) {
            Ok(()) => Ok(record),
            Err(fault) => self.refuse(fault).await,
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When there is no such record.
    pub async fn record(&mut self, resource: &'static Resource, key: i64) -> Result<Record, Error> {
        let cells = self.transaction.page(&Page::of_one(resource, key)).await?;
        match cells.records(resource)?.pop() {
            Some(record) => Ok(record),
            None => self.refuse(missing(resource)).await,
        }
    }

    /// Reads those of the records with these keys that exist.
    pub async fn records(
        &mut self,
        resource: &'static Resource,
        mut keys: Vec<i64>,
    ) -> Result<HashMap<i64, Record>, Error> {
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let cells = self.transaction.page(&Page::of_these(resource, keys)).await?;
        let found = cells.records(resource)?;
        Ok(found.into_iter().map(|record| (record.key(), record)).collect())
    }

    /// Checks what only the database knows of a draft: that the records to which the resulting record
    /// refers exist, and that its unique values are free.
    ///
    /// # Errors
    /// All faults of the draft.
    pub async fn validate(&mut self, draft: &mut Draft, after: &Record) -> Result<(), Error> {
        self.validate_all(draft, after, &[]).await
    }

    /// Checks the draft, and also these records, which result from its children.
    ///
    /// # Errors
    /// All faults of the draft and its children.
    pub async fn validate_all(
        &mut self,
        draft: &mut Draft,
        after: &Record,
        children: &[Record],
    ) -> Result<(), Error> {
        let registry = self.call.shop.registry;
        let mut checks = draft.checks(after, registry)?;
        let own = checks.len();
        let mut ends = Vec::with_capacity(children.len());
        for (child, after) in draft.children.iter().zip(children) {
            checks.extend(child.checks(after, registry)?);
            ends.push(checks.len());
        }
        let asked: Vec<&Check> =
            checks.iter().filter(|check| !self.passed.contains(*check)).collect();
        let mut results = self.ask(&asked).await?.into_iter();
        let passed = checks.iter().map(|check| {
            let passes = self.passed.contains(check) || results.next().is_some_and(|passes| passes);
            passes && self.taken.as_ref().is_none_or(|taken| taken.passes(check))
        });
        let passed: Vec<bool> = passed.collect();
        draft.apply_results(&checks[..own], &passed[..own]);
        let mut begin = own;
        for (child, end) in draft.children.iter_mut().zip(ends) {
            child.apply_results(&checks[begin..end], &passed[begin..end]);
            begin = end;
        }
        let faults = draft.take_faults();
        if faults.is_empty() { Ok(()) } else { self.refuse(faults).await }
    }

    /// Whether these checks pass. What codes refer to is locked.
    async fn ask(&mut self, checks: &[&Check]) -> Result<Vec<bool>, Error> {
        let dialect = self.transaction.dialect();
        for lock in sql::lock_referenced(checks, dialect) {
            self.transaction.lock_row(lock).await?;
        }
        let mut passed = Vec::with_capacity(checks.len());
        // A statement has a limited number of columns.
        for checks in checks.chunks(CHECKS_AT_ONCE) {
            let results = self.transaction.numbers(sql::checks(checks, dialect)).await?;
            if results.len() != checks.len() {
                return Err(Error::Contract("not all questions about a record have an answer"));
            }
            passed.extend(results.into_iter().map(|number| number == 1));
        }
        Ok(passed)
    }

    /// Refuses the write because of what was read, unless the transaction was rolled back half-way: then
    /// what was read is no reason, and the write is repeated.
    ///
    /// # Errors
    /// Always: the refusal, or the conflict that was behind the rollback.
    pub async fn refuse<T>(&mut self, refusal: impl Into<Error>) -> Result<T, Error> {
        self.transaction.ensure_open().await?;
        Err(refusal.into())
    }

    /// Inserts the record that a draft describes, and returns its key.
    ///
    /// # Errors
    /// The fault of a value that another transaction has just taken or removed.
    pub async fn insert(&mut self, draft: &Draft) -> Result<i64, Error> {
        let (resource, dialect) = (draft.resource(), self.transaction.dialect());
        if let Some(together) = &mut self.together
            && dialect.free_keys.is_some()
        {
            together.new = together.new.saturating_sub(1);
            return self.transaction.gather(resource, draft.changes(), together.new).await;
        }
        let insert = sql::insert(resource, draft.changes(), dialect);
        self.transaction.insert(insert).await.map_err(|error| violated(error, draft))
    }

    /// Inserts the records that these drafts of one resource describe.
    pub async fn insert_all(&mut self, drafts: &[Draft]) -> Result<(), Error> {
        let Some(first) = drafts.first() else { return Ok(()) };
        let records = drafts.iter().map(Draft::changes);
        for insert in sql::insert_all(first.resource(), records, self.transaction.dialect()) {
            self.transaction.execute(insert).await?;
        }
        Ok(())
    }

    /// Inserts a record with these values, which no client has sent, and returns its key.
    pub async fn add(
        &mut self,
        resource: &Resource,
        values: &[(&Field, Value)],
    ) -> Result<i64, Error> {
        let values = values.iter().map(|(field, value)| (*field, value));
        let insert = sql::insert(resource, values, self.transaction.dialect());
        self.transaction.insert(insert).await
    }

    /// Adds entries with these columns to a ledger: each with who made it, in which request, and when.
    pub async fn append<const N: usize>(
        &mut self,
        ledger: &Resource,
        entries: impl IntoIterator<Item = [(&'static str, Value); N]>,
    ) -> Result<(), Error> {
        let text = |text: &str| Value::Text(text.to_owned());
        let origin = [
            ("user_id", Value::Int(self.call.user())),
            ("token_name", text(self.call.token_name())),
            ("request_id", text(self.call.request.id())),
            ("created_on", Value::now()),
        ];
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        for entry in entries {
            let row;
            (columns, row) = entry.into_iter().chain(origin.clone()).unzip();
            rows.push(row);
        }
        if let Some(Together { entries: kept, .. }) = &mut self.together {
            match kept.iter_mut().find(|(of, (same, _))| *of == ledger.table && *same == columns) {
                Some((_, (_, others))) => others.append(&mut rows),
                None => kept.push((ledger.table, (columns, rows))),
            }
            return Ok(());
        }
        self.insert_entries(ledger.table, (columns, rows)).await
    }

    /// Changes a record as its draft describes; `after` is the record as it will be.
    ///
    /// # Errors
    /// The fault of a value that another transaction has just taken or removed.
    pub async fn update(&mut self, draft: &mut Draft, after: &Record) -> Result<(), Error> {
        let dialect = self.transaction.dialect();
        if dialect.changes_all {
            draft.fill_in(after);
        }
        if draft.changes().next().is_none() {
            return Ok(());
        }
        let update = sql::update(draft.resource(), after.key(), draft.changes(), dialect);
        self.transaction.execute(update).await.map_err(|error| violated(error, draft))
    }

    /// Gives a record these values, and notes the moment of the change. A change without values counts in
    /// the version of the record all the same: something that belongs to it has changed.
    pub async fn change(
        &mut self,
        resource: &Resource,
        key: i64,
        values: &[(&Field, Value)],
    ) -> Result<(), Error> {
        let now = Value::now();
        let touched = resource.fields().filter(|field| field.access == Access::Touched);
        let touched = touched.map(|field| (field, &now));
        let values = values.iter().map(|(field, value)| (*field, value)).chain(touched);
        let update = sql::update(resource, key, values, self.transaction.dialect());
        self.transaction.execute(update).await
    }

    /// Deletes a record.
    pub async fn delete(&mut self, record: &Record) -> Result<(), Error> {
        let delete = sql::delete(record.resource(), record.key(), self.transaction.dialect());
        self.transaction.execute(delete).await
    }

    /// Queues a mail, which is sent after the commit.
    pub async fn queue_mail(&mut self, mail: impl Into<Outgoing>) -> Result<(), Error> {
        self.has_mail = true;
        outbox::enqueue(mail, &mut self.transaction).await
    }

    /// The answer with a record as the write leaves it.
    pub async fn shown(
        &mut self,
        resource: &'static Resource,
        key: i64,
    ) -> Result<Response, Error> {
        self.answer(200, resource, key, None).await
    }

    /// The answer with a record that the write has created.
    pub async fn created(
        &mut self,
        resource: &'static Resource,
        key: i64,
    ) -> Result<Response, Error> {
        let location = object::record_path(resource, key, &self.call.shop.root);
        let answer = self.answer(201, resource, key, None).await?;
        Ok(answer.with_header("location", location))
    }

    /// The answer with a part that the write has added to a record, and the version of that record.
    pub async fn added(
        &mut self,
        resource: &'static Resource,
        key: i64,
        version: Named,
        location: String,
    ) -> Result<Response, Error> {
        let answer = self.answer(201, resource, key, Some(version)).await?;
        Ok(answer.with_header("location", location))
    }

    /// The answer with the records that have these keys, each once, in the order in which they are first
    /// named.
    pub async fn all_shown(
        &mut self,
        resource: &'static Resource,
        keys: Vec<i64>,
    ) -> Result<Response, Error> {
        let cells = self.transaction.page(&Page::of_these(resource, keys.clone()).shown()).await?;
        let mut found = HashMap::new();
        for row in cells.rows()? {
            found.insert(resource.key_of(&row)?, row);
        }
        let rows: Vec<_> = keys.into_iter().filter_map(|key| found.remove(&key)).collect();
        let view = View::of(Shape::Detail);
        let records = Records { resource, view: &view, rows: &rows, included: None };
        Ok(answer::document(200, document::each(records, self.call.link_base())?))
    }

    async fn insert_entries(
        &mut self,
        ledger: &str,
        (columns, rows): Entries,
    ) -> Result<(), Error> {
        for insert in sql::insert_rows(ledger, &columns, rows, self.transaction.dialect()) {
            self.transaction.execute(insert).await?;
        }
        Ok(())
    }

    /// Locks a record until the write ends, and reads it. The record that it is part of is locked first.
    ///
    /// # Errors
    /// When there is no such record.
    async fn lock(&mut self, resource: &'static Resource, key: i64) -> Result<Record, Error> {
        if let Some(PartOf { whole, by }) = resource.part_of
            && self.transaction.dialect().locks.is_some()
        {
            // A write of the whole locks it before its parts, so this must too.
            let part = self.record(resource, key).await?;
            self.transaction.lock(whole, part.need(by)?).await?;
        }
        self.transaction.lock(resource, key).await?;
        self.record(resource, key).await
    }

    async fn answer(
        &mut self,
        status: u16,
        resource: &'static Resource,
        key: i64,
        beside: Option<Named>,
    ) -> Result<Response, Error> {
        let cells = self.transaction.page(&Page::of_one(resource, key).shown()).await?;
        let (rows, view) = (cells.rows()?, View::of(Shape::Detail));
        let records = Records { resource, view: &view, rows: &rows, included: None };
        let version = records.version()?;
        match document::single(records, &[], self.call.link_base(), beside)? {
            Some(body) => Ok(answer::record(status, version, body)),
            None => self.refuse(missing(resource)).await,
        }
    }
}

/// Converts a violated constraint of the database into the fault that validation would have found.
pub(crate) fn violated(error: Error, draft: &Draft) -> Error {
    let Error::Constraint(constraint, _) = &error else { return error };
    let resource = draft.resource();
    match (constraint, unique_of(constraint, resource)) {
        (_, Some(unique)) => draft.duplicate(unique).into(),
        (Constraint::Unique(_), None) => {
            let detail = format!("Another {} already has these values.", resource.singular);
            Fault::new(FaultKind::Duplicate, detail).into()
        }
        (Constraint::Reference, _) => {
            let detail = "A record that the values refer to does not exist.";
            Fault::new(FaultKind::MissingReference, detail).into()
        }
        (Constraint::Check, _) => {
            let detail = format!("These values cannot be combined in one {}.", resource.singular);
            Fault::new(FaultKind::InvalidValue, detail).into()
        }
    }
}

/// The first of the resource's unique groups that contains the columns of a constraint.
fn unique_of(constraint: &Constraint, resource: &Resource) -> Option<&'static Unique> {
    let Constraint::Unique(columns) = constraint else { return None };
    let is_column =
        |name: &str| columns.iter().any(|column| column == name || *column == sql::folded(name));
    resource.unique.iter().find(|unique| unique.fields.iter().all(|name| is_column(name)))
}
