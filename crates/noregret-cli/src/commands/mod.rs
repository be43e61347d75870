//! The commands: one file each, and the registry of them.

mod audit;
mod compare;
mod convert;
mod demo;
mod generate;
mod inspect;
mod learn;
mod predict;
mod registries;
mod reproduce;
mod separate;
mod serve;

use anyhow::Result;
use clap::{ArgMatches, Command};

/// A command: how it is called and what it does. The answer is an exit code.
struct Entry {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<u8>,
}

static ENTRIES: &[Entry] = &[
    Entry { command: learn::command, run: learn::run },
    Entry { command: predict::command, run: predict::run },
    Entry { command: audit::command, run: audit::run },
    Entry { command: compare::command, run: compare::run },
    Entry { command: convert::command, run: convert::run },
    Entry { command: inspect::command, run: inspect::run },
    Entry { command: separate::command, run: separate::run },
    Entry { command: serve::command, run: serve::run },
    Entry { command: reproduce::command, run: reproduce::run },
    Entry { command: generate::command, run: generate::run },
    Entry { command: demo::command, run: demo::run },
    Entry { command: registries::learners, run: registries::run_learners },
    Entry { command: registries::losses, run: registries::run_losses },
    Entry { command: registries::bounds, run: registries::run_bounds },
];

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("noregret")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Learns linear models from streams in one pass, and proves how much better the best fixed model could have done")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(
            "Exit codes: 0 success, 1 the answer is no, 2 usage, 3 bad input, 4 input/output, 5 undecided.\n\
             Start with `noregret demo`.",
        )
        .subcommands(ENTRIES.iter().map(|e| (e.command)()))
}

/// Runs what was asked for.
pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(crate::OK) };
    let entry = ENTRIES.iter().find(|e| (e.command)().get_name() == name);
    entry.map_or(Ok(crate::OK), |e| (e.run)(matches))
}
