//! The migrations of the store's tables, compiled into the program: a list for each engine. The first has
//! all tables, and shows them as they are. A file that has been released never changes, because databases
//! store its checksum.
//!
//! They are listed by hand, because the macro that reads the folder would compile the drivers of
//! all engines a second time. A test compares the lists with the folders.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::driver::Files;

macro_rules! files {
    ($folder:literal: $($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../../migrations/", $folder, "/", $file, ".sql")))),+]
    };
}

pub(super) const SQLITE: Files = files!["sqlite": "0001_base", "0002_variants", "0003_imports", "0004_refunds", "0005_webhooks", "0006_privacy", "0007_import_keys", "0008_what_records_show", "0009_refundable_lines"];
pub(super) const POSTGRES: Files = files!["postgres": "0001_base", "0002_variants", "0003_imports", "0004_refunds", "0005_webhooks", "0006_privacy", "0007_import_keys", "0008_what_records_show", "0009_refundable_lines", "0010_room_for_changed_orders"];
pub(super) const MYSQL: Files = files!["mysql": "0001_base", "0002_variants", "0003_imports", "0004_refunds", "0005_webhooks", "0006_privacy", "0007_import_keys", "0008_what_records_show", "0009_refundable_lines"];

/// The migrator of these files.
pub(super) fn migrator(files: Files) -> Migrator {
    let migrations = files.iter().filter_map(|(name, text)| {
        // A name such as `0001_setup`.
        let (version, description) = name.split_once('_')?;
        let description = Cow::Owned(description.replace('_', " "));
        let sql = text.into_sql_str();
        let kind = MigrationType::Simple;
        Some(Migration::new(version.parse().ok()?, description, kind, sql, false))
    });
    Migrator::with_migrations(migrations.collect())
}

/// The host keeps the versions of its own tables in the same database.
pub(super) fn in_own_table(mut migrator: Migrator) -> Migrator {
    migrator.dangerous_set_table_name("shop_migrations");
    migrator
}
