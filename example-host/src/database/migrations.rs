//! The migrations of the host's tables, compiled into the program: a list for each engine. The first has all
//! tables, and shows them as they are. A released file is never changed, because databases store the checksum
//! of each migration that has run.
//!
//! They are listed by hand, because the macro that reads the folder compiles the drivers of all
//! engines a second time. A test compares the lists with the folders.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Migration files: name and text.
pub(super) type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../../migrations/", $folder, "/", $file, ".sql")))),+]
    };
}

pub(super) const SQLITE: Files =
    files!["sqlite": "0001_base", "0002_second_factor", "0003_password_links"];
pub(super) const POSTGRES: Files =
    files!["postgres": "0001_base", "0002_second_factor", "0003_password_links"];
pub(super) const MYSQL: Files =
    files!["mysql": "0001_base", "0002_second_factor", "0003_password_links"];

/// A migrator for these files.
pub(super) fn migrator(files: Files) -> Migrator {
    let migrations = files.iter().filter_map(|(name, text)| {
        // Named like `0001_setup`.
        let (version, description) = name.split_once('_')?;
        let description = Cow::Owned(description.replace('_', " "));
        let sql = text.into_sql_str();
        let kind = MigrationType::Simple;
        Some(Migration::new(version.parse().ok()?, description, kind, sql, false))
    });
    Migrator::with_migrations(migrations.collect())
}
