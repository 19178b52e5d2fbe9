//! A sliding window: how many requests there were in the last minute, and when there is room for more. Its
//! memory has an upper bound, whatever the number of requests.

use std::collections::VecDeque;
use std::time::Duration;

/// The length of the window.
pub(super) const LENGTH: Duration = Duration::from_secs(60);

/// Up to this rate each request is kept with its moment. Above, those of half a second are kept as
/// one, which leaves with the last of them: so some hundred numbers are kept at most.
const ONE_BY_ONE: u64 = 120;

/// The parts of a time over which requests are spread.
const PARTS: u32 = 12;

/// The requests of the last minute. Moments are the time since any fixed one, and never run backwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// How many requests leave the window at a moment, the earliest first.
    leaving: VecDeque<(Duration, u64)>,
    /// The sum of these numbers.
    count: u64,
}

impl Window {
    /// The number of requests in the window.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Removes what has left the window at this moment.
    pub(super) fn advance(&mut self, now: Duration) {
        while let Some((at, count)) = self.leaving.front().copied()
            && at <= now
        {
            self.leaving.pop_front();
            self.count -= count;
        }
    }

    /// Adds requests of this moment, of a token with this rate.
    pub(super) fn add(&mut self, count: u64, rate: u64, now: Duration) {
        if count == 0 {
            return;
        }
        let at = LENGTH + if rate <= ONE_BY_ONE { now } else { end_of_step(now) };
        self.count += count;
        match self.leaving.back_mut() {
            // The step before may end later, after the rate was lowered.
            Some(last) if last.0 >= at => last.1 += count,
            _ => self.leaving.push_back((at, count)),
        }
    }

    /// Adds requests that came between two moments, given by how long ago they were, as if they had come
    /// evenly.
    pub(super) fn spread(&mut self, count: u64, ago: (Duration, Duration), now: Duration) {
        let (newest, oldest) = ago;
        let until = now + LENGTH;
        for part in 0..PARTS {
            let first = |part: u32| count * u64::from(part) / u64::from(PARTS);
            let share = first(part + 1) - first(part);
            let middle = newest + oldest.saturating_sub(newest) * (2 * part + 1) / (2 * PARTS);
            let at = until.saturating_sub(middle);
            if share > 0 && at > now {
                self.leaving.push_back((at, share));
                self.count += share;
            }
        }
        self.leaving.make_contiguous().sort_unstable();
    }

    /// How long it takes until fewer requests than these are in the window.
    pub(super) fn until_below(&self, below: u64, now: Duration) -> Duration {
        let mut count = self.count;
        for (at, leaving) in &self.leaving {
            count -= leaving;
            if count < below {
                return at.saturating_sub(now);
            }
        }
        Duration::ZERO
    }
}

/// The end of the half of a second that a moment is in.
fn end_of_step(now: Duration) -> Duration {
    let second = Duration::from_secs(now.as_secs());
    second + Duration::from_millis(if now.subsec_millis() < 500 { 500 } else { 1000 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below a bound in an order that looks random and is the same each time.
    fn numbers() -> impl FnMut(u64) -> u64 {
        let mut state = 7_u64;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        }
    }

    #[test]
    fn no_minute_has_more_than_the_rate_and_the_memory_is_bounded() {
        let mut number = numbers();
        for rate in [1, 2, 3, 7, 60, 120, 121, 600, 100_000] {
            let (mut window, mut now) = (Window::default(), Duration::from_micros(123));
            let mut allowed: Vec<(Duration, u64)> = Vec::new();
            for _ in 0..2_000 {
                now += Duration::from_micros(number(1_500_000) * number(3));
                window.advance(now);
                let room = rate - window.count();
                let count = room.min(number(rate) + 1);
                window.add(count, rate, now);
                allowed.push((now, count));
                assert!(window.leaving.len() <= 121, "{rate}: {}", window.leaving.len());
            }
            for (number, (begin, _)) in allowed.iter().enumerate() {
                let within = allowed[number..].iter().take_while(|(at, _)| *at < *begin + LENGTH);
                let sum: u64 = within.map(|(_, count)| count).sum();
                assert!(sum <= rate, "{sum} of {rate} in the minute from {begin:?}");
            }
        }
    }

    #[test]
    fn requests_of_half_a_second_are_kept_as_one_and_leave_with_the_last_of_them() {
        let at = Duration::from_millis;
        let mut window = Window::default();
        for millis in [1_000, 1_200, 1_499] {
            window.add(2, 1_000, at(millis));
        }
        window.add(1, 1_000, at(1_500));
        assert_eq!(window.leaving, [(at(61_500), 6), (at(62_000), 1)]);
        // Those of another rate that would leave earlier leave with the last ones.
        window.add(1, 1, at(1_600));
        assert_eq!(window.leaving, [(at(61_500), 6), (at(62_000), 2)]);
    }

    #[test]
    fn there_is_room_when_so_many_have_left_that_one_more_fits() {
        let at = Duration::from_secs;
        let mut window = Window::default();
        for second in 0..5 {
            window.add(1, 3, at(second));
        }
        for (below, left) in [(5, 60), (4, 61), (3, 62), (1, 64)] {
            assert_eq!(window.until_below(below, at(0)), at(left), "{below}");
        }
    }

    #[test]
    fn requests_of_unknown_times_leave_evenly() {
        let (mut window, now) = (Window::default(), Duration::from_secs(1000));
        window.spread(120, (Duration::from_secs(30), Duration::from_secs(90)), now);
        assert_eq!(window.count(), 60, "half of them came in the last minute");
        window.advance(now + Duration::from_secs(15));
        assert_eq!(window.count(), 30);
        assert_eq!(window.until_below(1, now), Duration::from_millis(27_500));
        window.advance(now + Duration::from_secs(30));
        assert_eq!(window, Window::default());
    }
}
