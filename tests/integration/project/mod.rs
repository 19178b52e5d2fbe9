//! The project itself: its architecture and its documents.

mod architecture;
mod documents;
mod layers;
