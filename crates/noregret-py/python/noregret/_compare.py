"""The same stream through several learners, side by side."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ._audit import audit as bracket
from ._data import Rows, as_labels, as_weights
from ._display import axes, table_html
from ._noregret import Learner

_HEAD = ["learner", "average loss", "best at least", "regret at most", "theorem's bound", "error rate", "examples/s"]


class Comparison:
    """What `compare` found, the best run first.

    `runs` has a summary for each learner with the keys of `noregret learn --json`, among them `name`, `history` (a row at
    examples 1, 2, 4, 8, …) and `seconds`; `learners` the learners themselves, by name.
    """

    def __init__(self, runs: list[dict], learners: dict[str, Learner]):
        self.runs = runs
        self.learners = learners

    @property
    def best(self) -> dict:
        """The run of the smallest average loss."""
        return self.runs[0]

    def _rows(self) -> list[list[Any]]:
        rows = []
        for run in self.runs:
            if "error" in run:
                rows.append([run["name"], "diverged", None, None, None, None, None])
                continue
            certificate, bound = run["certificate"] or {}, run["bound"] or {}
            speed = int(run["examples"] / max(run["seconds"], 1e-9))
            proved = [certificate.get("best_at_least"), certificate.get("regret_at_most"), bound.get("regret_at_most")]
            rows.append([run["name"], run["average_loss"], *proved, run["error_rate"], speed])
        return rows

    def __repr__(self) -> str:
        cells = [_HEAD] + [[f"{v:.6f}" if isinstance(v, float) else "-" if v is None else str(v) for v in row] for row in self._rows()]
        widths = [max(len(row[k]) for row in cells) for k in range(len(_HEAD))]
        lines = ["  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths))) for row in cells]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return table_html(_HEAD, self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draws average loss (lines) and certified best in hindsight (dashed) over the stream. Returns the axes."""
        ax = axes(ax)
        for run in self.runs:
            history = [row for row in run.get("history", []) if row["average_loss"] is not None]
            line = ax.plot([row["examples"] for row in history], [row["average_loss"] for row in history], label=run["name"])[0]
            proved = [row for row in history if row["best_at_least"] is not None]
            ax.plot([r["examples"] for r in proved], [r["best_at_least"] for r in proved], linestyle="--", color=line.get_color())
        ax.set_xscale("log")
        ax.set_xlabel("examples")
        ax.set_ylabel("average loss; dashed: best in hindsight, at least")
        ax.legend()
        return ax


def _entrant(entry: Any, loss: str | None, shared: dict) -> tuple[str, dict]:
    if isinstance(entry, str):
        name, own = entry, {"learner": entry}
    elif isinstance(entry, Mapping) and isinstance(entry.get("learner"), str):
        own = dict(entry)
        said = ", ".join(f"{key}={value}" for key, value in own.items() if key not in ("learner", "name"))
        name = own.pop("name", own["learner"] + (f" ({said})" if said else ""))
    else:
        raise ValueError(f"learners: found {entry!r}, expected a name, or a dict with 'learner' and its parameters")
    return name, {"loss": loss} | shared | own


def compare(
    X: Any,
    y: Any,
    learners: Sequence[str | Mapping[str, Any]] = ("auto", "adagrad", "ftrl", "projected-ogd"),
    loss: str | None = None,
    radius: float | None = None,
    *,
    sample_weight: Any = None,
    audit: bool = False,
    **settings: Any,
) -> Comparison:
    """Learns the same rows with several learners: names, or dicts such as `{"learner": "ogd", "eta": 0.1}`. `settings` are
    those of `Learner` and go to all. With `audit=True` each run has the true best in hindsight too, in `audit`. A learner
    that diverges is listed with its `error`.

    >>> import noregret
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1]
    >>> comparison = noregret.compare(X, y, ["auto", {"learner": "ogd", "eta": 0.1}], loss="logistic")
    >>> sorted(comparison.learners)
    ['auto', 'ogd (eta=0.1)']
    """
    entrants = [_entrant(entry, loss, {"radius": radius} | settings) for entry in learners]
    if not entrants:
        raise ValueError("learners: expected at least one")
    names = [name for name, _ in entrants]
    if len(set(names)) != len(names):
        raise ValueError("learners: two have the same name; give them 'name' keys of their own")
    made = {name: Learner(**own) for name, own in entrants}
    rows = Rows(X)
    labels = as_labels(y)
    weights = None if sample_weight is None else as_weights(sample_weight)
    codes = labels[1] if isinstance(labels, tuple) else labels
    if len(codes) != len(rows):
        raise ValueError(f"X has {len(rows)} rows and y has {len(codes)} labels")
    if isinstance(labels, tuple):
        import numpy as np

        codes = np.array(labels[0])[labels[1]]
    ends = [1 << k for k in range(len(rows).bit_length()) if 1 << k < len(rows)] + [len(rows)]
    parts = [(rows.cut(a, b), codes[a:b], None if weights is None else weights[a:b]) for a, b in zip([0, *ends], ends)]
    runs = [_run(name, learner, parts) for name, learner in made.items()]
    if audit:
        for run in runs:
            if "error" not in run:
                found = bracket(rows, codes, sample_weight=weights, learner=made[run["name"]])
                best, regret = found.best, found.regret
                run["audit"] = {
                    "best": {"at_least": best.at_least, "at_most": best.at_most},
                    "regret": regret and {"at_least": regret.at_least, "at_most": regret.at_most},
                    "closed": found.closed,
                }
    runs.sort(key=lambda run: (run.get("average_loss") is None, run.get("average_loss")))
    return Comparison(runs, made)


def _run(name: str, learner: Learner, parts: list[tuple]) -> dict:
    history, seconds = [], 0.0
    for X, y, weights in parts:
        start = time.perf_counter()
        try:
            learner.learn_many(X, y, weights)
        except ValueError as error:
            if "diverged" not in str(error) and "too large to learn from" not in str(error):
                raise
            return {"name": name, "error": str(error), "history": history}
        seconds += time.perf_counter() - start
        history.append(learner._row())
    return {"name": name} | learner.summary() | {"history": history, "seconds": seconds}
