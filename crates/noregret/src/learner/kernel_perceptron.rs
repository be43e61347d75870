//! The kernel Perceptron on a budget: a Perceptron in the space of a kernel, which keeps the rows it erred
//! on, and of these the newest `--budget` only.
//!
//! ```text
//! z = sum of c_j y_j K(x_j, x) over the stored rows
//! if y z <= 0:  store (x, c y); if there are more than the budget, forget the oldest
//!
//! linear       K = <x, x'>
//! polynomial   K = (1 + gamma <x, x'>)^degree
//! rbf          K = exp(-gamma |x - x'|^2)
//! ```
//!
//! The bias, where there is one, adds 1 to `<x, x'>`; the rbf kernel does not see it. Only the linear kernel
//! has weights to show. The certificate speaks of linear models in the features as they are, whatever the
//! kernel, because any predicted numbers have a ledger; a kernel may well do better than the best of them,
//! and its regret is then negative. There is no norm of the model to go by, so without `--radius` they are those
//! no longer than 10.
//!
//! State: at most `--budget` rows, 12 bytes a nonzero in memory and 16 in files. Cost: a prediction reads all
//! of them. Forgetting the oldest is the removal of the Forgetron without its shrinking.
//!
//! Theorem: `regret/bound/kernel_perceptron.rs`. Source: Freund, Schapire 1999 (kernels); Dekel,
//! Shalev-Shwartz, Singer 2008 (budget, oldest first).

use super::slots::{Cell, NoMean, Slots, Weight};
use super::state::{Spread, Store, add, distance_squared, product};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "kernel-perceptron",
    summary: "a perceptron in the space of a kernel; keeps the newest --budget rows it erred on, and reads them all to predict",
    update: "z = sum c_j y_j K(x_j,x); if y z <= 0: store (x, c y), forget the oldest beyond the budget",
    paper: "Freund, Schapire 1999; Dekel, Shalev-Shwartz, Singer 2008",
    bound: "kernel-perceptron",
    bytes_per_feature: (16, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: Some(10.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "kernel",
            kind: Kind::Choice(&["polynomial", "rbf", "linear"]),
            default: Some("polynomial"),
            meaning: "(1 + gamma <x,x'>)^degree, exp(-gamma |x - x'|^2), or <x,x'>",
        },
        Parameter {
            name: "degree",
            kind: Kind::Count,
            default: Some("2"),
            meaning: "the degree of the polynomial kernel",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Positive,
            default: Some("1"),
            meaning: "the scale of the polynomial and the rbf kernel",
        },
        Parameter {
            name: "budget",
            kind: Kind::Count,
            default: Some("1000"),
            meaning: "the most rows that are kept; the oldest is forgotten first",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let number = |name| setup.parameters.number(ENTRY.parameters, name).unwrap_or(1.0);
        let kernel = match setup.parameters.word(ENTRY.parameters, "kernel") {
            "linear" => Kernel::Linear,
            "rbf" => Kernel::Rbf,
            _ => Kernel::Polynomial,
        };
        let learner = KernelPerceptron {
            kernel,
            degree: number("degree"),
            gamma: number("gamma"),
            budget: number("budget") as u64,
            mistakes: 0.0,
            longest: 0.0,
            forgotten: 0,
            spread: Spread::default(),
            store: Store::default(),
        };
        Ok(boxed(learner, setup.bias))
    },
};

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kernel {
    Linear,
    Polynomial,
    Rbf,
}

#[derive(Serialize, Deserialize)]
struct KernelPerceptron {
    kernel: Kernel,
    degree: f64,
    gamma: f64,
    budget: u64,
    /// Sum of the weights of the mistake rounds.
    mistakes: f64,
    /// The largest `K(x, x)` among them.
    longest: f64,
    /// How many rows were forgotten.
    forgotten: u64,
    #[serde(skip)]
    spread: Spread,
    /// The rows it erred on, each with `c y`.
    #[serde(skip)]
    store: Store,
}

impl KernelPerceptron {
    /// `K`, from `<x, x'>` with the bias and from `|x - x'|^2`, whichever it needs.
    fn kernel(&self, product: impl FnOnce() -> f64, distance_squared: impl FnOnce() -> f64) -> f64 {
        match self.kernel {
            Kernel::Linear => product(),
            Kernel::Polynomial => (1.0 + self.gamma * product()).powf(self.degree),
            Kernel::Rbf => (-self.gamma * distance_squared()).exp(),
        }
    }

    /// The sum over the stored rows.
    fn ask<V: Value>(
        &self,
        x: Features<'_, V>,
        bias: bool,
        product: impl Fn(Features<'_, f64>) -> f64,
    ) -> f64 {
        let bias = f64::from(u8::from(bias));
        let term = |(row, factor): (Features<'_, f64>, f64)| {
            factor * self.kernel(|| product(row) + bias, || distance_squared(x, row))
        };
        self.store.iter().map(term).fold(0.0, |sum, k| sum + k)
    }

    /// The weights of the linear kernel, from what is stored: subtracting a row would leave its rounding.
    fn sum_up(&self, slots: &mut Slots<Weight<NoMean>>) {
        slots.iter_mut().for_each(|cell| cell.state.v = 0.0);
        for (row, factor) in self.store.iter() {
            add(slots, row, factor);
        }
    }
}

impl Learner for KernelPerceptron {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        if self.kernel == Kernel::Linear {
            return slots.dot(x, |c| c.state.v);
        }
        self.ask(x, slots.bias.is_some(), |row| product(x, row))
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        if self.kernel != Kernel::Polynomial {
            return self.predict(slots, x);
        }
        let mut spread = std::mem::take(&mut self.spread);
        let z = spread.of(x, |spread| self.ask(x, slots.bias.is_some(), |row| spread.product(row)));
        self.spread = spread;
        z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if o.slope == 0.0 {
            return;
        }
        slots.enter_briefly(x, o.slope, |_, _| {});
        // A mistake has a nonzero slope under both losses, so the slots know the row.
        if o.y * o.z > 0.0 {
            return;
        }
        self.mistakes += o.weight;
        self.longest = self.longest.max(self.kernel(|| o.norm_squared, || 0.0));
        self.store.push(x, o.weight * o.y);
        let mut forgot = false;
        while self.store.len() as u64 > self.budget {
            self.store.drop_oldest();
            self.forgotten += 1;
            forgot = true;
        }
        if self.kernel == Kernel::Linear {
            if forgot {
                self.sum_up(slots);
            } else {
                add(slots, x, o.weight * o.y);
            }
        }
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn is_linear(&self) -> bool {
        self.kernel == Kernel::Linear
    }

    fn theorem(&self) -> Theorem {
        // As long as nothing is forgotten, the linear kernel is the Perceptron, and so is its theorem.
        let plain = self.kernel == Kernel::Linear && self.forgotten == 0;
        let name = if plain { "perceptron" } else { "kernel-perceptron" };
        Theorem::new(name, &[("M", self.mistakes), ("K", self.longest), ("forgotten", self.forgotten as f64)])
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.store.arrays()
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        self.store.set_arrays(arrays)
    }
}
