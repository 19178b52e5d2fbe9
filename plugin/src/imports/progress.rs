//! The record of an import in the database: what it is, and how far it has come. Each transaction of an import
//! notes its own lines, so that the record is true whenever the program is killed. A number of the run keeps a
//! program that was given up from going on beside the one that took over.

use serde::Serialize;
use time::Duration;

use super::report::Outcome;
use crate::error::Error;
use crate::model::moment;
use crate::model::question::Page;
use crate::model::resource::Resource;
use crate::model::value::Value;
use crate::service::call::Call;
use crate::service::once;
use crate::service::write::Write;
use crate::sql::{self, Rows, Statement, row};
use crate::store::{self, Store, Transaction};
use crate::wire::importing::{DRY_RUN, Import, KEY, MODE};

/// The kind of the resource that shows these records.
pub(crate) const KIND: &str = "imports";
/// An import that is going on.
pub(crate) const RUNNING: &str = "running";
/// One that has come to its end.
pub(crate) const DONE: &str = "done";
/// One that has not.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How long an import may be silent: it renews its mark every few seconds.
const SILENCE: Duration = Duration::minutes(2);
/// For how long records of imports are kept.
const KEPT: Duration = Duration::days(30);
/// For how many lines that failed the reasons are kept.
const KEPT_FAULTS: i64 = 10_000;

/// How many lines became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) read: i64,
    pub(super) created: i64,
    pub(super) updated: i64,
    pub(super) unchanged: i64,
    pub(super) failed: i64,
    /// The last line of the file of which this is the outcome.
    pub(super) committed_lines: i64,
}

/// How far an import has come.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) id: i64,
    /// The number of this run.
    pub(super) run: i64,
    pub(super) counts: Counts,
    /// The SHA-256 of the file up to there.
    pub(super) sha256: String,
}

/// An import as it was left.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) progress: Progress,
    pub(super) record_type: String,
    mode: String,
    key_field: String,
    is_dry_run: bool,
    pub(super) fingerprint: String,
    pub(super) state: String,
}

/// What the record keeps of the parameters: the same import has the same.
pub(super) fn fingerprint(import: &Import) -> String {
    let Import { resource, mode, key, dry_run, from_line, stops, .. } = import;
    let (kind, mode, key) = (resource.kind, mode.name(), key.parameter());
    format!("{kind} {mode} {key} {dry_run} {from_line} {stops}")
}

/// The first parameter of an import that goes on with this one in which they differ.
pub(super) fn differs(left: &Left, import: &Import) -> Option<&'static str> {
    let alike = [
        (DRY_RUN, left.is_dry_run == import.dry_run),
        (MODE, left.mode == import.mode.name()),
        (KEY, left.key_field == import.key.parameter()),
    ];
    alike.into_iter().find_map(|(name, is_alike)| (!is_alike).then_some(name))
}

/// Notes that an import begins, perhaps where an earlier one was left. `key` is that of idempotency.
pub(super) async fn begin(
    call: &Call<'_>,
    import: &Import,
    key: Option<&str>,
    earlier: Option<Progress>,
) -> Result<Progress, Error> {
    let resource = resource(call)?;
    // Another import goes on from there even if this one writes nothing.
    let (committed_lines, sha256) = earlier
        .map_or_else(Default::default, |earlier| (earlier.counts.committed_lines, earlier.sha256));
    let text = |text: &str| Value::Text(text.to_owned());
    let now = Value::now();
    let values = [
        ("record_type", text(import.resource.kind)),
        ("mode", text(import.mode.name())),
        ("key_field", text(import.key.parameter())),
        ("dry_run", Value::Int(import.dry_run.into())),
        ("state", text(RUNNING)),
        ("committed_lines", Value::Int(committed_lines)),
        ("sha256", text(&sha256)),
        ("user_id", Value::Int(call.user())),
        ("token_name", text(call.token_name())),
        ("request_id", text(call.request.id())),
        ("created_on", now.clone()),
        ("seen_on", now),
        ("idempotency_key", text(key.unwrap_or_default())),
        ("fingerprint", text(&fingerprint(import))),
    ];
    let id = store::retry(|| async {
        let values = values.iter().map(|(name, value)| {
            let field = resource.field(name);
            Ok((field.ok_or_else(|| resource.lacks(name))?, value))
        });
        let values = values.collect::<Result<Vec<_>, Error>>()?;
        let mut transaction = call.shop.store.begin().await?;
        if let Some(key) = call.key {
            once::take(key, &mut transaction).await?;
        }
        let insert = sql::insert(resource, values.into_iter(), transaction.dialect());
        let id = transaction.insert(insert).await?;
        transaction.commit().await?;
        Ok(id)
    });
    let id = id.await?;
    let counts = Counts { committed_lines, ..Counts::default() };
    Ok(Progress { id, run: 0, counts, sha256 })
}

/// The resource of the records.
pub(super) fn resource(call: &Call<'_>) -> Result<&'static Resource, Error> {
    let found = call.shop.registry.find(KIND);
    found.ok_or(Error::Contract("the store has no records of imports"))
}

/// The import with this key of idempotency of the user, if there is one.
pub(super) async fn of_key(key: &str, call: &Call<'_>) -> Result<Option<Left>, Error> {
    row! {
        struct Latest {
            id: Option<i64> = "max(shop_import_id)",
        }
    }
    const FIND: &str = "FROM shop_imports WHERE user_id = ? AND idempotency_key = ?";
    let binds = vec![vec![Value::Int(call.user())], vec![Value::Text(key.to_owned())]];
    let latest = store::retry(|| async {
        call.shop.store.rows(Rows::<Latest>::select(FIND, binds.clone())).await
    });
    let latest = latest.await?;
    match latest.into_iter().find_map(|latest| latest.id) {
        Some(id) => find(id, call).await,
        None => Ok(None),
    }
}

/// An import as it is now, whoever is at it.
pub(super) async fn find(id: i64, call: &Call<'_>) -> Result<Option<Left>, Error> {
    let resource = resource(call)?;
    store::retry(|| async {
        let mut transaction = call.shop.store.begin_read().await?;
        let left = read(id, resource, &mut transaction).await?;
        transaction.end().await;
        Ok(left)
    })
    .await
}

/// Takes an import over: whoever was at it gives up at the end of the transaction that is going on. Where it has
/// stopped at a line that failed, that line is sent again.
pub(super) async fn take_over(
    id: i64,
    stops: bool,
    call: &Call<'_>,
) -> Result<Option<Left>, Error> {
    const TAKE: &str = "UPDATE shop_imports SET run = run + 1, state = ?, reason = '', seen_on = ?, \
        ended_on = NULL WHERE shop_import_id = ?";
    const AGAIN: &str = "UPDATE shop_imports SET lines_read = lines_read - failed, failed = 0 \
        WHERE shop_import_id = ?";
    const FORGET: &str = "DELETE FROM shop_import_faults WHERE import_id = ?";
    let resource = resource(call)?;
    store::retry(|| async {
        let mut transaction = call.shop.store.begin().await?;
        let binds = vec![Value::Text(RUNNING.to_owned()), Value::now(), Value::Int(id)];
        transaction.execute(Statement::fixed(TAKE, binds)).await?;
        if stops {
            for again in [AGAIN, FORGET] {
                transaction.execute(Statement::fixed(again, vec![Value::Int(id)])).await?;
            }
        }
        let left = read(id, resource, &mut transaction).await?;
        transaction.commit().await?;
        Ok(left)
    })
    .await
}

async fn read(
    id: i64,
    resource: &'static Resource,
    transaction: &mut Transaction,
) -> Result<Option<Left>, Error> {
    let cells = transaction.page(&Page::of_one(resource, id)).await?;
    let Some(record) = cells.records(resource)?.pop() else { return Ok(None) };
    let number = |name| record.value(name)?.int(name);
    let text = |name| Ok::<_, Error>(record.value(name)?.text(name)?.to_owned());
    let counts = Counts {
        read: number("lines_read")?,
        created: number("created")?,
        updated: number("updated")?,
        unchanged: number("unchanged")?,
        failed: number("failed")?,
        committed_lines: number("committed_lines")?,
    };
    let progress = Progress { id, run: number("run")?, counts, sha256: text("sha256")? };
    Ok(Some(Left {
        progress,
        record_type: text("record_type")?,
        mode: text("mode")?,
        key_field: text("key_field")?,
        is_dry_run: number("dry_run")? == 1,
        fingerprint: text("fingerprint")?,
        state: text("state")?,
    }))
}

impl Progress {
    /// Notes in a transaction how far the import will have come with it, and what was wrong.
    ///
    /// # Errors
    /// [`Error::TakenOver`] when another program has taken over.
    pub(super) async fn note(
        &self,
        failed: &[&Outcome],
        kind: &str,
        transaction: &mut Transaction,
    ) -> Result<(), Error> {
        const NOTE: &str = "UPDATE shop_imports SET lines_read = ?, created = ?, updated = ?, \
            unchanged = ?, failed = ?, committed_lines = ?, sha256 = ?, seen_on = ?, state = ?, \
            reason = '', ended_on = NULL WHERE shop_import_id = ? AND run = ?";
        let Counts { read, created, updated, unchanged, failed: faults, committed_lines } =
            self.counts;
        let counts = [read, created, updated, unchanged, faults, committed_lines].map(Value::Int);
        let rest = [
            Value::Text(self.sha256.clone()),
            Value::now(),
            // It may have been silent for so long that it was taken for interrupted.
            Value::Text(RUNNING.to_owned()),
            Value::Int(self.id),
            Value::Int(self.run),
        ];
        let note = Statement::fixed(NOTE, counts.into_iter().chain(rest).collect());
        if transaction.change(note).await? != 1 {
            return Err(Error::TakenOver);
        }
        let known = faults - i64::try_from(failed.len()).unwrap_or(i64::MAX);
        let room = usize::try_from(KEPT_FAULTS - known).unwrap_or(0);
        let rows: Vec<Vec<Value>> = failed
            .iter()
            .take(room)
            .map(|outcome| {
                let key = outcome.key.as_deref().unwrap_or_default();
                let key: String = key.chars().take(255).collect();
                vec![
                    Value::Int(self.id),
                    Value::Text(kind.to_owned()),
                    Value::Int(i64::try_from(outcome.line).unwrap_or(i64::MAX)),
                    Value::Text(key),
                    Value::Json(outcome.errors.to_string()),
                ]
            })
            .collect();
        const COLUMNS: [&str; 5] = ["import_id", "record_type", "line", "record_key", "errors"];
        let dialect = transaction.dialect();
        for insert in sql::insert_rows("shop_import_faults", &COLUMNS, rows, dialect) {
            transaction.execute(insert).await?;
        }
        Ok(())
    }

    /// Whether this progress was committed although the database did not confirm it.
    pub(super) async fn is_committed(&self, call: &Call<'_>) -> Result<bool, Error> {
        let left = find(self.id, call).await?;
        Ok(left.is_some_and(|left| left.progress.counts == self.counts))
    }

    /// Notes that the import is still going on.
    pub(super) async fn seen(&self, store: &Store) -> Result<(), Error> {
        const SEEN: &str = "UPDATE shop_imports SET seen_on = ?, state = ?, reason = '', ended_on = NULL \
            WHERE shop_import_id = ? AND run = ?";
        let running = Value::Text(RUNNING.to_owned());
        let binds = vec![Value::now(), running, Value::Int(self.id), Value::Int(self.run)];
        let seen = Statement::fixed(SEEN, binds);
        store::retry(|| store.write([seen.clone()])).await
    }

    /// Notes how the import has ended, unless another program has taken over.
    pub(super) async fn end(
        &self,
        state: &str,
        reason: &str,
        write: &mut Write<'_>,
    ) -> Result<(), Error> {
        const END: &str = "UPDATE shop_imports SET state = ?, reason = ?, seen_on = ?, ended_on = ? \
            WHERE shop_import_id = ? AND run = ?";
        let text = |text: &str| Value::Text(text.to_owned());
        let (id, run) = (Value::Int(self.id), Value::Int(self.run));
        let binds = vec![text(state), text(reason), Value::now(), Value::now(), id, run];
        write.transaction.execute(Statement::fixed(END, binds)).await
    }
}

/// Notes that an import will not go on because another one does, and returns whether it had come no further. One that
/// has been interrupted keeps why: its program may have slept, and must not go on either.
pub(super) async fn give_up(left: &Left, call: &Call<'_>) -> Result<bool, Error> {
    const GIVE_UP: &str = "UPDATE shop_imports SET run = run + 1, state = ?, reason = ?, ended_on = ? \
        WHERE shop_import_id = ? AND run = ? AND committed_lines = ? AND state <> ?";
    const FENCE: &str = "UPDATE shop_imports SET run = run + 1, state = ? \
        WHERE shop_import_id = ? AND run = ? AND committed_lines = ? AND state <> ?";
    let text = |text: &str| Value::Text(text.to_owned());
    let Progress { id, run, counts, .. } = &left.progress;
    let mut binds = vec![text(INTERRUPTED)];
    let give_up = if left.state == RUNNING {
        binds.extend([text("Another import has gone on with it."), Value::now()]);
        GIVE_UP
    } else {
        FENCE
    };
    binds.extend([*id, *run, counts.committed_lines].map(Value::Int));
    binds.push(text(DONE));
    let give_up = Statement::fixed(give_up, binds);
    store::retry(|| async {
        let mut transaction = call.shop.store.begin().await?;
        let changed = transaction.change(give_up.clone()).await?;
        transaction.commit().await?;
        Ok(changed == 1)
    })
    .await
}

/// Notes that imports are interrupted of which nothing has been heard for a while, because their program was ended,
/// and removes those that began so many days ago.
pub(crate) async fn sweep(store: &Store) -> Result<(), Error> {
    const SILENT: &str = "UPDATE shop_imports SET state = ?, reason = ?, ended_on = seen_on \
        WHERE state = ? AND seen_on < ?";
    const OLD: &str = "DELETE FROM shop_imports WHERE created_on < ?";
    let text = |text: &str| Value::Text(text.to_owned());
    let before = |time| Value::Moment(moment::now().saturating_sub(time));
    let reason = text("The program that imported it was ended.");
    let silent = vec![text(INTERRUPTED), reason, text(RUNNING), before(SILENCE)];
    let statements = [Statement::fixed(SILENT, silent), Statement::fixed(OLD, vec![before(KEPT)])];
    store::retry(|| store.write(statements.clone())).await
}
