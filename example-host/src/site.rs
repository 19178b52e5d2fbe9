//! A site: the host's database and the plugins that were created for it. Opening one installs what
//! is missing. What administrators do with it stands in the file of each concern.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_interface::{DemoSize, Description, Environment, HostHandle, LoadedPlugin, Progress};

use crate::database::{Database, DatabaseUrl};
use crate::error::Error;
use crate::extensions;
use crate::loader;
use crate::mail::MailFolder;
use crate::server;
use crate::services::Services;
use crate::state::{self, State};

/// Where the routes of plugins are mounted.
pub(crate) const BASE_PATH: &str = "/api/index.php";

/// How long a plugin may take to finish.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// A site that is open. Clones are the same site.
#[derive(Clone, Debug)]
pub struct Site {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Arc<State>,
    plugins: Vec<Arc<LoadedPlugin>>,
    closed: AtomicBool,
}

impl Site {
    /// Opens a database with these plugins, and installs what is missing in it: the tables of the
    /// host and of each plugin with the data they cannot do without.
    ///
    /// # Errors
    /// When a library cannot be loaded, a plugin fails, or the database cannot be used.
    pub async fn open(url: &DatabaseUrl, plugins: &[PathBuf]) -> Result<Self, Error> {
        // Libraries come first: one that cannot be loaded must not leave a database behind.
        let created = plugins
            .iter()
            .map(|path| Created::new(path, url))
            .collect::<Result<Vec<Created>, Error>>()?;
        check_together(&created)?;

        let database = Database::open(url).await?;
        // Two first starts at the same time must not install at the same time.
        let lock = lock(url.beside("host.lock")).await?;
        database.migrate().await?;
        let descriptions = created.iter().map(|plugin| plugin.description.clone()).collect();
        let state = Arc::new(State::new(database, descriptions));
        register(&state).await?;
        state.reload().await?;
        let mut plugins = Vec::new();
        for created in created {
            created.services.link(Arc::clone(&state), &created.description.name);
            let installed = created.plugin.install().await;
            installed.map_err(|source| Error::Plugin {
                plugin: created.file,
                step: "install",
                source,
            })?;
            created.services.started();
            plugins.push(created.plugin);
        }
        drop(lock);
        Ok(Self { inner: Arc::new(Inner { state, plugins, closed: AtomicBool::new(false) }) })
    }

    /// Fills the site with data to try it with, and gives what each extension says of it.
    /// `progress` makes the listener for one extension.
    ///
    /// # Errors
    /// When an extension could not.
    pub async fn demo<P: Progress>(
        &self,
        size: DemoSize,
        mut progress: impl FnMut() -> P,
    ) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for (description, plugin) in self.plugins() {
            let line = plugin.demo(size, progress()).await.map_err(|source| Error::Plugin {
                plugin: description.name.clone(),
                step: "demo",
                source,
            })?;
            if !line.is_empty() {
                lines.push(line);
            }
        }
        let mut transaction = self.state().begin().await?;
        sqlx::query("UPDATE host_state SET demo_filled = 1").execute(&mut *transaction).await?;
        self.state().commit(transaction).await?;
        Ok(lines)
    }

    /// The OpenAPI documents of the extensions that have one, as JSON text.
    ///
    /// # Errors
    /// When an extension fails over it.
    pub fn openapi(&self) -> Result<Vec<String>, Error> {
        let mut documents = Vec::new();
        for (description, plugin) in self.plugins() {
            let document = plugin.openapi().map_err(|source| Error::Plugin {
                plugin: description.name.clone(),
                step: "openapi",
                source,
            })?;
            documents.extend(document);
        }
        Ok(documents)
    }

    /// Lets the plugins finish and closes the database. Nothing works afterwards, and closing
    /// again does nothing.
    pub async fn close(&self) {
        if self.inner.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        for (description, plugin) in self.plugins() {
            let extension = &description.name;
            match tokio::time::timeout(SHUTDOWN_TIME, plugin.shutdown()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(extension, %error, "did not shut down"),
                Err(_) => tracing::error!(extension, "did not shut down in time"),
            }
        }
        self.state().database().close().await;
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.inner.state
    }

    /// The plugins, each with what it says of itself.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = (&Description, &Arc<LoadedPlugin>)> {
        self.state().descriptions().iter().zip(&self.inner.plugins)
    }
}

/// A plugin that has been created and described, and has done nothing yet.
struct Created {
    /// Where it was loaded from, for messages.
    file: String,
    plugin: Arc<LoadedPlugin>,
    description: Description,
    services: Services,
}

impl Created {
    fn new(path: &Path, url: &DatabaseUrl) -> Result<Self, Error> {
        let library = loader::load(path)?;
        check_name(library.name())?;
        let services = Services::new(MailFolder::new(url.beside("mail")));
        let file = path.display().to_string();
        let failed = |step| {
            let plugin = file.clone();
            move |source| Error::Plugin { plugin, step, source }
        };
        let environment =
            Environment::new(url.sibling(file_stem(library.name()))?).base_path(BASE_PATH);
        let host = HostHandle::new(services.clone());
        let plugin = library.create(host, &environment).map_err(failed("create"))?;
        let description = plugin.describe().map_err(failed("describe"))?;
        let plugin = Arc::new(plugin);
        Ok(Self { file, plugin, description, services })
    }
}

/// The name of an extension's file: `webservices-shop` keeps its tables in `shop.db`.
fn file_stem(extension: &str) -> &str {
    extension.strip_prefix("webservices-").filter(|rest| !rest.is_empty()).unwrap_or(extension)
}

/// A name becomes the name of a file and of a row, so it is held to what the contract says.
fn check_name(name: &str) -> Result<(), Error> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(fits) {
        return Err(Error::Description {
            plugin: name.to_owned(),
            reason: "has a name that is not lower-case letters, digits and hyphens".to_owned(),
        });
    }
    Ok(())
}

/// What must hold between the plugins: different names, different files, different routes.
fn check_together(created: &[Created]) -> Result<(), Error> {
    let mut names = HashSet::new();
    let mut files = HashSet::new();
    for Created { description, .. } in created {
        let wrong = |reason: &str| {
            let plugin = description.name.clone();
            Err(Error::Description { plugin, reason: reason.to_owned() })
        };
        if !names.insert(&description.name) {
            return wrong("is loaded twice");
        }
        if !files.insert(file_stem(&description.name)) {
            return wrong("would share its file with another extension");
        }
    }
    server::check_routes(created.iter().map(|created| (&created.description, &created.plugin)))
}

async fn register(state: &State) -> Result<(), Error> {
    let mut transaction = state.begin().await?;
    let mut changed = extensions::register_built_in(&mut transaction).await?;
    for description in state.descriptions() {
        changed |= extensions::register(&mut transaction, description).await?;
    }
    // A start that changes nothing leaves the caches of other processes alone.
    if changed {
        state::bump(&mut transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// Waits for the lock, which is given back when the file is dropped.
async fn lock(path: PathBuf) -> Result<File, Error> {
    let fail = {
        let path = path.clone();
        move |source| Error::File { path, source }
    };
    let locking = tokio::task::spawn_blocking(move || {
        let file = File::options().create(true).append(true).open(path)?;
        file.lock()?;
        Ok(file)
    });
    locking.await.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(fail)
}
