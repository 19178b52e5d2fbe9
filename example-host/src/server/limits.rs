//! The places for connections. One client has only some of them, and where all are taken, the
//! connection that has been idle for longest is closed in favour of the next. Knows nothing of what
//! is sent on a connection.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// Places for connections.
#[derive(Debug)]
pub(crate) struct Room {
    limit: usize,
    of_one: usize,
    began: Instant,
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    next: u64,
    taken: HashMap<u64, Arc<Seat>>,
    /// How many each has.
    of: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Seat {
    /// Whose it is; a proxy that is known speaks for many, and has as many as it needs.
    whose: Option<IpAddr>,
    /// Since when nothing is asked on the connection, in microseconds; 0 while something is.
    idle_since: AtomicU64,
    /// Whether something has been asked.
    used: AtomicBool,
    leave: Notify,
}

/// A connection with a place, which it gives back when it is dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    room: Arc<Room>,
    number: u64,
    seat: Arc<Seat>,
}

impl Room {
    /// Room for so many, of which one client may have so many.
    pub(crate) fn new(limit: usize, of_one: usize) -> Arc<Self> {
        Arc::new(Self { limit, of_one, began: Instant::now(), seats: Mutex::default() })
    }

    /// A place for a connection from this address, unless all that it may have are in use.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, known_proxy: bool) -> Option<Guest> {
        let whose = (!known_proxy).then(|| client(address));
        let mut seats = self.seats();
        let has = |whose: IpAddr| seats.of.get(&whose).copied().unwrap_or_default();
        if whose.is_some_and(|whose| has(whose) >= self.of_one) {
            seats.make_room(|of| of == whose)?;
        } else if seats.taken.len() >= self.limit {
            seats.make_room(|of| of.is_some())?;
        }
        let seat = Seat {
            whose,
            idle_since: AtomicU64::new(self.now()),
            used: AtomicBool::new(false),
            leave: Notify::new(),
        };
        let (number, seat) = (seats.next, Arc::new(seat));
        seats.next += 1;
        seats.taken.insert(number, Arc::clone(&seat));
        if let Some(whose) = whose {
            *seats.of.entry(whose).or_default() += 1;
        }
        drop(seats);
        Some(Guest { room: Arc::clone(self), number, seat })
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never 0.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

impl Seats {
    /// Has the one leave that has been idle for longest, of those of whom this is true.
    fn make_room(&mut self, fits: impl Fn(Option<IpAddr>) -> bool) -> Option<()> {
        let idle = self.taken.iter().filter_map(|(number, seat)| {
            let since = seat.idle_since.load(Ordering::Relaxed);
            (since > 0 && fits(seat.whose)).then_some((since, *number))
        });
        let (_, number) = idle.min()?;
        self.remove(number)?.leave.notify_one();
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Seat>> {
        let seat = self.taken.remove(&number)?;
        if let Some(whose) = seat.whose
            && let Some(count) = self.of.get_mut(&whose)
        {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&whose);
            }
        }
        Some(seat)
    }
}

impl Guest {
    /// Something is asked on the connection.
    pub(crate) fn is_busy(&self) {
        self.seat.used.store(true, Ordering::Relaxed);
        self.seat.idle_since.store(0, Ordering::Relaxed);
    }

    /// What was asked has its answer.
    pub(crate) fn is_idle(&self) {
        self.seat.idle_since.store(self.room.now(), Ordering::Relaxed);
    }

    /// Whether anything has been asked on the connection.
    pub(crate) fn has_asked(&self) -> bool {
        self.seat.used.load(Ordering::Relaxed)
    }

    /// Waits until the place is wanted for somebody else.
    pub(crate) async fn has_to_leave(&self) {
        self.seat.leave.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Not there any more where somebody else has been given it.
        drop(self.room.seats().remove(self.number));
    }
}

/// Who is behind an address: in IPv6 one client has a whole network of them.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(room: &Arc<Room>, address: &str) -> Option<Guest> {
        room.enter(address.parse().ok()?, false)
    }

    fn has_to_leave(guest: &Option<Guest>) -> bool {
        use std::task::{Context, Poll, Waker};
        let Some(guest) = guest else { return true };
        let leaving = std::pin::pin!(guest.has_to_leave());
        leaving.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn a_client_has_so_many_places_and_no_more() {
        let room = Room::new(10, 2);
        let busy = |address| enter(&room, address).inspect(Guest::is_busy);
        let first = (busy("192.0.2.1"), busy("192.0.2.1"));
        assert!(first.0.is_some() && first.1.is_some());
        assert!(busy("192.0.2.1").is_none() && busy("::ffff:192.0.2.1").is_none());
        assert!(busy("192.0.2.2").is_some());
        // A network of IPv6 is one client.
        let second = (busy("2001:db8::1"), busy("2001:db8:0:0:ffff::2"));
        assert!(second.0.is_some() && second.1.is_some());
        assert!(busy("2001:db8::3").is_none() && busy("2001:db8:0:1::1").is_some());
        drop(first.0);
        assert!(busy("192.0.2.1").is_some());
        // A proxy speaks for many.
        let proxy: Vec<Option<Guest>> =
            (0..3).map(|_| room.enter("10.0.0.1".parse().ok()?, true)).collect();
        assert!(proxy.iter().all(Option::is_some));
    }

    #[test]
    fn the_one_that_has_been_idle_for_longest_makes_room() {
        let room = Room::new(3, 3);
        let (busy, second) = (enter(&room, "192.0.2.1"), enter(&room, "192.0.2.2"));
        let third = enter(&room, "192.0.2.3");
        if let (Some(busy), Some(second)) = (&busy, &second) {
            busy.is_busy();
            second.is_busy();
            std::thread::sleep(std::time::Duration::from_millis(1));
            second.is_idle();
        }
        let fourth = enter(&room, "192.0.2.4");
        assert!(fourth.is_some());
        assert!(has_to_leave(&third) && !has_to_leave(&second) && !has_to_leave(&busy));
        let fifth = enter(&room, "192.0.2.5").inspect(Guest::is_busy);
        assert!(has_to_leave(&second) && !has_to_leave(&busy));
        if let Some(fourth) = &fourth {
            fourth.is_busy();
        }
        assert!(enter(&room, "192.0.2.6").is_none(), "all are in use");
        drop((second, third));
        assert!(enter(&room, "192.0.2.6").is_none(), "they had given theirs away");
        drop(fifth);
        assert!(enter(&room, "192.0.2.6").is_some());
    }
}
