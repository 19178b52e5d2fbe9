//! What the API has had to do lately, in this host alone and only in memory: how many requests in
//! each minute of the last hour, and the last ones that were refused, so that whoever looks for the
//! fault of a client finds the request. Bounded, and counted in the time of a glance.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use time::{OffsetDateTime, PrimitiveDateTime};

use crate::base::text::now;

/// How many minutes are remembered.
pub(crate) const MINUTES: usize = 60;

/// How many refusals are remembered.
pub(crate) const REFUSALS: usize = 50;

/// How many requests were answered in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Counted from 1970.
    number: i64,
    pub(crate) requests: u64,
    /// Those of them that clients are to blame for: 4xx.
    pub(crate) refused: u64,
    /// Those that the site is to blame for: 5xx.
    pub(crate) failed: u64,
}

impl Minute {
    /// When it began.
    pub(crate) fn began(&self) -> PrimitiveDateTime {
        let began = OffsetDateTime::from_unix_timestamp(self.number.saturating_mul(60));
        began.map_or(PrimitiveDateTime::MIN, |at| PrimitiveDateTime::new(at.date(), at.time()))
    }
}

/// A request that was refused, without anything of its body.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) at: PrimitiveDateTime,
    pub(crate) status: u16,
    /// The codes of what was wrong, for programs.
    pub(crate) codes: String,
    /// The first of it, for people.
    pub(crate) detail: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Empty where nobody was told by what was sent.
    pub(crate) username: String,
    pub(crate) request: String,
}

impl Refused {
    /// One that is refused now.
    pub(crate) fn now(status: u16, method: &str, path: &str, request: &str) -> Self {
        // A path may be as long as all headers together.
        let path = path.chars().take(200).collect();
        let (method, request) = (method.to_owned(), request.to_owned());
        let (codes, detail, username) = Default::default();
        Self { at: now(), status, codes, detail, method, path, username, request }
    }
}

/// What this host remembers.
#[derive(Debug)]
pub(crate) struct Traffic {
    minutes: Mutex<[Minute; MINUTES]>,
    /// The newest first.
    refusals: Mutex<VecDeque<Refused>>,
}

impl Default for Traffic {
    fn default() -> Self {
        Self { minutes: Mutex::new([Minute::default(); MINUTES]), refusals: Mutex::default() }
    }
}

impl Traffic {
    /// A request has been answered.
    pub(crate) fn answered(&self, status: u16) {
        self.answered_in(this_minute(), status);
    }

    /// A request has been refused.
    pub(crate) fn refused(&self, refused: Refused) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.truncate(REFUSALS - 1);
        refusals.push_front(refused);
    }

    /// The last hour, this minute last.
    pub(crate) fn hour(&self) -> Vec<Minute> {
        self.hour_until(this_minute())
    }

    /// The last requests that were refused, the newest first.
    pub(crate) fn refusals(&self) -> Vec<Refused> {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.iter().cloned().collect()
    }

    fn answered_in(&self, number: i64, status: u16) {
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(minute) = minutes.get_mut(place(number)) else { return };
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        minute.requests += 1;
        minute.refused += u64::from((400..499).contains(&status));
        minute.failed += u64::from((500..600).contains(&status));
    }

    fn hour_until(&self, last: i64) -> Vec<Minute> {
        let minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        let first = last - (MINUTES as i64 - 1);
        let of = |number| {
            let known = minutes.get(place(number)).filter(|minute| minute.number == number);
            known.copied().unwrap_or(Minute { number, ..Minute::default() })
        };
        (first..=last).map(of).collect()
    }
}

/// Where a minute is remembered, in the place of the one an hour before.
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
    fn an_hour_is_remembered_and_no_more() {
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
        // The minute of the hour before is written over.
        traffic.answered_in(1060, 200);
        assert_eq!(counts(1060), [(1030, 2, 0, 1), (1059, 2, 1, 0), (1060, 1, 0, 0)]);
        assert_eq!(counts(5000), []);
    }

    #[test]
    fn the_newest_refusals_are_remembered() {
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
