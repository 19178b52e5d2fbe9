//! The plugin as the host sees it. It owns the runtime in which the store's futures run, and moves
//! each of them there.
//!
//! An asynchronous runtime keeps its context in thread-local variables. Each library has its own
//! copy of these, so nothing here may rely on the host's runtime. A request is polled where the
//! host polls it, inside this runtime's context. A request that reads stays there: it waits for one
//! answer of the database, and moving it would wake one more thread for that answer; work that
//! keeps a processor busy, such as a report, uses a thread of its own. Any other future that is not
//! ready at once moves to this runtime's threads, which receive the many answers that it waits for.

pub mod logging;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use host_interface::{
    Body, CommandOutput, Description, Environment, Erased, Erasure, Error as HostError, Event,
    HostHandle, Method, Metric, PanelContent, Person, Plugin, ProgressHandle, Request, Response,
    Subject,
};
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::app::{self, App, NAME, describe};
use crate::bulk::{copy, reference};
use crate::error::{Error, chain};
use crate::privacy;
use crate::service::settings;
use crate::store::Store;
use crate::wire::answer;

/// How long a shutdown waits for connections to be closed, after it has waited for mails. The two
/// times together are shorter than the time that a host waits.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// The store's plugin.
#[derive(Debug)]
pub struct ShopPlugin {
    app: Arc<App>,
    base_path: String,
    /// Sends mails, and keeps the feed of changes going, from start to shutdown.
    tasks: Mutex<Vec<JoinHandle<()>>>,
    /// `Some` until the plugin is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Plugin for ShopPlugin {
    const NAME: &'static str = NAME;

    fn create(host: HostHandle, environment: Environment) -> Result<Self, HostError> {
        logging::forward_to(&host);
        let runtime = Builder::new_multi_thread()
            .thread_name("shop")
            .enable_all()
            .build()
            .map_err(HostError::failed)?;
        let open = |url: &String| {
            let _context = runtime.enter();
            Store::open(url).map_err(failed)
        };
        let store = open(&environment.database_url)?;
        let replica = environment.reports_url.as_ref().map(open).transpose()?;
        let app = App::new(host, store, &environment.base_path);
        if let Some(replica) = replica {
            app.shop.replica.get_or_init(|| replica);
        }
        let app = Arc::new(app);
        let handle = runtime.handle().clone();
        let base_path = environment.base_path;
        Ok(Self { app, base_path, tasks: Mutex::default(), runtime: Some(runtime), handle })
    }

    fn describe(&self) -> Description {
        describe()
    }

    fn openapi(&self) -> Option<String> {
        Some(format!("{:#}", app::openapi(&self.base_path)))
    }

    async fn install(self: Arc<Self>) -> Result<(), HostError> {
        self.run(|app| async move {
            app.shop.store.migrate(app.shop.registry).await?;
            reference::install(&app.shop.store).await
        })
        .await
    }

    async fn check_parameter(self: Arc<Self>, name: String, value: Value) -> Result<(), HostError> {
        self.run(|app| async move {
            settings::check(&name, &value, &app.shop.store, app.shop.registry).await
        })
        .await
    }

    async fn metrics(self: Arc<Self>) -> Result<Vec<Metric>, HostError> {
        self.run(|app| async move { app.metrics().await }).await
    }

    async fn panel(self: Arc<Self>, name: String) -> Result<PanelContent, HostError> {
        self.run(|app| async move { app.panel(&name).await }).await
    }

    async fn detail_panel(
        self: Arc<Self>,
        name: String,
        subject: Subject,
    ) -> Result<PanelContent, HostError> {
        self.run(|app| async move { app.detail_panel(&name, &subject).await }).await
    }

    async fn job(self: Arc<Self>, name: String) -> Result<(), HostError> {
        self.run(|app| async move { app.job(&name).await }).await
    }

    fn start(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.is_empty() {
            let app = Arc::clone(&self.app);
            tasks.push(self.handle.spawn(async move { app.shop.sender.run().await }));
            let app = Arc::clone(&self.app);
            tasks.push(self.handle.spawn(async move { app.shop.feed.run().await }));
        }
    }

    async fn command(
        self: Arc<Self>,
        name: String,
        options: Map<String, Value>,
        progress: ProgressHandle,
    ) -> Result<CommandOutput, HostError> {
        self.run(move |app| async move { app.command(&name, options, &progress).await }).await
    }

    async fn copy(
        self: Arc<Self>,
        target: Environment,
        progress: ProgressHandle,
    ) -> Result<String, HostError> {
        self.run(move |app| async move {
            let source = app.shop.store.patient();
            let target = Store::open(&target.database_url)?.patient();
            let copied = copy::copy(&source, &target, app.shop.registry, &progress).await;
            source.close().await;
            target.close().await;
            copied
        })
        .await
    }

    async fn export_person(self: Arc<Self>, person: Person) -> Result<Body, HostError> {
        self.run(|app| async move { privacy::export(&app.shop, &person).await }).await
    }

    async fn erase_person(self: Arc<Self>, erasure: Erasure) -> Result<Erased, HostError> {
        self.run(|app| async move { privacy::erase(&app.shop, &erasure).await }).await
    }

    async fn event(self: Arc<Self>, event: Event) -> Result<(), HostError> {
        self.app.event(&event);
        Ok(())
    }

    async fn health(self: Arc<Self>) -> Result<(), HostError> {
        self.run(|app| async move { app.shop.store.ping().await }).await
    }

    async fn handle(self: Arc<Self>, request: Request) -> Response {
        let app = Arc::clone(&self.app);
        let id = request.id().to_owned();
        let reads = request.method() == Method::Get;
        let mut bridge = Bridge::new(self.handle.clone(), async move { app.handle(request).await });
        bridge.stays = reads;
        bridge.await.unwrap_or_else(|gone| answer::failure(&gone, &id))
    }

    async fn shutdown(self: Arc<Self>) {
        let app = Arc::clone(&self.app);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let bridge = Bridge::new(self.handle.clone(), async move {
            app.shop.sender.stop();
            app.shop.feed.stop();
            for task in tasks {
                if let Err(error) = task.await {
                    tracing::error!(%error, "a task of the store failed");
                }
            }
            if tokio::time::timeout(CLOSING_TIME, app.shop.close()).await.is_err() {
                tracing::warn!("the database did not close all connections");
            }
        });
        // A runtime that has been shut down has closed everything already.
        drop(bridge.await);
    }
}

impl ShopPlugin {
    async fn run<T, F>(&self, work: impl FnOnce(Arc<App>) -> F) -> Result<T, HostError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let bridge = Bridge::new(self.handle.clone(), work(Arc::clone(&self.app)));
        bridge.await.and_then(|done| done).map_err(failed)
    }
}

impl Drop for ShopPlugin {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which must not be done inside the host's own
        // runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn failed(error: Error) -> HostError {
    match error {
        // A fault is written for people, and repeating the request does not help.
        Error::Faults(faults) => {
            let details: Vec<String> = faults.into_iter().map(|fault| fault.detail).collect();
            HostError::Refused(details.join(" "))
        }
        error => HostError::Failed(chain(&error)),
    }
}

/// A future of this library that a thread of the host polls. It is in a box, because a runtime's code for a task
/// is compiled again for each type of future.
struct Bridge<T> {
    runtime: Handle,
    /// Whether the host polls the future until it is ready.
    stays: bool,
    state: State<T>,
}

enum State<T> {
    /// Polled by the host.
    Inline(BoxFuture<'static, T>),
    /// Moved to the runtime's threads.
    Spawned(JoinHandle<T>),
    /// Has returned its value.
    Done,
}

impl<T> Bridge<T> {
    fn new(runtime: Handle, future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { runtime, stays: false, state: State::Inline(Box::pin(future)) }
    }
}

impl<T: Send + 'static> Future for Bridge<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let State::Inline(future) = &mut this.state {
            let _context = this.runtime.enter();
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                this.state = State::Done;
                return Poll::Ready(Ok(value));
            }
            if this.stays {
                return Poll::Pending;
            }
            if let State::Inline(future) = std::mem::replace(&mut this.state, State::Done) {
                this.state = State::Spawned(this.runtime.spawn(future));
            }
        }
        let State::Spawned(task) = &mut this.state else {
            return Poll::Ready(Err(Error::Contract("polled after it was ready")));
        };
        match Pin::new(task).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                this.state = State::Done;
                Poll::Ready(result.map_err(|gone| match gone.try_into_panic() {
                    // The contract's wrapper around this future catches the panic.
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Error::Contract("the store has been shut down"),
                }))
            }
        }
    }
}

impl<T> Drop for Bridge<T> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, State::Done) {
            // Dropping a pool's guard outside the runtime would abort the process.
            State::Inline(future) => {
                let _context = self.runtime.enter();
                drop(future);
            }
            State::Spawned(task) => task.abort(),
            State::Done => {}
        }
    }
}
