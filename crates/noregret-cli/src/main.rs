//! The command `noregret`: arguments, terminal and exit codes around the library.

mod arguments;
mod commands;
mod output;
mod picture;
mod screen;

use noregret::error::Error;
use std::process::ExitCode;

/// Success.
pub(crate) const OK: u8 = 0;
/// Neither yes nor no.
pub(crate) const UNDECIDED: u8 = 5;
const USAGE: u8 = 2;
const BAD_INPUT: u8 = 3;
const IO: u8 = 4;

fn main() -> ExitCode {
    let matches = commands::command().get_matches_from(arguments::told_apart(std::env::args_os()));
    match commands::run(&matches) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if output::is_broken_pipe(&error) {
                // Whoever read the output has seen enough.
                return ExitCode::from(OK);
            }
            // The library's errors tell their causes themselves.
            let told = if error.is::<Error>() { error.to_string() } else { format!("{error:#}") };
            screen::message(&format!("noregret: {told}"));
            ExitCode::from(code(&error))
        }
    }
}

/// Exit codes are decided here and nowhere else.
fn code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Error>() {
        Some(Error::Usage(_)) => USAGE,
        Some(Error::Format(_) | Error::Diverged(_) | Error::Model { .. }) => BAD_INPUT,
        None if error.is::<noregret::error::UsageError>() => USAGE,
        Some(Error::Io { .. }) | None => IO,
    }
}
