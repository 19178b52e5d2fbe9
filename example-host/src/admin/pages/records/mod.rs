//! The pages about the records of extensions.

mod at;
