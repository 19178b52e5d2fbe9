//! The contract between host and library, and libraries that break it.

mod boundary;
mod events;
mod jobs;
mod loading;
mod streams;
