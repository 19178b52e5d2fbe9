//! The contract between a content-management host and its extensions.
//!
//! A *host* serves HTTP, knows users, groups and permissions, and keeps what a site has
//! configured. A *plugin* is a dynamic library that brings routes and answers the requests made
//! to them. This crate is all that the two share. It knows no HTTP server, no SQL and no
//! asynchronous runtime, so either side may be built with whatever it likes, and with another
//! compiler than the other side's.
//!
//! # Writing a plugin
//!
//! A plugin is a crate of type `cdylib` with one type that implements [`Plugin`], exported by
//! [`export_plugin!`]:
//!
//! ```
//! use host_interface::{
//!     Action, BoxFuture, Description, Environment, Error, HostHandle, Method, Plugin, Request,
//!     Response, Route,
//! };
//!
//! struct Greeter {
//!     host: HostHandle,
//! }
//!
//! impl Plugin for Greeter {
//!     const NAME: &'static str = "greeter";
//!
//!     fn create(host: HostHandle, _environment: Environment) -> Result<Self, Error> {
//!         Ok(Greeter { host })
//!     }
//!
//!     fn describe(&self) -> Description {
//!         Description::new("1.0.0")
//!             .media_type("text/plain")
//!             .permissions([Action::new("greet", "Be greeted")], [], [])
//!             .route(Route::new(Method::Get, "v1/greetings/{id:digits}", "greeting", 0))
//!     }
//!
//!     fn handle(&self, request: Request) -> BoxFuture<Response> {
//!         let host = self.host.clone();
//!         BoxFuture::new(async move {
//!             let allowed = request
//!                 .user()
//!                 .is_some_and(|user| host.authorise(user.id(), "greet", "root"));
//!             let (status, text) = match allowed {
//!                 true => (200, format!("Hello, number {}!", &request.params()[0])),
//!                 false => (403, "Not you.".to_owned()),
//!             };
//!             Response::new(status).with_header("content-type", "text/plain").with_body(text)
//!         })
//!     }
//! }
//!
//! host_interface::export_plugin!(Greeter);
//! # fn main() {}
//! ```
//!
//! Nothing else is needed: a panic anywhere in the plugin is caught by the exported wrapper and
//! reaches the host as an [`Error::Panicked`], never as the end of the process. Its message and
//! place go to the log of the host that created the library's first plugin.
//!
//! A future that the plugin returns is polled on the host's threads. One that needs a runtime of
//! its own (a database pool, timers) has to bring it: asynchronous runtimes keep their context in
//! thread-local variables, and each library has its own copy of those.
//!
//! # Writing a host
//!
//! A host implements [`Host`], opens a library with [`open`], and talks to the [`LoadedPlugin`]:
//!
//! ```no_run
//! use host_interface::{BoxFuture, Environment, Error, Host, HostHandle, LogRecord, Mail, User, UserQuery};
//!
//! struct Minimal;
//!
//! impl Host for Minimal {
//!     fn authorise(&self, _user: i64, _action: &str, _asset: &str) -> bool {
//!         true
//!     }
//!     fn find_user(&self, _query: UserQuery) -> BoxFuture<Result<Option<User>, Error>> {
//!         BoxFuture::ready(Ok(None))
//!     }
//!     fn parameters(&self) -> String {
//!         "{}".to_owned()
//!     }
//!     fn parameters_revision(&self) -> u64 {
//!         0
//!     }
//!     fn send_mail(&self, _mail: Mail) -> BoxFuture<Result<(), Error>> {
//!         BoxFuture::ready(Ok(()))
//!     }
//!     fn log(&self, record: &LogRecord<'_>) {
//!         eprintln!("{}: {}", record.target(), record.message());
//!     }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let library = host_interface::open("./libgreeter.so".as_ref())?;
//! let environment = Environment::new("sqlite://greeter.db").base_path("/api/index.php");
//! let plugin = library.create(HostHandle::new(Minimal), &environment)?;
//! plugin.install().await?;
//! for route in &plugin.describe()?.routes {
//!     println!("{} /{} is handled by {}", route.method, route.pattern, route.handler);
//! }
//! plugin.shutdown().await?;
//! # Ok(()) }
//! ```
//!
//! # Invariants
//!
//! - What crosses is checked twice when a library is opened: the contract's version, and the
//!   memory layout of every type that the exported functions mention.
//! - Bodies and header values cross without being copied.
//! - Everything that crosses once, or rarely, crosses as JSON text, so that a member may be added
//!   without breaking a library that does not know it.
//! - Libraries are never unloaded. A file that is replaced while the host runs takes effect when
//!   the host is started again.
//! - Only this crate names `abi_stable` and `async_ffi`.

mod acl;
mod auth;
mod error;
mod future;
mod host;
mod mail;
mod message;
mod metric;
mod panic;
mod parameter;
mod plugin;
mod raw;
mod root;
mod route;
mod user;

pub use acl::{Action, Asset, Grant};
pub use auth::{Credentials, Verdict};
pub use error::{Error, Problem, Source};
pub use future::BoxFuture;
pub use host::{Environment, Host, HostHandle, Level, LogRecord};
pub use mail::Mail;
pub use message::{
    Body, Headers, Params, Request, RequestBuilder, Response, ResponseHeader, SharedUser,
};
pub use metric::{Metric, MetricKind, Sample};
pub use parameter::{Limits, Parameter, ParameterKind};
pub use plugin::{DemoSize, Description, LoadedPlugin, Plugin, Progress, ProgressHandle};
pub use root::{CONTRACT_VERSION, Library, LoadError, open};
pub use route::{Method, Pattern, Route, Segment};
pub use user::{User, UserQuery};

#[doc(hidden)]
pub use root::__private;
