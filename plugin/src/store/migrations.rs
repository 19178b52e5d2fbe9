//! The migrations of the store's tables, compiled into the program: a list for each engine. A file
//! that has been released never changes, because databases store its checksum.
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

pub(super) const SQLITE: Files = files![
    "sqlite":
    "0001_setup",
    "0002_promotions_and_taxes",
    "0003_catalog_and_customers",
    "0004_orders_and_vouchers",
    "0005_counts",
    "0006_sales_and_mails",
    "0007_large_stores",
    "0008_turns",
    "0009_stock",
    "0010_merging",
    "0011_bounds",
    "0012_kept",
    "0013_versions",
    "0014_keys",
    "0015_ledgers",
    "0016_feed",
    "0017_warehouse",
    "0018_trimmed",
    "0019_long_texts",
    "0020_terms",
    "0021_derived",
];
pub(super) const POSTGRES: Files = files![
    "postgres":
    "0001_setup",
    "0002_promotions_and_taxes",
    "0003_catalog_and_customers",
    "0004_orders_and_vouchers",
    "0005_counts",
    "0006_sales_and_mails",
    "0007_large_stores",
    "0008_turns",
    "0009_stock",
    "0010_bounds",
    "0011_kept",
    "0012_versions",
    "0013_keys",
    "0014_ledgers",
    "0015_feed",
    "0016_warehouse",
    "0017_trimmed",
    "0018_long_texts",
    "0019_derived",
];
pub(super) const MYSQL: Files = files![
    "mysql":
    "0001_setup",
    "0002_promotions_and_taxes",
    "0003_catalog_and_customers",
    "0004_orders_and_vouchers",
    "0005_counts",
    "0006_sales_and_mails",
    "0007_turns",
    "0008_large_stores",
    "0009_pieces",
    "0010_turns",
    "0011_stock",
    "0012_skus",
    "0013_bounds",
    "0014_kept",
    "0015_versions",
    "0016_keys",
    "0017_ledgers",
    "0018_feed",
    "0019_warehouse",
    "0020_trimmed",
    "0021_long_texts",
    "0022_derived",
];

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
