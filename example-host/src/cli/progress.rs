//! The progress of a long command: a bar on a terminal, otherwise log lines.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use host_interface::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::lock::lock;

/// A progress bar on standard error, which disappears when the work is done. If that is not a
/// terminal, a log line every ten seconds.
pub(super) struct Bar {
    bar: ProgressBar,
    /// When the last line was logged.
    logged: Mutex<Instant>,
}

/// How often a line is logged.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(
            "{prefix:24} [{bar:30}] {human_pos}/{human_len} {per_sec:0}, {eta} left",
        );
        // The template is a constant; if it were invalid, the default style would be used.
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, logged: Mutex::new(Instant::now()) }
    }
}

impl Progress for Bar {
    fn report(&self, step: &str, done: u64, total: u64) {
        let mut logged = lock(&self.logged);
        if self.bar.prefix() != step {
            self.bar.set_prefix(step.to_owned());
            self.bar.set_position(done);
            self.bar.reset_eta();
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        if self.bar.is_hidden() && logged.elapsed() >= LINE_EVERY {
            *logged = Instant::now();
            let (rate, left) = (self.bar.per_sec(), HumanDuration(self.bar.eta()));
            tracing::info!("{step} {done}/{total} {rate:.0}/s, {left} left");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_estimates_each_step_separately() {
        let bar = Bar::new();
        bar.report("products", 0, 1_000);
        std::thread::sleep(Duration::from_millis(20));
        bar.report("products", 500, 1_000);
        assert!(bar.bar.per_sec() > 1.0);
        bar.report("orders", 0, 2_000);
        assert_eq!((bar.bar.position(), bar.bar.length()), (0, Some(2_000)));
        assert!(
            bar.bar.per_sec() < 1.0,
            "the rate of the first step does not count for the second"
        );
    }
}
