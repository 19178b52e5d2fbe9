//! The migrations of the host's tables, compiled into the program: a list for each engine. A
//! released file is never changed, because databases store the checksum of each migration that has
//! run.
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

pub(super) const SQLITE: Files = files![
    "sqlite":
    "0001_site",
    "0002_copies",
    "0003_administration",
    "0004_audit",
    "0005_requests",
    "0006_trust",
    "0007_jobs",
    "0008_audit_chain",
    "0009_sign_in_failures",
    "0010_tokens",
    "0011_own_databases",
    "0012_files",
    "0013_audit_lasting",
    "0014_devices",
];
pub(super) const POSTGRES: Files = files![
    "postgres":
    "0001_site",
    "0002_administration",
    "0003_audit",
    "0004_requests",
    "0005_trust",
    "0006_jobs",
    "0007_audit_chain",
    "0008_sign_in_failures",
    "0009_tokens",
    "0010_own_databases",
    "0011_audit_lasting",
    "0012_devices",
];
pub(super) const MYSQL: Files = files![
    "mysql":
    "0001_site",
    "0002_administration",
    "0003_audit",
    "0004_requests",
    "0005_trust",
    "0006_jobs",
    "0007_audit_chain",
    "0008_sign_in_failures",
    "0009_tokens",
    "0010_own_databases",
    "0011_audit_lasting",
    "0012_devices",
];

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
