//! Brackets around the best in hindsight, against answers found without them.

mod common;

use common::{block, cases, labelled, stream};
use noregret::loss::{self, Loss};
use noregret::regret::Comparator;
use noregret::regret::audit::{Auditor, Bracket, Search};
use proptest::prelude::*;

fn bracket(rows: &[common::Row], loss: &dyn Loss, bias: bool, class: Comparator, tolerance: f64) -> Bracket {
    let block = block(rows);
    let mut source = block.rows();
    let mut auditor = Auditor::new(&mut source, loss, bias).unwrap().unwrap();
    let search = Search { tolerance, most_sweeps: 20_000, ..Search::default() };
    auditor.bracket(class, &search, &mut |_| true).unwrap()
}

fn classes(radius: f64) -> [Comparator; 5] {
    [
        Comparator::L2 { radius },
        Comparator::L1 { radius },
        Comparator::Linf { radius },
        Comparator::Simplex { radius, complete: false },
        Comparator::Ridge { sigma: 0.3 },
    ]
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn brackets_close_for_every_loss_and_class(
        rows in stream(4, 30),
        radius in 0.2..4.0f64,
        bias in any::<bool>(),
    ) {
        for entry in loss::ENTRIES {
            let loss = loss::build(entry.name, []).unwrap();
            let rows = labelled(&rows, &*loss);
            if rows.iter().all(|r| r.1 == 0.0) {
                continue;
            }
            for class in classes(radius) {
                let tolerance = if matches!(class.name(), "l2" | "ridge") { 1e-6 } else { 1e-3 };
                let found = bracket(&rows, &*loss, bias, class, tolerance);
                prop_assert!(found.at_least <= found.at_most);
                prop_assert!(found.closed, "{} {class:?}: {found:?}", entry.name);
                // The upper end is the loss of a member of the class.
                let n: f64 = rows.iter().map(|r| r.1).sum();
                let t = rows.iter().filter(|r| r.1 > 0.0).count() as f64;
                let dot = |x: &[(u32, f64)]| x.iter().map(|(i, v)| found.u.features[*i as usize] * v).sum::<f64>();
                let total: f64 = rows
                    .iter()
                    .filter(|r| r.1 > 0.0)
                    .map(|(y, c, x)| c * loss.value(dot(x) + found.u.bias.unwrap_or(0.0), *y))
                    .sum();
                let penalty = if let Comparator::Ridge { sigma } = class { sigma * t / 2.0 * found.u.norm().powi(2) } else { 0.0 };
                let again = (total + penalty) / n;
                prop_assert!(again <= found.at_most + 1e-12 * again.abs());
                prop_assert!(again >= found.at_least - 1e-12 * again.abs());
                if let Some(radius) = class.radius() {
                    prop_assert!(class.norm(found.u.iter()) <= radius * (1.0 + 1e-15));
                }
            }
        }
    }
}
