//! The administration: its pages, read by programs and in a browser, and its security.

#[cfg(engine = "sqlite")] // Other tests send the same requests on each engine.
mod api_explorer;
mod audit_trail;
#[cfg(engine = "sqlite")] // Templates and styles do not depend on the engine.
mod browser;
#[cfg(engine = "sqlite")] // The same.
mod browser_files;
#[cfg(engine = "sqlite")] // The same.
mod browser_people;
#[cfg(engine = "sqlite")] // The same.
mod browser_privacy;
#[cfg(engine = "sqlite")] // The same.
mod browser_records;
#[cfg(engine = "sqlite")] // The same.
mod browser_tour;
mod details;
#[cfg(engine = "sqlite")] // Other tests send the same statements.
mod extensions;
mod forgotten;
mod guessed_codes;
mod pages;
mod privacy;
#[cfg(engine = "sqlite")] // They show answers of the API; see `engines`.
mod record_access;
#[cfg(engine = "sqlite")] // The same.
mod record_files;
#[cfg(engine = "sqlite")] // The same.
mod record_forms;
#[cfg(engine = "sqlite")] // The same.
mod record_pages;
#[cfg(engine = "sqlite")] // The same.
mod record_troubles;
mod second_factor;
mod sessions;
mod tokens;
mod trust;
#[cfg(engine = "sqlite")] // They are imports; see `imports` of the store.
mod uploads;
mod users;
