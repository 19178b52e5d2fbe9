//! How far a long command has come: a bar on a terminal, lines of the log elsewhere.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use host_interface::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar on standard error, gone when the work is. If that is not a terminal, a line of
/// the log now and then.
pub(super) struct Bar {
    bar: ProgressBar,
    pace: Mutex<Pace>,
}

/// How often a line is logged.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{prefix:24} [{bar:30}] {human_pos}/{human_len} {msg}");
        // The template is fixed; without it the bar is merely plainer.
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, pace: Mutex::new(Pace::of("", 0)) }
    }
}

impl Progress for Bar {
    fn report(&self, step: &str, done: u64, total: u64) {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        if pace.step != step {
            *pace = Pace { told: pace.told, ..Pace::of(step, done) };
            self.bar.set_prefix(step.to_owned());
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        let words = pace.words(done, total);
        if self.bar.is_hidden() && pace.told.elapsed() >= LINE_EVERY {
            pace.told = Instant::now();
            tracing::info!("{step} {done}/{total} {words}");
        }
        self.bar.set_message(words);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How fast a step of the work goes.
struct Pace {
    step: String,
    begun: Instant,
    /// How much was done before.
    from: u64,
    /// When a line was written last.
    told: Instant,
}

impl Pace {
    fn of(step: &str, from: u64) -> Self {
        let now = Instant::now();
        Self { step: step.to_owned(), begun: now, from, told: now }
    }

    /// How much is done in a second, and how long the rest takes at that rate; nothing as long as
    /// nobody knows.
    fn words(&self, done: u64, total: u64) -> String {
        self.words_after(self.begun.elapsed(), done, total)
    }

    fn words_after(&self, elapsed: Duration, done: u64, total: u64) -> String {
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let since = done.saturating_sub(self.from);
        let left = total.saturating_sub(done).saturating_mul(milliseconds);
        let Some(left) = left.checked_div(since) else { return String::new() };
        let left = left.div_ceil(1_000);
        let left = format!("{}:{:02} left", left / 60, left % 60);
        match since.saturating_mul(1_000) / milliseconds {
            0 => left,
            rate => format!("{rate}/s, {left}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_counts_what_was_done_since_it_began() {
        let pace = Pace::of("orders", 1_000);
        let words = |seconds, done| {
            let elapsed = Duration::from_secs(seconds);
            pace.words_after(elapsed, done, 61_000)
        };
        assert_eq!(words(9, 1_000), "", "nothing is known yet");
        assert_eq!(words(10, 11_000), "1000/s, 0:50 left");
        assert_eq!(words(100, 1_100), "1/s, 998:20 left");
        assert_eq!(words(1_000, 1_100), "9983:20 left");
        assert_eq!(words(60, 61_000), "1000/s, 0:00 left");
        assert_eq!(words(0, 61_000), "60000000/s, 0:00 left");
    }
}
