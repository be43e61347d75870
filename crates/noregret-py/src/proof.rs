//! What is proved: certificates, and the ledgers that they are read off.

use crate::cluster::both;
use crate::error::{raise, refuse};
use noregret::engine::Engine;
use noregret::error::UsageError;
use noregret::example::LabelMap;
use noregret::model::Reading;
use noregret::multiclass::Multiclass;
use noregret::parameter::Parameters;
use noregret::regret::{self, Comparator};
use noregret::report::progress::{decimal, radius as shown};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};
use serde::{Deserialize, Serialize};

/// A certificate that leaves more than this part of the loss open is called loose.
const LOOSE: f64 = 0.25;

/// A proof of how much better any fixed model of a class could have done: `best_at_least` is
/// `average_loss` less `regret_at_most` (with the penalty in both for the class `ridge`).
///
/// >>> import noregret
/// >>> learner = noregret.Learner("projected-ogd", "hinge", radius=2)
/// >>> learner.learn_many([[1.0, 0.0], [0.0, 1.0]], [1, -1])
/// >>> certificate = learner.certificate()
/// >>> certificate.best_at_least <= certificate.average_loss
/// True
#[pyclass(frozen, module = "noregret", get_all, skip_from_py_object)]
#[derive(Clone)]
pub(crate) struct Certificate {
    /// The average loss per unit of weight.
    average_loss: f64,
    /// The average regret against every model of the class is at most this.
    regret_at_most: f64,
    /// No model of the class has a smaller average loss.
    best_at_least: f64,
    /// The class: `l2`, `l1`, `linf`, `simplex` or `ridge`.
    comparator: String,
    /// Its radius; None for `ridge`.
    radius: Option<f64>,
    /// Whether the radius was given (`flag`), is the learner's `default`, or the norm of the `model`.
    radius_from: Option<String>,
}

impl Certificate {
    pub(crate) fn radius(&self) -> Option<f64> {
        self.radius
    }

    pub(crate) fn best_at_least(&self) -> f64 {
        self.best_at_least
    }
}

#[pymethods]
impl Certificate {
    fn __repr__(&self) -> String {
        format!(
            "Certificate(average_loss={:.6}, regret_at_most={:.6}, best_at_least={:.6}, comparator='{}', radius={})",
            self.average_loss,
            self.regret_at_most,
            self.best_at_least,
            self.comparator,
            self.radius.map_or("None".to_owned(), |r| format!("{r:.6}"))
        )
    }

    fn __str__(&self) -> String {
        let whom = match self.radius {
            Some(radius) => format!("No linear model of {} norm <= {}", self.comparator, shown(radius)),
            None if self.comparator == "ridge" => "No linear model, penalised,".to_owned(),
            None => "No linear model for each class, none larger than the one learned for it,".to_owned(),
        };
        let regret = decimal(self.regret_at_most, f64::ceil);
        let gain = if self.regret_at_most <= 0.0 {
            "The moving model did better than every fixed one of this class.".to_owned()
        } else if self.regret_at_most <= LOOSE * self.average_loss.abs() {
            format!("Within this class more tuning can gain at most {regret}.")
        } else {
            format!("The certificate is loose: it leaves {regret} open; `noregret.audit` tells more.")
        };
        // What is claimed is rounded so that it stays true.
        format!(
            "{whom} could have lost less than {}; you lost {}. {gain}",
            decimal(self.best_at_least, f64::floor),
            decimal(self.average_loss, f64::round)
        )
    }

    fn _repr_html_(&self) -> String {
        let row = |name: &str, value: String| format!("<tr><th>{name}</th><td>{value}</td></tr>");
        format!(
            "<table>{}{}{}</table><p>{}</p>",
            row("average loss", decimal(self.average_loss, f64::round)),
            row("best in hindsight at least", decimal(self.best_at_least, f64::floor)),
            row("regret at most", decimal(self.regret_at_most, f64::ceil)),
            self.__str__().replace('<', "&lt;")
        )
    }

    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn _of(parts: (f64, f64, f64, String, Option<f64>, Option<String>)) -> Self {
        let (average_loss, regret_at_most, best_at_least, comparator, radius, radius_from) = parts;
        Self { average_loss, regret_at_most, best_at_least, comparator, radius, radius_from }
    }

    #[allow(clippy::type_complexity, reason = "what pickle wants")]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, ((f64, f64, f64, String, Option<f64>, Option<String>),))> {
        let it = slf.get().clone();
        let parts =
            (it.average_loss, it.regret_at_most, it.best_at_least, it.comparator, it.radius, it.radius_from);
        Ok((slf.get_type().getattr("_of")?, (parts,)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.average_loss == other.average_loss
            && self.regret_at_most == other.regret_at_most
            && self.best_at_least == other.best_at_least
            && self.comparator == other.comparator
            && self.radius == other.radius
    }
}

/// The class that is asked about: what is not said is the engine's own.
pub(crate) fn class(
    engine: &Engine,
    name: Option<&str>,
    radius: Option<f64>,
) -> Result<(Comparator, Option<&'static str>), UsageError> {
    let (own, from) = engine.comparator();
    let name = name.unwrap_or(if radius.is_some() && own.radius().is_none() { "l2" } else { own.name() });
    if radius.is_none() && name == own.name() {
        return Ok((own, from));
    }
    let class = if name == own.name() { own } else { Comparator::new(name, 1.0, engine.config().l2)? };
    if class.radius().is_none() {
        return unbounded(class, radius).map(|class| (class, None));
    }
    Ok(match radius {
        Some(radius) => (class.with_radius(positive(radius)?), Some("flag")),
        None if name == "simplex" => (class, Some("default")),
        None => (class.with_radius(engine.model_norm(&class)), Some("model")),
    })
}

fn positive(radius: f64) -> Result<f64, UsageError> {
    if radius > 0.0 && radius.is_finite() {
        Ok(radius)
    } else {
        Err(UsageError(format!("radius: found {radius}, expected a number greater than 0")))
    }
}

fn unbounded(class: Comparator, radius: Option<f64>) -> Result<Comparator, UsageError> {
    match radius {
        None => Ok(class),
        Some(_) => {
            Err(UsageError::new("radius does not go with comparator ridge, which has models of every norm"))
        }
    }
}

/// What the engine proves against a class.
pub(crate) fn certificate(engine: &Engine, name: Option<&str>, radius: Option<f64>) -> PyResult<Certificate> {
    let (class, from) = class(engine, name, radius).map_err(|e| refuse(e.0))?;
    let proved = engine.certificate_for(&class, from);
    match (proved, engine.average_loss()) {
        (Some(proved), Some(average_loss)) => Ok(Certificate {
            average_loss,
            regret_at_most: proved.regret_at_most,
            best_at_least: proved.best_at_least,
            comparator: proved.comparator.to_owned(),
            radius: proved.radius,
            radius_from: proved.radius_from.map(str::to_owned),
        }),
        _ => Err(nothing(&class, engine.examples())),
    }
}

/// What several classes together prove: only the radius may be another than in force.
pub(crate) fn of_several(
    several: &Multiclass,
    name: Option<&str>,
    radius: Option<f64>,
) -> PyResult<Certificate> {
    let (own, _) = several.comparator();
    if let Some(name) = name.filter(|name| *name != own.name()) {
        return Err(refuse(format!(
            "comparator={name}: several classes are certified against the class that they were made with, {}",
            own.name()
        )));
    }
    let proved = match radius {
        None => several.certificate(),
        Some(_) if own.radius().is_none() => {
            return Err(unbounded(own, radius).map_or_else(raise, |_| refuse("")));
        }
        Some(radius) => several.certificate_within(positive(radius).map_err(|e| refuse(e.0))?),
    };
    match (proved, several.average_loss()) {
        (Some(proved), Some(average_loss)) => Ok(Certificate {
            average_loss,
            regret_at_most: proved.regret_at_most,
            best_at_least: proved.best_at_least,
            comparator: proved.comparator.to_owned(),
            radius: proved.radius,
            radius_from: proved.radius_from.map(str::to_owned),
        }),
        _ => Err(nothing(&own, several.examples())),
    }
}

fn nothing(class: &Comparator, examples: u64) -> PyErr {
    refuse(match (examples, class) {
        (0, _) => "nothing is certified before something has been learned".to_owned(),
        (_, Comparator::Ridge { .. }) => {
            "comparator ridge needs a learner that knows its norm in every round".to_owned()
        }
        _ => "no example of weight above 0 has been learned, or the losses leave the range of f64".to_owned(),
    })
}

/// What ledgers must have in common to be added.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Terms {
    loss: String,
    parameters: Parameters,
    bias: bool,
    l2: Option<f64>,
    labels: LabelMap,
    reading: Reading,
}

impl Terms {
    fn new(engine: &Engine, labels: &LabelMap, reading: &Reading) -> Self {
        let config = engine.config();
        Self {
            loss: config.loss.clone(),
            parameters: config.loss_parameters.clone(),
            bias: config.bias,
            l2: config.l2,
            labels: labels.clone(),
            reading: Reading { label: None, weight: None, ..reading.clone() },
        }
    }

    /// What differs, the labels apart; `placed` says whether both have placed features.
    fn difference(&self, other: &Self, placed: bool) -> Option<&'static str> {
        if self.loss != other.loss || self.parameters != other.parameters {
            Some("losses")
        } else if self.bias != other.bias {
            Some("bias settings")
        } else if placed && self.reading != other.reading {
            Some("ways to place features")
        } else {
            None
        }
    }
}

/// The ledger of a stream, detached from its learner. Ledgers of the same loss, labels and features add: the
/// sum proves what the best common model could have done on both streams together.
///
/// >>> import noregret
/// >>> one, two = noregret.Learner(loss="hinge"), noregret.Learner("adagrad", "hinge")
/// >>> one.learn_many([[1.0, 0.0], [0.0, 1.0]], [1, -1])
/// >>> two.learn_many([[1.0, 1.0], [0.0, 2.0]], [1, -1])
/// >>> both = one.ledger + two.ledger
/// >>> both.examples
/// 4
/// >>> both.certificate(radius=2).comparator
/// 'l2'
#[pyclass(frozen, module = "noregret", skip_from_py_object)]
pub(crate) struct Ledger {
    ledger: regret::Ledger,
    terms: Terms,
}

impl Ledger {
    pub(crate) fn new(engine: &Engine, labels: &LabelMap, reading: &Reading) -> Self {
        Self { ledger: engine.ledger(), terms: Terms::new(engine, labels, reading) }
    }

    /// A ledger of rounds with an engine's loss.
    pub(crate) fn of(ledger: regret::Ledger, engine: &Engine, labels: &LabelMap, reading: &Reading) -> Self {
        Self { ledger, terms: Terms::new(engine, labels, reading) }
    }

    /// The scalars as JSON behind their length, then the vector as it lies in memory.
    pub(crate) fn pack(&self) -> PyResult<Vec<u8>> {
        let mut scalars = self.ledger.clone();
        let features = std::mem::take(&mut scalars.s.features);
        let told = serde_json::to_vec(&(&scalars, &self.terms)).map_err(|e| refuse(e.to_string()))?;
        let mut bytes = (told.len() as u64).to_le_bytes().to_vec();
        bytes.extend(told);
        bytes.extend(features.iter().flat_map(|v| v.to_le_bytes()));
        Ok(bytes)
    }

    /// The way back from [`Ledger::pack`].
    pub(crate) fn unpack(bytes: &[u8]) -> PyResult<Self> {
        let wrong = || refuse("these are not the bytes of a ledger");
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(wrong)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| wrong())?;
        let (told, numbers) = rest.split_at_checked(length).ok_or_else(wrong)?;
        let (mut ledger, terms): (regret::Ledger, Terms) = serde_json::from_slice(told)
            .map_err(|e| refuse(format!("these are not the bytes of a ledger: {e}")))?;
        let (numbers, rest) = numbers.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(wrong());
        }
        ledger.s.features = numbers.iter().map(|v| f64::from_le_bytes(*v)).collect();
        Ok(Self { ledger, terms })
    }

    fn class(&self, name: &str, radius: Option<f64>) -> PyResult<Comparator> {
        let class = Comparator::new(name, 1.0, self.terms.l2).map_err(|e| refuse(e.0))?;
        let class = match (class.radius(), radius) {
            (None, _) => unbounded(class, radius),
            (Some(_), Some(radius)) => positive(radius).map(|r| class.with_radius(r)),
            (Some(_), None) => Err(UsageError::new("a ledger knows no model: say radius=")),
        };
        class.map_err(|e| refuse(e.0))
    }
}

#[pymethods]
impl Ledger {
    /// Rows entered.
    #[getter]
    fn examples(&self) -> u64 {
        self.ledger.book.examples
    }

    /// The sum of their weights.
    #[getter]
    fn weight(&self) -> f64 {
        self.ledger.book.weight.value()
    }

    /// The average loss per unit of weight; None before the first round.
    #[getter]
    fn average_loss(&self) -> Option<f64> {
        self.ledger.book.average_loss()
    }

    /// The sum of the gradients: one number for each feature, and the bias's at the end if there is one.
    #[getter]
    fn slopes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.ledger.s.iter())
    }

    /// What the ledger proves against every model of a class.
    #[pyo3(signature = (radius=None, comparator="l2"))]
    fn certificate(&self, radius: Option<f64>, comparator: &str) -> PyResult<Certificate> {
        let class = self.class(comparator, radius)?;
        let book = &self.ledger.book;
        let proved = self.ledger.best_at_least(&class);
        let proved = proved.and_then(|best| Some((best, book.regret_at_most(&class, best)?)));
        match (proved, book.average_loss()) {
            (Some((best_at_least, regret_at_most)), Some(average_loss)) => Ok(Certificate {
                average_loss,
                regret_at_most,
                best_at_least,
                comparator: comparator.to_owned(),
                radius: class.radius(),
                radius_from: class.radius().map(|_| "flag".to_owned()),
            }),
            _ => Err(nothing(&class, book.examples)),
        }
    }

    /// `best_at_least` for many radii, as pairs.
    #[pyo3(signature = (radii, comparator="l2"))]
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn curve<'py>(&self, py: Python<'py>, radii: Vec<f64>, comparator: &str) -> PyResult<Bound<'py, PyAny>> {
        for &radius in &radii {
            self.class(comparator, Some(radius))?;
        }
        let class = self.class(comparator, Some(1.0))?;
        let pairs = self.ledger.curve(&class, &radii);
        py.import("noregret._display")?.call_method1("Curve", (pairs, self.average_loss()))
    }

    /// The ledger as bytes, exactly.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = serde_json::to_vec(&(&self.ledger, &self.terms)).map_err(|e| refuse(e.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A ledger from its bytes.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let (ledger, terms) = serde_json::from_slice(bytes)
            .map_err(|e| refuse(format!("these are not the bytes of a ledger: {e}")))?;
        Ok(Self { ledger, terms })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.ledger == other.ledger && self.terms == other.terms
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Ledger>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let (placed, others_placed) = (self.examples() > 0, other.examples() > 0);
        if let Some(what) = self.terms.difference(&other.terms, placed && others_placed) {
            return Err(refuse(format!("the ledgers have different {what}, and do not add")));
        }
        // A part of a stream may have met one of the classes alone.
        let labels = both(self.terms.labels.clone(), &other.terms.labels)?;
        let Terms { reading, .. } = if placed { &self.terms } else { &other.terms };
        let terms = Terms { labels, reading: reading.clone(), ..self.terms.clone() };
        let mut ledger = self.ledger.clone();
        ledger.merge(&other.ledger);
        Ok(Py::new(py, Self { ledger, terms })?.into_any())
    }

    /// `sum` begins with 0, to which a ledger adds nothing.
    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> Py<PyAny> {
        let nothing = other.cast_exact::<PyInt>().is_ok() && other.extract::<i64>().is_ok_and(|n| n == 0);
        if nothing { slf.clone().into_any().unbind() } else { slf.py().NotImplemented() }
    }

    fn _repr_html_(&self) -> String {
        let loss = self.average_loss().map_or("none yet".to_owned(), |l| format!("{l:.6}"));
        format!(
            "<table><tr><th>examples</th><td>{}</td></tr><tr><th>{} loss, average</th><td>{loss}</td></tr></table>",
            self.examples(),
            self.terms.loss
        )
    }

    fn __repr__(&self) -> String {
        let loss = self.average_loss().map_or("None".to_owned(), |l| format!("{l:.6}"));
        format!("Ledger(examples={}, loss='{}', average_loss={loss})", self.examples(), self.terms.loss)
    }
}
