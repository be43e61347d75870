//! Rounds per second of every learner, in memory, certificate on.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use noregret::engine::{Config, Engine};
use noregret::generate;
use noregret::learner::{self, Losses};
use noregret::parameter::Parameters;

fn rounds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rounds");
    group.sample_size(20);
    for entry in learner::ENTRIES {
        let sparse = entry.largest_dimension.is_none();
        let stream =
            generate::find(if sparse { "rcv1-like" } else { "planted" }).expect("a stream of that name");
        let request = stream.request(Some(2000), None, None, 1).expect("a small request");
        let block = stream.block(&request);
        let loss = match entry.losses {
            Losses::All => "logistic",
            Losses::Only(names) => names[0],
        };
        let mut config = Config::new(entry.name, loss);
        if entry.penalised {
            config.l2 = Some(0.01);
        }
        if entry.parameters.iter().any(|p| p.name == "horizon") {
            config.parameters =
                Parameters::check(entry.name, entry.parameters, [("horizon", "2000")]).expect("a horizon");
        }
        group.throughput(Throughput::Elements(block.rows().nonzeros() as u64));
        group.bench_function(entry.name, |bencher| {
            bencher.iter_batched(
                || Engine::new(config.clone()).expect("a learner that can be built"),
                |mut engine| engine.learn(block.rows()).map(|()| engine.examples()),
                criterion::BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
