//! The API: answers the requests to extensions. Connections and encryption are handled in `server`.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod changes;
pub(crate) mod gate;
pub(crate) mod handled;
pub(crate) mod notes;
pub(crate) mod pieces;
pub(crate) mod problem;
pub(crate) mod request_id;
pub(crate) mod revalidation;
