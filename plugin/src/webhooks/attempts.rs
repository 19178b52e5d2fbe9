//! What becomes of a webhook and of an event after an attempt: when the next one is due, and from when on the
//! webhook counts as failing or is disabled. Pure: knows neither the database nor the receiver. All moments are
//! seconds since 1970.

use std::time::Duration;

/// The pauses between the attempts of an event, in seconds. After the last one it is given up.
const PAUSES: [i64; 9] =
    [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The longest pause that a receiver can ask for.
const LONGEST_WISH: i64 = DAY;
/// After this many failures in a row, only one event at a time is tried.
const FAILURES: i64 = 20;
/// After so long with nothing but failures, the user gets a mail.
const WARNED_AFTER: i64 = DAY;
/// After so long with nothing but failures, of which two are as far apart, the webhook is disabled.
const DISABLED_AFTER: i64 = 5 * DAY;

/// A moment that never comes.
pub(super) const NEVER: i64 = i64::MAX;

/// The state of a webhook, as its field has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has not been tried yet with success.
    Pending,
    /// It gets what changes.
    Active,
    /// It has failed many times in a row.
    Failing,
    /// It gets nothing.
    Disabled,
}

/// Why a webhook is disabled, as its field has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Somebody has disabled it.
    Request,
    /// It has failed for days.
    Failures,
    /// The receiver has answered that it is gone.
    Gone,
}

/// How a webhook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Health {
    pub(super) state: State,
    /// How often it has failed since the last success.
    pub(super) failures: i64,
    /// Since when it fails; 0 if it does not.
    pub(super) failing_since: i64,
    /// Before this moment nothing is sent.
    pub(super) resume_at: i64,
    /// How many mails its user got since then.
    pub(super) mails: i64,
}

/// What an attempt has led to, beside what it means for its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    None,
    /// The user gets a mail about the failures.
    Warn,
    /// It is disabled.
    Disable(Reason),
}

impl State {
    const ALL: [Self; 4] = [Self::Pending, Self::Active, Self::Failing, Self::Disabled];
    /// Their names.
    pub(crate) const NAMES: &'static [&'static str] = &["pending", "active", "failing", "disabled"];

    /// Its name on the wire and in the database.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Failing => "failing",
            Self::Disabled => "disabled",
        }
    }

    /// The one with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl Reason {
    /// Its name on the wire and in the database.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Failures => "failures",
            Self::Gone => "gone",
        }
    }
}

impl Health {
    /// The health of a webhook that has yet to be tried.
    pub(super) const PENDING: Self =
        Self { state: State::Pending, failures: 0, failing_since: 0, resume_at: 0, mails: 0 };

    /// Notes a success.
    pub(super) fn succeed(&mut self) {
        *self = Self { state: State::Active, ..Self::PENDING };
    }

    /// Notes a failure that ended now. The event is due again at this moment, if it is.
    pub(super) fn fail(&mut self, now: i64, gone: bool, due: Option<i64>) -> Consequence {
        self.failures = self.failures.saturating_add(1);
        if self.failing_since == 0 {
            self.failing_since = now;
        }
        if gone {
            self.state = State::Disabled;
            return Consequence::Disable(Reason::Gone);
        }
        let lasts = now.saturating_sub(self.failing_since);
        if lasts >= DISABLED_AFTER {
            self.state = State::Disabled;
            return Consequence::Disable(Reason::Failures);
        }
        if self.state == State::Failing || self.failures >= FAILURES {
            self.state = State::Failing;
            self.resume_at = due.unwrap_or(now + DAY);
        }
        if lasts >= WARNED_AFTER && self.mails == 0 {
            self.mails = 1;
            return Consequence::Warn;
        }
        Consequence::None
    }
}

/// When an event is due again after so many attempts, of which the last one ended now; `None` if it is given up. The
/// receiver may ask for a later moment. `chance` is a number below 1,000, of which each is as likely.
pub(super) fn next_attempt(
    attempts: i64,
    now: i64,
    wish: Option<Duration>,
    chance: i64,
) -> Option<i64> {
    let nth = usize::try_from(attempts.saturating_sub(1)).ok()?;
    let pause = *PAUSES.get(nth)?;
    // From 80 to 120 percent.
    let pause = (pause * (800 + chance.clamp(0, 999) * 401 / 1_000) + 500) / 1_000;
    let wish = wish.map_or(0, |wish| {
        let seconds = i64::try_from(wish.as_millis().div_ceil(1_000)).unwrap_or(LONGEST_WISH);
        seconds.min(LONGEST_WISH)
    });
    Some(now.saturating_add(pause.max(wish)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn ten_attempts_are_made_in_about_three_days() {
        let mut now = NOW;
        for attempt in 1..10 {
            let due = next_attempt(attempt, now, None, 500);
            assert!(due.is_some_and(|due| due > now), "attempt {attempt}");
            now = due.unwrap_or_default();
        }
        assert_eq!(next_attempt(10, now, None, 500), None);
        assert_eq!((now - NOW) / HOUR, 75);
    }

    #[test]
    fn a_receiver_delays_the_next_attempt_by_a_day_at_most_and_hastens_none() {
        let wish = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(next_attempt(1, NOW, wish(90), 500), Some(NOW + 90));
        assert_eq!(next_attempt(1, NOW, wish(9_000_000), 500), Some(NOW + DAY));
        assert_eq!(next_attempt(2, NOW, wish(1), 0), Some(NOW + 240));
        assert_eq!(next_attempt(10, NOW, wish(1), 0), None);
    }

    #[test]
    fn it_is_failing_after_twenty_failures_and_active_after_a_success() {
        let mut health = Health { state: State::Active, ..Health::PENDING };
        for nth in 1..20 {
            assert_eq!(health.fail(NOW + nth, false, Some(NOW + 9)), Consequence::None);
            assert_eq!(health.state, State::Active, "{nth}");
        }
        health.fail(NOW + 20, false, Some(NOW + 25));
        assert_eq!((health.state, health.resume_at), (State::Failing, NOW + 25));
        health.succeed();
        assert_eq!(health, Health { state: State::Active, ..Health::PENDING });
    }

    #[test]
    fn its_user_is_told_after_a_day_and_it_is_disabled_after_five() {
        let mut health = Health { state: State::Active, ..Health::PENDING };
        let mut fail = |days: i64| health.fail(NOW + days * DAY, false, Some(NOW));
        assert_eq!(fail(0), Consequence::None);
        assert_eq!(fail(1), Consequence::Warn);
        assert_eq!(fail(2), Consequence::None);
        assert_eq!(fail(5), Consequence::Disable(Reason::Failures));
        assert_eq!(health.state, State::Disabled);
    }

    #[test]
    fn a_receiver_that_is_gone_is_disabled_at_once() {
        let mut health = Health { state: State::Active, ..Health::PENDING };
        assert_eq!(health.fail(NOW, true, Some(NOW)), Consequence::Disable(Reason::Gone));
        assert_eq!(health.state, State::Disabled);
    }

    proptest! {
        #[test]
        fn each_pause_is_within_a_fifth_of_its_own(attempts in 1_i64..10, chance in 0_i64..1_000) {
            let pause = PAUSES[usize::try_from(attempts - 1).unwrap_or_default()];
            let due = next_attempt(attempts, NOW, None, chance).unwrap_or_default() - NOW;
            prop_assert!(due * 10 >= pause * 8 - 10 && due * 10 <= pause * 12 + 10, "{due}");
        }

        #[test]
        fn one_success_among_failures_keeps_it_enabled(
            failures in proptest::collection::vec(1_i64..DAY, 1..200),
        ) {
            // A success every fourth day at least.
            let mut health = Health { state: State::Active, ..Health::PENDING };
            let (mut now, mut since) = (NOW, NOW);
            for pause in failures {
                now += pause;
                if now - since > 4 * DAY {
                    health.succeed();
                    since = now;
                } else {
                    health.fail(now, false, Some(now));
                }
                prop_assert_ne!(health.state, State::Disabled);
            }
        }
    }
}
