//! What the store has of a person: a copy of all of it, its removal, and the map of where it is. Knows nothing of who
//! may ask for it, and of what other parts of a site have.
//!
//! Fields are marked in their descriptors (`model::personal`). `map` has for each table with such fields how its rows
//! belong to a person; `find` finds them, `export` copies them, and `erase` replaces or
//! removes them, with what `erasing` does to the rows of a table. `retain` does the same once the site keeps them no
//! longer.

mod erase;
mod erasing;
mod export;
mod find;
mod map;
mod retain;

pub use erase::erase;
pub use export::export;
pub use map::{ACTION, ASSET, IMPERSONAL, Impersonal, PLACES, Place, declared, table};
pub use retain::{Group, Retained, retain};
