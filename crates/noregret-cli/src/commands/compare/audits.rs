//! Audits of compared runs: the data is read again, and each distinct question is answered once.

use super::Contestant;
use crate::screen::Screen;
use anyhow::Result;
use noregret::example::{LabelMap, Reader};
use noregret::regret::Comparator;
use noregret::regret::audit::{Auditor, Bracket, Files, Search};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// How many bytes of rows may be kept.
const BUDGET: usize = 4 << 30;

/// Adds `audit` to every run that has not failed.
pub(super) fn add(
    runs: &mut [Value],
    list: &[Contestant],
    mut reader: Reader,
    labels: &LabelMap,
    skip: bool,
    screen: &Screen,
    stop: &AtomicBool,
) -> Result<()> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (k, contestant) in list.iter().enumerate().filter(|(_, c)| c.failed.is_none()) {
        let config = contestant.engine.config();
        let same = |g: &&mut Vec<usize>| {
            let other = list[g[0]].engine.config();
            (&other.loss, &other.loss_parameters, other.bias)
                == (&config.loss, &config.loss_parameters, config.bias)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(k),
            None => groups.push(vec![k]),
        }
    }
    for group in groups {
        reader.rewind()?;
        let engine = &list[group[0]].engine;
        let mut source = Files::new(reader, None, labels.clone(), engine.loss(), skip, BUDGET, stop);
        let Some(mut auditor) = Auditor::new(&mut source, engine.loss(), engine.config().bias)? else {
            return Ok(());
        };
        let mut known: Vec<(Comparator, Bracket)> = Vec::new();
        for k in group {
            let contestant = &list[k];
            let (class, _) = contestant.engine.comparator();
            if class.radius() == Some(0.0) {
                continue;
            }
            let answered = known.iter().find(|(c, _)| *c == class).map(|(_, bracket)| bracket.clone());
            let bracket = if let Some(bracket) = answered {
                bracket
            } else {
                screen.say(&format!("auditing {}", contestant.name));
                let start = known.last().map(|(_, b)| &b.u);
                let search = Search { start, ..Search::default() };
                let bracket = auditor.bracket(class, &search, &mut |_| !stop.load(Ordering::SeqCst))?;
                known.push((class, bracket.clone()));
                bracket
            };
            let key = if class.name() == "ridge" { "penalised_loss" } else { "average_loss" };
            let lost = runs[k][key].as_f64();
            let regret = lost.map(|lost| {
                let slack = 4.0 * f64::EPSILON * lost.abs();
                json!({"at_least": lost - bracket.at_most - slack, "at_most": lost - bracket.at_least + slack})
            });
            runs[k]["audit"] = json!({
                "best": {"at_least": bracket.at_least, "at_most": bracket.at_most},
                "regret": regret,
                "closed": bracket.closed,
                "sweeps": bracket.sweeps,
            });
        }
        drop(auditor);
        reader = source.into_reader();
    }
    Ok(())
}
