//! The way of a request: it is checked, waits for a place, its receiver is resolved and each address checked, and it is
//! sent on a connection to one of them. No proxy is asked, whatever the environment names.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use host_interface::{Delivered, Delivery, Error};
use ipnet::IpNet;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::watch::metrics::Metrics;

use super::addresses::Networks;
use super::connection::{Answer, Connection, Failed};
use super::message::Message;
use super::names::{Names, Resolve, System};
use super::pool::{Key, Pool};
use super::target::{Place, Target};
use super::tls::Tls;
use super::undelivered::Undelivered;

/// How many requests are sent at the same time.
const SENT: usize = 256;

/// How many may wait for that.
const WAITING: usize = 1024;

/// Sends the requests of a site. Clones share their state.
pub(crate) struct Sender<R = System>(Arc<Inner<R>>);

struct Inner<R> {
    networks: Networks,
    names: Names<R>,
    pool: Pool,
    tls: Tls,
    /// The places of those that are sent.
    sent: Semaphore,
    /// The places of these and of those that wait.
    taken: Semaphore,
    metrics: Arc<Metrics>,
}

impl Sender {
    /// A sender that may also send to these networks.
    pub(crate) fn new(networks: Vec<IpNet>, metrics: Arc<Metrics>) -> Self {
        Self::with(System::default(), networks, metrics)
    }
}

impl<R: Resolve> Sender<R> {
    fn with(resolver: R, networks: Vec<IpNet>, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Inner {
            networks: Networks::new(networks),
            names: Names::new(resolver),
            pool: Pool::default(),
            tls: Tls::default(),
            sent: Semaphore::new(SENT),
            taken: Semaphore::new(SENT + WAITING),
            metrics,
        }))
    }

    /// Whether requests may be sent to this address, without looking its name up.
    pub(crate) fn may_deliver(&self, url: &str) -> Result<(), Error> {
        let checked = Target::read(url).and_then(|target| target.check(&self.0.networks));
        checked.map_err(|error| Error::Refused(error.to_string()))
    }

    /// Sends a request of an extension.
    ///
    /// # Errors
    /// When it can never be sent, or too many others are being sent.
    pub(crate) async fn deliver(
        &self,
        extension: &str,
        delivery: Delivery,
    ) -> Result<Delivered, Error> {
        let Inner { metrics, .. } = &*self.0;
        let message = Message::read(delivery).map_err(|error| {
            metrics.undelivered("refused");
            Error::Refused(error.to_string())
        })?;
        let busy = || {
            metrics.undelivered("busy");
            Error::failed("too many requests are being sent")
        };
        let _places = self.place(message.total).await.ok_or_else(busy)?;
        let _sending = metrics.delivering();
        // Before the time begins, because the first request reads the authorities from files.
        let tls = self.tls(&message.target).await;
        let begun = Instant::now();
        let sent = match tls {
            Ok(tls) => timeout(message.total, self.exchange(&message, tls, begun))
                .await
                .unwrap_or_else(|elapsed| Err(elapsed.into())),
            Err(error) => Err(error),
        };
        let took = begun.elapsed();
        // The path is left out, which may contain a secret of the receiver.
        let receiver = message.target.authority.as_str();
        let (delivered, result) = match sent {
            Ok(Answer { status, retry_after }) => {
                tracing::debug!(extension, receiver, status, ?took, "a request was answered");
                let delivered = Delivered::answered(status, took).retry_after(retry_after);
                let result = if delivered.is_accepted() { "accepted" } else { "rejected" };
                (delivered, result)
            }
            Err(error) => {
                tracing::debug!(extension, receiver, %error, ?took, "a request has no answer");
                (Delivered::failed(error.class(), took), error.class())
            }
        };
        metrics.delivered(result, took);
        Ok(delivered)
    }

    /// Waits for a place, no longer than sending may take; `None` if there is none.
    async fn place(&self, within: Duration) -> Option<[SemaphorePermit<'_>; 2]> {
        let taken = self.0.taken.try_acquire().ok()?;
        let sent = timeout(within, self.0.sent.acquire()).await.ok()?.ok()?;
        Some([taken, sent])
    }

    /// What encrypts a connection, if it has to be.
    async fn tls(&self, target: &Target) -> Result<Option<&TlsConnector>, Undelivered> {
        if !target.is_encrypted {
            return Ok(None);
        }
        self.0.tls.connector().await.map(Some).map_err(Undelivered::Tls)
    }

    async fn exchange(
        &self,
        message: &Message,
        tls: Option<&TlsConnector>,
        begun: Instant,
    ) -> Result<Answer, Undelivered> {
        let Message { target, connect, .. } = message;
        let connected_by = begun + *connect;
        let addresses = timeout_at(connected_by, self.addresses(target)).await??;
        let mut request = message.request.clone();
        if let Some((key, mut kept)) = self.0.pool.take(target, &addresses) {
            match kept.send(request).await {
                Ok(response) => return Ok(self.answer(key, kept, Answer::read(response).await)),
                Err(Failed::Broken(error)) => return Err(error.into()),
                Err(Failed::Unsent(unsent)) => request = *unsent,
            }
        }
        let within = connected_by.duration_since(Instant::now());
        let connecting = Connection::open(target, &addresses, tls, within);
        let (address, mut connection) = timeout_at(connected_by, connecting).await??;
        match connection.send(request).await {
            Ok(response) => {
                let key = Key::new(target, address);
                Ok(self.answer(key, connection, Answer::read(response).await))
            }
            Err(Failed::Broken(error)) => Err(error.into()),
            Err(Failed::Unsent(_)) => Err(Undelivered::Closed),
        }
    }

    /// The addresses of a receiver, if requests may be sent to each of them.
    async fn addresses(&self, target: &Target) -> Result<Arc<[IpAddr]>, Undelivered> {
        let addresses = match &target.place {
            Place::Name(name) => self.0.names.addresses(name).await.map_err(Undelivered::Name)?,
            Place::Address(address) => Arc::from([*address]),
        };
        let refused = |address: &&IpAddr| !self.0.networks.allow(**address, target.is_encrypted);
        match addresses.iter().find(refused) {
            Some(address) => Err(Undelivered::Address(*address)),
            None => Ok(addresses),
        }
    }

    /// Keeps a connection that may be used again.
    fn answer(&self, key: Key, of: Connection, (answer, is_free): (Answer, bool)) -> Answer {
        if is_free {
            self.0.pool.put(key, of);
        }
        answer
    }
}

impl<R> Clone for Sender<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> std::fmt::Debug for Sender<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use host_interface::undelivered;

    use super::*;

    const A: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    const B: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// A name whose addresses a test changes.
    #[derive(Clone, Default)]
    struct Changing(Arc<Mutex<Vec<IpAddr>>>);

    impl Changing {
        /// Sets the addresses, and waits until answers from before are not used any more.
        async fn set(&self, addresses: &[IpAddr]) {
            if let Ok(mut now) = self.0.lock() {
                *now = addresses.to_vec();
            }
            tokio::time::sleep(Duration::from_millis(1_010)).await;
        }
    }

    impl Resolve for Changing {
        async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
            self.0.lock().map(|now| now.clone()).map_err(|_| io::ErrorKind::Other.into())
        }
    }

    /// Answers requests on each connection, and counts the connections.
    fn receive(address: SocketAddr) -> io::Result<(SocketAddr, Arc<AtomicUsize>)> {
        let listener = TcpListener::bind(address)?;
        let (address, count) = (listener.local_addr()?, Arc::<AtomicUsize>::default());
        let counted = Arc::clone(&count);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while stream.read(&mut bytes).is_ok_and(|read| read > 0) {
                        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                    }
                });
            }
        });
        Ok((address, count))
    }

    fn sender(names: &Changing, networks: &[IpAddr]) -> Sender<Changing> {
        let networks = networks.iter().map(|address| IpNet::from(*address)).collect();
        Sender::with(names.clone(), networks, Arc::new(Metrics::new()))
    }

    #[tokio::test]
    async fn a_name_that_changes_is_checked_at_each_request()
    -> Result<(), Box<dyn std::error::Error>> {
        let (allowed, to_allowed) = receive(SocketAddr::new(A, 0))?;
        let (_, to_refused) = receive(SocketAddr::new(B, allowed.port()))?;
        let names = Changing::default();
        let sender = sender(&names, &[A]);
        let url = format!("http://erp.example:{}/", allowed.port());
        for (addresses, error) in [
            (&[A][..], None),
            (&[B][..], Some(undelivered::ADDRESS)),
            // One of them is enough.
            (&[A, B][..], Some(undelivered::ADDRESS)),
            (&[B, A][..], Some(undelivered::ADDRESS)),
            (&[][..], Some(undelivered::DNS)),
            (&[A][..], None),
        ] {
            names.set(addresses).await;
            let sent = sender.deliver("till", Delivery::new(url.as_str(), "")).await?;
            assert_eq!(sent.error.as_deref(), error, "{addresses:?}");
            assert_eq!(sent.is_accepted(), error.is_none(), "{addresses:?}");
        }
        assert_eq!(to_refused.load(Ordering::SeqCst), 0);
        // The first connection was idle for too long.
        assert_eq!(to_allowed.load(Ordering::SeqCst), 2);
        Ok(())
    }

    #[tokio::test]
    async fn a_connection_is_used_again_while_the_name_has_its_address()
    -> Result<(), Box<dyn std::error::Error>> {
        let (receiver, connections) = receive(SocketAddr::new(A, 0))?;
        let elsewhere = IpAddr::from([127, 0, 0, 3]);
        let names = Changing::default();
        let sender = sender(&names, &[A, elsewhere]);
        let url = format!("http://erp.example:{}/", receiver.port());
        names.set(&[A]).await;
        for _ in 0..10 {
            let sent = sender.deliver("till", Delivery::new(url.as_str(), "")).await?;
            assert_eq!(sent.status, Some(204));
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1);
        names.set(&[elsewhere]).await;
        let sent = sender.deliver("till", Delivery::new(url.as_str(), "")).await?;
        assert_eq!(sent.error.as_deref(), Some(undelivered::CONNECT), "nobody listens there");
        Ok(())
    }

    #[tokio::test]
    async fn requests_wait_for_a_place_within_their_time_and_not_too_many_of_them()
    -> Result<(), Error> {
        let sender = Sender::new(Vec::new(), Arc::new(Metrics::new()));
        let time = Duration::from_millis(50);
        let delivery = || Delivery::new("https://127.0.0.1/", "").within(time, time);
        let all = sender.0.sent.acquire_many(SENT as u32).await.map_err(Error::failed)?;
        let begun = Instant::now();
        assert!(matches!(sender.deliver("till", delivery()).await, Err(Error::Failed(_))));
        assert!(begun.elapsed() >= time);
        drop(all);
        let sent = sender.deliver("till", delivery()).await?;
        assert_eq!(sent.error.as_deref(), Some(undelivered::ADDRESS));
        let taken = sender.0.taken.acquire_many((SENT + WAITING) as u32).await;
        assert!(matches!(sender.deliver("till", delivery()).await, Err(Error::Failed(_))));
        drop(taken);
        Ok(())
    }
}
