//! What a model is made from, and which combinations make sense.

use crate::error::{Result, UsageError};
use crate::learner::{self, Losses};
use crate::loss;
use crate::parameter::{Parameter, Parameters};
use serde::{Deserialize, Serialize};

/// What a model is made from. Stored in its file; what is `None` took the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The learner's name.
    pub learner: String,
    /// The learner's own parameters.
    #[serde(default)]
    pub parameters: Parameters,
    /// The loss's name.
    pub loss: String,
    /// The loss's own parameters.
    #[serde(default)]
    pub loss_parameters: Parameters,
    /// `U`: the ball of a projected learner and the radius of the comparators.
    pub radius: Option<f64>,
    /// The class of comparators.
    pub comparator: Option<String>,
    /// `sigma` of the quadratic penalty.
    pub l2: Option<f64>,
    /// `X`: no row is longer, promises the user.
    pub row_bound: Option<f64>,
    /// `Y`: no label is larger, promises the user.
    pub label_bound: Option<f64>,
    /// The probability with which the risk bound may fail.
    pub delta: f64,
    /// Whether the averaged iterate is kept.
    pub average: bool,
    /// Whether there is a constant feature.
    pub bias: bool,
    /// How many features there are, where it was said.
    pub dimension: Option<u32>,
    /// Whether recent parts of the stream are told; where it was not said, up to 2^20 features.
    #[serde(default)]
    pub windows: Option<bool>,
}

impl Config {
    /// A learner and a loss, everything else at its default.
    pub fn new(learner: &str, loss: &str) -> Self {
        Self {
            learner: learner.to_owned(),
            parameters: Parameters::default(),
            loss: loss.to_owned(),
            loss_parameters: Parameters::default(),
            radius: None,
            comparator: None,
            l2: None,
            row_bound: None,
            label_bound: None,
            delta: 0.05,
            average: false,
            bias: true,
            dimension: None,
            windows: None,
        }
    }

    /// Sets a parameter of the learner or of the loss by its name in their registries. One that belongs to
    /// neither is refused with the names of its owners.
    ///
    /// ```
    /// let mut config = noregret::engine::Config::new("ogd", "huber");
    /// config.give("eta", "0.1")?;
    /// config.give("huber-delta", "2")?;
    /// assert!(config.give("tau", "0.5").unwrap_err().to_string().contains("quantile"));
    /// # Ok::<(), noregret::error::UsageError>(())
    /// ```
    pub fn give(&mut self, name: &str, text: &str) -> Result<(), UsageError> {
        let (learner, loss) = (learner::find(&self.learner)?, loss::find(&self.loss)?);
        let find = |list: &'static [Parameter]| list.iter().find(|p| p.name == name);
        if let Some(parameter) = find(learner.parameters) {
            self.parameters.0.insert(name.to_owned(), parameter.parse(text)?);
        } else if let Some(parameter) = find(loss.parameters) {
            self.loss_parameters.0.insert(name.to_owned(), parameter.parse(text)?);
        } else {
            let learners = learner::ENTRIES.iter().filter(|e| find(e.parameters).is_some()).map(|e| e.name);
            let losses = loss::ENTRIES.iter().filter(|e| find(e.parameters).is_some()).map(|e| e.name);
            let owners: Vec<&str> = learners.chain(losses).collect();
            return Err(UsageError(if owners.is_empty() {
                let all = learner.parameters.iter().chain(loss.parameters);
                let known: Vec<String> = all.map(|p| format!("--{}", p.name)).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                format!(
                    "there is no parameter --{name}; learner `{}` with loss `{}` has of its own: {known}",
                    learner.name, loss.name
                )
            } else {
                format!(
                    "--{name} belongs to {}, not to learner `{}` or loss `{}`",
                    owners.join(", "),
                    learner.name,
                    loss.name
                )
            }));
        }
        Ok(())
    }

    /// The class of comparators: as said, or the default that follows from the learner and `--l2`.
    pub(super) fn comparator_name(&self, entry: &learner::Entry) -> &str {
        match &self.comparator {
            Some(name) => name,
            None if self.radius.is_some() && entry.default_comparator == "ridge" => "l2",
            None if self.l2.is_some() && self.radius.is_none() => "ridge",
            None => entry.default_comparator,
        }
    }

    pub(super) fn check(&self, entry: &learner::Entry) -> Result<(), UsageError> {
        let positive = |value: Option<f64>, flag: &str| match value {
            Some(v) if !(v > 0.0 && v.is_finite()) => {
                Err(UsageError(format!("{flag}: found {v}, expected a number greater than 0")))
            }
            _ => Ok(()),
        };
        positive(self.radius, "--radius")?;
        positive(self.l2, "--l2")?;
        positive(self.row_bound, "--row-bound")?;
        positive(self.label_bound, "--label-bound")?;
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(UsageError(format!(
                "--delta: found {}, expected a number between 0 and 1",
                self.delta
            )));
        }
        if let Losses::Only(names) = entry.losses
            && !names.contains(&self.loss.as_str())
        {
            return Err(UsageError(format!(
                "learner `{}` works with the loss {}, not with `{}`",
                entry.name,
                names.join(" or "),
                self.loss
            )));
        }
        let ridge = self.comparator_name(entry) == "ridge";
        if self.l2.is_some() && !entry.penalised && self.comparator.as_deref() != Some("ridge") {
            return Err(UsageError(format!(
                "learner `{}` does not minimise a penalty: use --learner strongly-convex-ogd with --l2, \
                 or choose a learner that knows its norm (ogd, projected-ogd, ftrl) and say --comparator ridge to \
                 compare with penalised models only",
                entry.name
            )));
        }
        if ridge && self.l2.is_none() && !entry.penalised {
            return Err(UsageError::new("--comparator ridge needs --l2 SIGMA"));
        }
        if ridge && self.radius.is_some() && self.comparator.is_some() && entry.default_radius.is_none() {
            return Err(UsageError::new(
                "--radius does not go with --comparator ridge, which compares with models of every norm",
            ));
        }
        Ok(())
    }
}
