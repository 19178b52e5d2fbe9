//! The recent traffic of the API in this process, kept in memory: the number of requests in each
//! minute of the last hour, and the last refused requests, which help to find the error of a
//! client.

use std::collections::VecDeque;
use std::sync::Mutex;

use time::{OffsetDateTime, PrimitiveDateTime};

use crate::base::lock::lock;
use crate::base::text::now;

/// The number of minutes that are kept.
pub(crate) const MINUTES: usize = 60;

/// The number of refused requests that are kept.
pub(crate) const REFUSALS: usize = 50;

/// The number of requests in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Minutes since 1970.
    number: i64,
    pub(crate) requests: u64,
    /// Client errors: 4xx.
    pub(crate) refused: u64,
    /// Server errors: 5xx.
    pub(crate) failed: u64,
}

impl Minute {
    /// The start of the minute.
    pub(crate) fn began(&self) -> PrimitiveDateTime {
        let began = OffsetDateTime::from_unix_timestamp(self.number.saturating_mul(60));
        began.map_or(PrimitiveDateTime::MIN, |at| PrimitiveDateTime::new(at.date(), at.time()))
    }
}

/// A refused request, without its body.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) at: PrimitiveDateTime,
    pub(crate) status: u16,
    /// The codes of the errors, for programs.
    pub(crate) codes: String,
    /// The first error, for people.
    pub(crate) detail: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Empty if the user could not be identified.
    pub(crate) username: String,
    pub(crate) request: String,
}

impl Refused {
    /// A request that is refused now.
    pub(crate) fn now(status: u16, method: &str, path: &str, request: &str) -> Self {
        // A path may be as long as the limit for headers allows.
        let path = path.chars().take(200).collect();
        let (method, request) = (method.to_owned(), request.to_owned());
        let (codes, detail, username) = Default::default();
        Self { at: now(), status, codes, detail, method, path, username, request }
    }
}

/// The recent traffic.
#[derive(Debug)]
pub(crate) struct Traffic {
    minutes: Mutex<[Minute; MINUTES]>,
    /// Newest first.
    refusals: Mutex<VecDeque<Refused>>,
}

impl Default for Traffic {
    fn default() -> Self {
        Self { minutes: Mutex::new([Minute::default(); MINUTES]), refusals: Mutex::default() }
    }
}

impl Traffic {
    /// Counts an answered request.
    pub(crate) fn answered(&self, status: u16) {
        self.answered_in(this_minute(), status);
    }

    /// Keeps a refused request.
    pub(crate) fn refused(&self, refused: Refused) {
        let mut refusals = lock(&self.refusals);
        refusals.truncate(REFUSALS - 1);
        refusals.push_front(refused);
    }

    /// The last hour; the current minute is last.
    pub(crate) fn hour(&self) -> Vec<Minute> {
        self.hour_until(this_minute())
    }

    /// The last refused requests, newest first.
    pub(crate) fn refusals(&self) -> Vec<Refused> {
        lock(&self.refusals).iter().cloned().collect()
    }

    fn answered_in(&self, number: i64, status: u16) {
        let mut minutes = lock(&self.minutes);
        let Some(minute) = minutes.get_mut(place(number)) else { return };
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        minute.requests += 1;
        minute.refused += u64::from((400..499).contains(&status));
        minute.failed += u64::from((500..600).contains(&status));
    }

    fn hour_until(&self, last: i64) -> Vec<Minute> {
        let minutes = lock(&self.minutes);
        let first = last - (MINUTES as i64 - 1);
        let of = |number| {
            let known = minutes.get(place(number)).filter(|minute| minute.number == number);
            known.copied().unwrap_or(Minute { number, ..Minute::default() })
        };
        (first..=last).map(of).collect()
    }
}

/// The index of a minute; it replaces the minute an hour before.
fn place(number: i64) -> usize {
    usize::try_from(number.rem_euclid(MINUTES as i64)).unwrap_or_default()
}

fn this_minute() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp().div_euclid(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hour_is_kept() {
        let traffic = Traffic::default();
        for (number, status) in
            [(1000, 200), (1000, 404), (1030, 503), (1030, 499), (1059, 201), (1059, 422)]
        {
            traffic.answered_in(number, status);
        }
        let counts = |last| {
            let hour = traffic.hour_until(last);
            assert_eq!(hour.len(), MINUTES);
            assert!(hour.windows(2).all(|pair| pair[0].number + 1 == pair[1].number));
            let busy = hour.into_iter().filter(|minute| minute.requests > 0);
            busy.map(|of| (of.number, of.requests, of.refused, of.failed)).collect::<Vec<_>>()
        };
        assert_eq!(counts(1059), [(1000, 2, 1, 0), (1030, 2, 0, 1), (1059, 2, 1, 0)]);
        assert_eq!(counts(1060), [(1030, 2, 0, 1), (1059, 2, 1, 0)]);
        // The minute an hour before is overwritten.
        traffic.answered_in(1060, 200);
        assert_eq!(counts(1060), [(1030, 2, 0, 1), (1059, 2, 1, 0), (1060, 1, 0, 0)]);
        assert_eq!(counts(5000), []);
    }

    #[test]
    fn the_newest_refusals_are_kept() {
        let traffic = Traffic::default();
        for number in 0..REFUSALS + 10 {
            traffic.refused(Refused::now(403, "GET", "/", &number.to_string()));
        }
        let known = traffic.refusals();
        assert_eq!(known.len(), REFUSALS);
        assert_eq!(known[0].request, (REFUSALS + 9).to_string());
        assert_eq!(known[REFUSALS - 1].request, "10");
    }
}
