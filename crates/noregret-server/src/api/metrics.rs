//! What is counted, for Prometheus.

use crate::models::{Models, Slot};
use axum::http::{Method, StatusCode};
use futures_util::future::join_all;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Asked {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Model {
    model: String,
}

type OfModel = Family<Model, Gauge<f64, AtomicU64>>;

/// All counts of a server.
pub struct Metrics {
    registry: Registry,
    requests: Family<Asked, Counter>,
    seconds: Family<Route, Histogram>,
    examples: OfModel,
    loss: OfModel,
    best: OfModel,
    regret: OfModel,
    rate: OfModel,
    models: Gauge,
    commits: Gauge<u64, AtomicU64>,
    commands: Gauge<u64, AtomicU64>,
    commit_seconds: Gauge<f64, AtomicU64>,
    failures: Gauge<u64, AtomicU64>,
    up: Gauge,
}

fn histogram() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0])
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("noregret");
        let requests = Family::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        registry.register_with_unit("http_request", "Time to answer", Unit::Seconds, seconds.clone());
        let mut of_model = |name: &str, help: &str| {
            let family = OfModel::default();
            registry.register(name, help, family.clone());
            family
        };
        let examples = of_model("examples", "Examples learned by a model");
        let loss = of_model("average_loss", "The average loss of a model");
        let best = of_model("best_at_least", "What no comparator's average loss is below");
        let regret = of_model("regret_at_most", "What the average regret of a model is not above");
        let rate = of_model("examples_per_second", "Examples learned a second, over ten seconds");
        let (models, up) = (Gauge::default(), Gauge::default());
        registry.register("models", "Models served", models.clone());
        registry.register("store_up", "Whether the store can be written", up.clone());
        let mut number = |name: &str, help: &str| {
            let gauge = Gauge::<u64, AtomicU64>::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let commits = number("store_commits", "Transactions committed");
        let commands = number("store_commands", "Commands committed");
        let failures = number("store_failures", "Transactions that failed");
        let commit_seconds = Gauge::<f64, AtomicU64>::default();
        registry.register("store_commit_seconds", "Time spent committing", commit_seconds.clone());
        Self {
            registry,
            requests,
            seconds,
            examples,
            loss,
            best,
            regret,
            rate,
            models,
            commits,
            commands,
            commit_seconds,
            failures,
            up,
        }
    }
}

impl Metrics {
    pub(super) fn request(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        let method = match method.as_str() {
            known @ ("GET" | "PUT" | "POST" | "DELETE" | "HEAD" | "OPTIONS") => known,
            _ => "other",
        };
        let asked = Asked { method: method.to_owned(), route: route.to_owned(), status: status.as_u16() };
        self.requests.get_or_create(&asked).inc();
        self.seconds.get_or_create(&Route { route: route.to_owned() }).observe(took.as_secs_f64());
    }

    /// All counts as text. The numbers of a model are of one moment, that of its certificate.
    pub(super) async fn text(&self, models: &Models) -> String {
        let list = models.list();
        let served = list.iter().filter_map(|(_, slot)| match slot {
            Slot::Served(handle) => Some(handle.clone()),
            Slot::Damaged { .. } => None,
        });
        // All at once: each is asked of the model's own thread.
        let points = join_all(served.map(|handle| async move {
            let point = handle.point().await;
            (handle, point)
        }))
        .await;
        for family in [&self.examples, &self.loss, &self.best, &self.regret, &self.rate] {
            family.clear();
        }
        self.models.set(i64::try_from(list.len()).unwrap_or(i64::MAX));
        for (handle, point) in points {
            let Ok(point) = point else { continue };
            let label = Model { model: handle.name.clone() };
            self.examples.get_or_create(&label).set(point.examples as f64);
            for (family, value) in [
                (&self.loss, point.average_loss),
                (&self.best, point.best_at_least),
                (&self.regret, point.regret_at_most),
            ] {
                if let Some(value) = value {
                    family.get_or_create(&label).set(value);
                }
            }
            self.rate.get_or_create(&label).set(handle.throughput(crate::now()));
        }
        let health = &models.health;
        self.up.set(i64::from(health.trouble().is_none()));
        self.commits.set(health.commits.load(Ordering::Relaxed));
        self.commands.set(health.commands.load(Ordering::Relaxed));
        self.failures.set(health.failures.load(Ordering::Relaxed));
        self.commit_seconds.set(health.microseconds.load(Ordering::Relaxed) as f64 / 1e6);
        let mut out = String::new();
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}
