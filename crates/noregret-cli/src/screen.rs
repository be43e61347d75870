//! Standard error: the progress table, a bar below it on a terminal, and messages.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where progress and messages go. With `--quiet` nothing but errors is said.
pub(crate) struct Screen {
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Screen {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: None }
    }

    /// Shows a bar over `total` bytes, on a terminal.
    pub(crate) fn start_bar(&mut self, total: Option<u64>) {
        let Some(total) = total else { return };
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
        let template = "{bar:30.cyan/blue} {percent:>3}%  {bytes_per_sec}  {msg}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        self.bar = Some(bar);
    }

    /// Moves the bar.
    pub(crate) fn advance(&self, bytes: u64, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
            bar.set_message(message());
        }
    }

    /// Changes what stands beside the bar.
    pub(crate) fn tell(&self, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message());
        }
    }

    /// Takes the bar away.
    pub(crate) fn end_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Says which names of `--interactions`, `--ignore` and `--keep` nothing in the input had.
    pub(crate) fn say_unmet(&self, names: &[String]) {
        for name in names {
            self.say(&format!("{name}: nothing in the input has this name"));
        }
    }

    /// Says a line, above the bar where there is one.
    pub(crate) fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| message(text)),
            None => message(text),
        }
    }
}

/// Writes a line to standard error. That nobody reads it is no reason to fail.
pub(crate) fn message(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Says whether the user wants to stop: true after the first ^C or SIGTERM. A second one ends the program
/// at once. Where signals cannot be caught, `otherwise` says what ^C will do.
pub(crate) fn stop_flag(screen: &Screen, otherwise: &str) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler = stop.clone();
    let set = ctrlc::set_handler(move || {
        if handler.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    if set.is_err() {
        screen.say(&format!("noregret: ^C cannot be caught here; it will end the {otherwise}"));
    }
    stop
}
