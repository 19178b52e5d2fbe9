//! The contract between host and library: what crosses, what is refused, and that version 1.0 lasts.

mod application;
mod boundary;
mod crossing;
mod deliveries;
mod erasures;
mod events;
mod jobs;
mod layouts;
mod loading;
mod outward;
mod pieces;
mod plugin_commands;
mod streams;
mod traits;
mod waits;
