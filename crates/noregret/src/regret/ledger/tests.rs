//! Rounds entered together and singly.

use super::*;
use rand::{Rng, RngExt, SeedableRng};

fn round(random: &mut impl Rng, k: u64, kind: u64) -> Entered {
    let rare = |random: &mut dyn Rng| random.random_range(0..7) == 0;
    let weight = match kind % 3 {
        0 => 1.0,
        1 if rare(random) => 0.0,
        _ => random.random_range(0.0..3.0),
    };
    let quiet = k.is_multiple_of(3);
    Entered {
        z: random.random_range(-5.0..5.0),
        y: random.random_range(-2.0..2.0),
        weight,
        loss: if quiet { 0.0 } else { random.random_range(0.0..4.0) },
        slope: if quiet { 0.0 } else { random.random_range(-2.0..2.0) },
        floor: if kind.is_multiple_of(4) && rare(random) { -0.3 } else { 0.0 },
        norm_squared: if quiet { 0.0 } else { random.random_range(0.0..9.0) },
        model: (!kind.is_multiple_of(5) || !rare(random)).then(|| random.random_range(0.0..100.0)),
    }
}

#[test]
fn rounds_entered_together_are_rounds_entered_singly() {
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(3);
    for kind in 0..60 {
        let rounds: Vec<Entered> = (0..200).map(|k| round(&mut random, k, kind)).collect();
        let (mut together, mut singly) = (Book::default(), Book::default());
        // Parts of all lengths; some have only weights of 1 after others had not.
        for part in rounds.chunks(1 + kind as usize % 64) {
            together.enter_all(&part.iter().copied().collect());
            for r in part {
                if r.weight > 0.0 {
                    singly.enter(r);
                } else {
                    singly.pass_over();
                }
            }
            let ones: Vec<Entered> = part.iter().map(|r| Entered { weight: 1.0, ..*r }).collect();
            together.enter_all(&ones.iter().copied().collect());
            for r in &ones {
                singly.enter(r);
            }
            assert_eq!(together, singly, "{kind}");
        }
    }
}
