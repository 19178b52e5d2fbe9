//! Makes any application on `tower` and `http` a host of plugins: [`Mount`] is a `tower` service, and
//! an `axum` router, which answers the requests to the routes that plugins register.
//!
//! The application decides who is asking ([`Access`]) and what they may do
//! ([`Principal`](host_interface::Principal)). This crate does what is the same in every host: it opens
//! libraries, checks requests in the right order, limits time and size, passes bodies on in pieces,
//! catches failures, gives each request an id, and lets changes run to their end. It knows no
//! database, no users and no pages. `host-interface/README.md` has a host of 60 lines.
//!
//! # Order of the checks
//!
//! 1. The path has a route of an enabled extension: else 404.
//! 2. The site knows who may do what, [`Access::is_available`]: else 503.
//! 3. The route has the method: else 405. `HEAD` is answered where `GET` is.
//! 4. `Accept` names the media type of the extension, if it has one: else 406.
//! 5. The user is authenticated, unless the route is public: else 401.
//! 6. The body has at most so many bytes: else 413. It arrives in time: else 408, or 400 where it
//!    breaks off.
//! 7. The plugin is called, and checks the rest: permissions, values, records.
//!
//! # Requests that wait
//!
//! On a route that [waits](host_interface::Route::waits), a client may ask with `Prefer: wait=30` that its
//! answer is held open for up to so many seconds. If one of [`Limits::waiters`] places is free, the plugin
//! gets that time as a fact, the answer names it in `Preference-Applied`, and the time limit of the request
//! begins after it. The place is free again with the answer, when the time has passed, or when the client
//! disconnects. Without a place, and after [`Mount::stopping`], the request is like any other. One token and
//! one client hold at most a tenth of the places, so that nobody takes those of all others: further ones of
//! theirs get a 503 with `Retry-After: 5`. There is no
//! `Vary: Prefer`, because the preference does not choose what is answered, only when (RFC 7240, section 2).
//!
//! # Modules
//!
//! From top to bottom; a module uses only those below it.
//!
//! | module | content |
//! |---|---|
//! | `mount` | the service and the router |
//! | `answer` | from a request to its answer: the order of the checks, the call of the plugin |
//! | `pieces` | bodies in pieces |
//! | `admission` | whether a request that takes long would still be admitted |
//! | `access` | what a site decides about requests |
//! | `routing` | finds the route for a method and a path |
//! | `extension` | a plugin with its description |
//! | [`body`] | reads and discards bodies within limits |
//! | `refusal` | the table of the host's own error answers |
//! | `accept`, `changes`, `client`, `handled`, `head`, `limits`, `library`, `prefer`, `rate`, `request_id`, `revalidation`, `waiters` | one thing each |
//! | `error` | errors of a start |

pub mod body;

mod accept;
mod access;
mod admission;
mod answer;
mod changes;
mod client;
mod error;
mod extension;
mod handled;
mod head;
mod library;
mod limits;
mod mount;
mod pieces;
mod prefer;
mod rate;
mod refusal;
mod request_id;
mod revalidation;
mod routing;
mod waiters;

pub use access::{Access, Asked, Asking, is_change};
pub use changes::{Changes, Slot};
pub use client::ClientAddress;
pub use error::Error;
pub use extension::{Extension, report_event};
pub use handled::Handled;
pub use head::without_body;
pub use library::open;
pub use limits::Limits;
pub use mount::{Mount, check_together};
pub use pieces::Streamed;
pub use rate::RateLimit;
pub use refusal::Refusal;
pub use request_id::{HEADER as REQUEST_ID, RequestId, RequestIds};
pub use revalidation::compressed_tag;
pub use routing::Record;
pub use waiters::OnWait;
