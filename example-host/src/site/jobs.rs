//! Running the jobs of extensions while the site is served. Of all hosts of a site, one at a time runs
//! a job: the one that holds it in the database.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_interface::{Error, LoadedPlugin};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::base::lock::lock;
use crate::extensions::jobs::{self, HELD, JobKey};
use crate::site::Site;

/// How often the database is asked which jobs are due: another host may have ended one.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// The shortest pause between two such questions.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a job that runs is held for longer.
const EXTEND_EVERY: Duration = Duration::from_secs(3);

/// Runs the jobs of a site.
pub(crate) struct Runner {
    site: Site,
    jobs: Vec<Scheduled>,
    /// The unique name of this host.
    holder: String,
    running: Mutex<Running>,
    abort: watch::Sender<bool>,
}

/// A job with its plugin.
struct Scheduled {
    key: JobKey,
    every: Duration,
    plugin: Arc<LoadedPlugin>,
}

/// The runs on this host.
#[derive(Default)]
struct Running {
    /// The positions of the jobs that run.
    jobs: HashSet<usize>,
    tasks: JoinSet<()>,
}

/// How a run ended.
enum End {
    Done(Result<(), Error>),
    /// Another host may run the job now.
    Lost,
    Aborted,
}

impl Runner {
    pub(crate) fn new(site: &Site) -> Result<Arc<Self>, crate::base::error::Error> {
        let jobs = site.plugins().flat_map(|(description, plugin)| {
            description.jobs.iter().map(|job| Scheduled {
                key: JobKey { extension: description.name.clone(), name: job.name.clone() },
                every: job.every(),
                plugin: Arc::clone(plugin),
            })
        });
        Ok(Arc::new(Self {
            jobs: jobs.collect(),
            site: site.clone(),
            holder: format!("{:016x}", getrandom::u64()?),
            running: Mutex::default(),
            abort: watch::Sender::new(false),
        }))
    }

    /// Begins runs when they are due, until the future is dropped. Runs continue after that.
    pub(crate) async fn follow(self: Arc<Self>) {
        if self.jobs.is_empty() {
            return;
        }
        loop {
            let next = match self.begin_due().await {
                Ok(next) => next.clamp(PAUSE, POLL_EVERY),
                Err(error) => {
                    tracing::debug!(%error, "the jobs that are due cannot be read");
                    POLL_EVERY
                }
            };
            // After the time, the database is asked again.
            let _ = timeout(next, self.site.state().woken().notified()).await;
        }
    }

    /// Waits for the runs in progress. Those that are not done by `finish_by` are given up, and waited
    /// for until `abort_by`.
    pub(crate) async fn finish(&self, finish_by: Instant, abort_by: Instant) {
        let mut tasks = std::mem::take(&mut lock(&self.running).tasks);
        let mut all = async || while tasks.join_next().await.is_some() {};
        if timeout_at(finish_by, all()).await.is_err() {
            tracing::warn!("jobs that took too long to finish were aborted");
            self.abort.send_replace(true);
            if timeout_at(abort_by, all()).await.is_err() {
                tracing::warn!("a job could not be aborted");
            }
        }
    }

    /// Begins the runs that are due, and returns the time until the next one.
    async fn begin_due(self: &Arc<Self>) -> Result<Duration, crate::base::error::Error> {
        let state = self.site.state();
        let find = |key: &JobKey| self.jobs.iter().position(|job| job.key == *key);
        let every = |key: &JobKey| find(key).and_then(|at| self.jobs.get(at)).map(|job| job.every);
        let waiting = jobs::waiting(state.database(), every).await?;
        let mut next = POLL_EVERY;
        for (key, wait) in waiting {
            let Some(at) = find(&key) else { continue };
            if !state.snapshot().enabled(&key.extension) || !state.is_trusted() {
                continue;
            }
            let mut running = lock(&self.running);
            if running.jobs.contains(&at) {
                continue;
            }
            next = next.min(wait);
            if wait.is_zero() {
                running.jobs.insert(at);
                // Those that are done are removed, so that the set does not grow.
                while running.tasks.try_join_next().is_some() {}
                running.tasks.spawn(Arc::clone(self).run(at));
            }
        }
        Ok(next)
    }

    async fn run(self: Arc<Self>, at: usize) {
        if let Some(job) = self.jobs.get(at)
            && let Err(error) = self.run_once(job).await
        {
            let JobKey { extension, name } = &job.key;
            tracing::error!(extension, job = name, %error, "a run could not be recorded");
            sleep(POLL_EVERY).await;
        }
        lock(&self.running).jobs.remove(&at);
        self.site.state().woken().notify_one();
    }

    /// Runs a job, unless another host does.
    async fn run_once(&self, job: &Scheduled) -> Result<(), crate::base::error::Error> {
        let database = self.site.state().database();
        let (key, holder) = (&job.key, self.holder.as_str());
        if !jobs::take(database, key, job.every, holder).await? {
            return Ok(());
        }
        let JobKey { extension, name } = key;
        let began = Instant::now();
        // A task of its own, because a plugin that blocks its thread must not delay the others. It is
        // aborted when it is dropped.
        let mut task = JoinSet::new();
        let (plugin, called) = (Arc::clone(&job.plugin), name.clone());
        task.spawn(async move { plugin.job(&called).await });
        let mut abort = self.abort.subscribe();
        let end = tokio::select! {
            done = task.join_next() => End::Done(match done {
                Some(Ok(done)) => done,
                Some(Err(error)) => Err(Error::failed(error)),
                None => Err(Error::failed("it was not begun")),
            }),
            () = self.lost(key) => End::Lost,
            _ = abort.wait_for(|abort| *abort) => End::Aborted,
        };
        drop(task);
        let done = match end {
            End::Done(Ok(())) => true,
            End::Done(Err(error)) => {
                tracing::error!(extension, job = name, %error, "a job failed");
                false
            }
            End::Lost => {
                tracing::error!(
                    extension,
                    job = name,
                    "a job was aborted, because the database did not confirm that it runs here"
                );
                false
            }
            End::Aborted => return jobs::give_up(database, key, holder).await,
        };
        self.site.metrics().job(extension, name, done, began.elapsed());
        jobs::end(database, key, holder).await
    }

    /// Holds a job for as long as possible, and returns when this host does not hold it any more.
    async fn lost(&self, key: &JobKey) {
        let database = self.site.state().database();
        let mut extended = Instant::now();
        loop {
            sleep(EXTEND_EVERY).await;
            let asked = Instant::now();
            match timeout_at(extended + HELD, jobs::extend(database, key, &self.holder)).await {
                Ok(Ok(true)) => extended = asked,
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a job that runs could not be held for longer");
                    if extended.elapsed() >= HELD {
                        return;
                    }
                }
            }
        }
    }
}

crate::base::opaque::opaque!(Runner);
