//! Brings a database up to date: first the tables of records, by migrations, and then the objects that
//! follow from descriptions, by comparing them with what the database has noted. Only what differs is
//! replaced, and the note comes last. Independent of particular engines and objects.
//!
//! Where changes of objects are transactional, all of this is one transaction. On MariaDB each change is
//! effective at once, so it is noted object by object, and the next start continues after an interruption.
//! Writers of other hosts continue meanwhile: triggers come before what they update is filled, and filling
//! adds what is missing.
//!
//! The texts of objects in a database are not compared, because engines store them in forms of their own.
//! But all must be there: a backup that was restored without its triggers would otherwise stop counting
//! without anybody noticing. If one is missing, changes may have passed it, so all are replaced and filled,
//! and another feed begins.

use std::collections::{HashMap, HashSet};

use sqlx::migrate::{Migrate, MigrateError, Migrator};

use super::driver::{Driver, bound};
use super::filling::{another_feed, execute_all};
use super::session::{numbers, text};
use crate::error::Error;
use crate::model::registry::Registry;
use crate::sql::Statement;
use crate::sql::derived::{self, DAMAGED, NUMBER, Object, UNFINISHED};

/// How often a conflict with other writers is tolerated.
const ATTEMPTS: usize = 5;

/// Migrates the tables, and reconciles the objects, while no other program does.
pub(super) async fn bring_up_to_date<D: Driver>(
    connection: &mut D::Connection,
    migrator: &Migrator,
    registry: Registry,
) -> Result<(), Error>
where
    D::Connection: Migrate,
{
    connection.lock().await.map_err(Error::of_migration)?;
    if begins_otherwise(connection, migrator).await.map_err(Error::of_migration)? {
        return Err(Error::Unreleased);
    }
    migrator.run_direct(None, connection, false).await.map_err(Error::of_migration)?;
    let objects = derived::objects(registry, D::DIALECT);
    let mut attempt = 1;
    while let Err(error) = reconcile::<D>(connection, &objects).await {
        if attempt == ATTEMPTS || !matches!(error, Error::Conflict(_)) {
            return Err(error);
        }
        tracing::info!(%error, "reconciling derived objects again");
        attempt += 1;
    }
    connection.unlock().await.map_err(Error::of_migration)
}

/// Whether the tables were created by another first migration.
async fn begins_otherwise(
    connection: &mut impl Migrate,
    migrator: &Migrator,
) -> Result<bool, MigrateError> {
    connection.ensure_migrations_table(&migrator.table_name).await?;
    let applied = connection.list_applied_migrations(&migrator.table_name).await?;
    let first = applied.iter().zip(migrator.iter()).next();
    Ok(first.is_some_and(|(applied, known)| applied.checksum != known.checksum))
}

async fn reconcile<D: Driver>(
    connection: &mut D::Connection,
    objects: &[Object],
) -> Result<(), Error> {
    let found = Found::read::<D>(connection).await?;
    if found.is_complete(objects) {
        return Ok(());
    }
    if !D::DIALECT.transactional_objects {
        return replace::<D>(connection, objects, &found).await.map_err(D::classify);
    }
    let begin = D::execute_batch(connection, D::DIALECT.begin_write).await;
    begin.map_err(D::classify)?;
    let replaced = async {
        // Another process may have done it since.
        let found = Found::read::<D>(connection).await?;
        if !found.is_complete(objects) {
            replace::<D>(connection, objects, &found).await.map_err(D::classify)?;
        }
        D::execute_batch(connection, D::DIALECT.commit).await.map_err(D::classify)
    };
    let replaced = replaced.await;
    if replaced.is_err() {
        // The failure is what matters; without a connection, the database rolls back by itself.
        D::execute_batch(connection, D::ROLLBACK).await.ok();
    }
    replaced
}

/// What a database has, and what it has noted.
struct Found {
    digest: String,
    /// The digests of the noted objects, and the statements that remove them.
    noted: HashMap<String, (String, String)>,
    /// The objects that are there.
    present: HashSet<String>,
}

impl Found {
    /// Reads it. A database with objects of a newer program is refused.
    async fn read<D: Driver>(connection: &mut D::Connection) -> Result<Self, Error> {
        let read = async {
            let number = numbers::<D>(connection, derived::noted_number()).await?;
            let number = number.first().copied().unwrap_or_default();
            let digest = texts::<D, 1>(connection, derived::noted_digest()).await?;
            let digest = digest.into_iter().flatten().next().unwrap_or_default();
            let noted = texts::<D, 3>(connection, derived::noted_objects()).await?;
            let noted = noted.into_iter().map(|[name, digest, remove]| (name, (digest, remove)));
            let objects = Statement::fixed(D::DIALECT.objects, Vec::new());
            let present = texts::<D, 1>(connection, objects).await?.into_iter().flatten();
            Ok((number, Self { digest, noted: noted.collect(), present: present.collect() }))
        };
        match read.await.map_err(D::classify)? {
            (number, _) if number > NUMBER => Err(Error::NewerObjects(number, NUMBER)),
            (_, found) => Ok(found),
        }
    }

    fn is_complete(&self, objects: &[Object]) -> bool {
        self.digest == derived::digest_of(objects)
            && objects.iter().all(|object| self.present.contains(&object.name))
    }

    /// Whether changes may have passed an object, or a program that found this out was interrupted.
    fn is_damaged(&self) -> bool {
        self.digest == DAMAGED || self.noted.keys().any(|name| !self.present.contains(name))
    }
}

async fn replace<D: Driver>(
    connection: &mut D::Connection,
    objects: &[Object],
    found: &Found,
) -> Result<(), sqlx::Error> {
    let is_damaged = found.is_damaged();
    if is_damaged {
        tracing::warn!("objects that follow from records were missing; making all of them anew");
    }
    // The number is noted first: an interruption does not let an older program put its own back.
    let begun = derived::note(if is_damaged { DAMAGED } else { UNFINISHED });
    execute::<D>(connection, [begun]).await?;
    let differs = |object: &Object| {
        let noted = found.noted.get(&object.name).map(|(digest, _)| digest);
        is_damaged || noted != Some(&object.digest())
    };
    let is_table = |object: &&Object| object.name.starts_with("table ");
    let (tables, others): (Vec<&Object>, Vec<_>) = objects.iter().partition(is_table);
    let replaced: Vec<&Object> = tables.into_iter().filter(|table| differs(table)).collect();
    for table in &replaced {
        execute_all::<D>(connection, table.create.clone()).await?;
    }
    for object in others {
        // A table takes its triggers with it.
        let on = object.on.as_ref().map(|table| format!("table {table}"));
        let is_gone = on.is_some_and(|on| replaced.iter().any(|table| table.name == on));
        if is_gone || differs(object) {
            execute_all::<D>(connection, object.create.clone()).await?;
            execute::<D>(connection, derived::note_object(object)).await?;
        }
    }
    let gone = found.noted.iter().filter(|(name, _)| !objects.iter().any(|now| now.name == **name));
    for (name, (_, remove)) in gone {
        execute_all::<D>(connection, vec![remove.clone()]).await?;
        execute::<D>(connection, [derived::forget_object(name)]).await?;
    }
    for table in replaced {
        execute_all::<D>(connection, table.fill.clone()).await?;
        execute::<D>(connection, derived::note_object(table)).await?;
    }
    if is_damaged {
        execute_all::<D>(connection, another_feed::<D>()?.to_vec()).await?;
    }
    execute::<D>(connection, [derived::note(&derived::digest_of(objects))]).await
}

async fn execute<D: Driver>(
    connection: &mut D::Connection,
    statements: impl IntoIterator<Item = Statement>,
) -> Result<(), sqlx::Error> {
    for statement in statements {
        D::execute(connection, bound::<D>(statement)?).await?;
    }
    Ok(())
}

/// Reads rows of texts.
async fn texts<D: Driver, const WIDTH: usize>(
    connection: &mut D::Connection,
    statement: Statement,
) -> Result<Vec<[String; WIDTH]>, sqlx::Error> {
    let mut rows = Vec::new();
    for row in D::fetch_all(connection, bound::<D>(statement)?).await? {
        let mut texts = [const { String::new() }; WIDTH];
        for (place, into) in texts.iter_mut().enumerate() {
            *into = text::<D>(&row, place)?;
        }
        rows.push(texts);
    }
    Ok(rows)
}
