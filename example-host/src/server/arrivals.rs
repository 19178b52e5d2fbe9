//! Receives the forms of clients who have not signed in. Anybody can send one, and slowly, so a form has
//! little time, and there are few places for those that have not arrived yet: a few for each client, in
//! which the newest replaces the oldest. Their connections take no places from others meanwhile.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::body::Body;
use host_service::{ClientAddress, Refusal, body};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::base::lock::lock;

use super::limits::Permit;

/// How many forms may be arriving.
const PLACES: usize = 64;

/// How many of them may be of one client: several people may share an address, and the form of a
/// browser arrives at once.
const PLACES_OF_ONE: usize = 4;

/// How long a form may take.
const TIME: Duration = Duration::from_secs(2);

/// The forms that are arriving.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    next: u64,
    /// The oldest first.
    taken: Vec<Arriving>,
}

#[derive(Debug)]
struct Arriving {
    number: u64,
    client: IpAddr,
    replaced: Arc<Notify>,
}

/// A place, which is free again on drop.
struct Place<'a> {
    arrivals: &'a Arrivals,
    number: u64,
    replaced: Arc<Notify>,
}

impl Arrivals {
    /// Receives a form of at most `limit` bytes. Meanwhile the connection with this permit is left out
    /// of the limits.
    pub(crate) async fn receive(
        &self,
        client: IpAddr,
        connection: &Weak<Permit>,
        body: &mut Body,
        limit: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let place = self.take(ClientAddress(client).block());
        let _aside = connection.upgrade().map(|permit| permit.set_aside());
        let reading = timeout(TIME, body::read(body, limit, TIME));
        tokio::select! {
            // What has arrived already is read, whoever else comes.
            biased;
            read = reading => read.unwrap_or(Err(Refusal::BodyTooSlow)),
            () = place.replaced.notified() => Err(Refusal::BodyTooSlow),
        }
    }

    /// Takes a place, if necessary that of the form which has been arriving for longest.
    fn take(&self, client: IpAddr) -> Place<'_> {
        let mut places = lock(&self.0);
        let mut of_client = places.taken.iter().enumerate().filter(|(_, of)| of.client == client);
        let oldest = of_client.next().map(|(index, _)| index);
        let replaced = match oldest {
            Some(oldest) if of_client.count() + 1 >= PLACES_OF_ONE => Some(oldest),
            _ => (places.taken.len() >= PLACES).then_some(0),
        };
        if let Some(index) = replaced {
            places.taken.remove(index).replaced.notify_one();
        }
        let (number, replaced) = (places.next, Arc::new(Notify::new()));
        places.next += 1;
        places.taken.push(Arriving { number, client, replaced: Arc::clone(&replaced) });
        drop(places);
        Place { arrivals: self, number, replaced }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.arrivals.0).taken.retain(|arriving| arriving.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn client(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    fn is_replaced(place: &Place<'_>) -> bool {
        place.replaced.notified().now_or_never().is_some()
    }

    #[test]
    fn the_newest_form_of_a_client_replaces_its_oldest() {
        let arrivals = Arrivals::default();
        let other = arrivals.take(client(2));
        let places: Vec<Place<'_>> =
            (0..=PLACES_OF_ONE).map(|_| arrivals.take(client(1))).collect();
        let replaced: Vec<bool> = places.iter().map(is_replaced).collect();
        assert_eq!(replaced, [true, false, false, false, false]);
        assert!(!is_replaced(&other));
        drop(places);
        assert_eq!(lock(&arrivals.0).taken.len(), 1);
    }

    #[test]
    fn the_newest_of_all_replaces_the_oldest_of_all() {
        let arrivals = Arrivals::default();
        let places: Vec<Place<'_>> =
            (0..=PLACES as u32).map(|number| arrivals.take(client(number))).collect();
        let replaced = places.iter().filter(|place| is_replaced(place)).count();
        assert_eq!((replaced, lock(&arrivals.0).taken.len()), (1, PLACES));
        assert_eq!(lock(&arrivals.0).taken.first().map(|oldest| oldest.client), Some(client(1)));
    }
}
