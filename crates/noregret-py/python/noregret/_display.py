"""How results look in notebooks, and their pictures. Pictures need matplotlib, which is asked for only then."""

from __future__ import annotations

import html
from typing import Any


def number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if 1e-4 <= abs(value) < 1e7 or value == 0 else f"{value:.5e}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def pairs_html(pairs: list[tuple[str, Any]], sentence: str = "") -> str:
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(number(value))}</td></tr>" for name, value in pairs)
    return f"<table>{rows}</table>" + (f"<p>{html.escape(sentence)}</p>" if sentence else "")


def table_html(head: list[str], rows: list[list[Any]]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(number(v))}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def learner_html(learner: Any) -> str:
    """What stands in a notebook for a learner."""
    pairs = [("learner", learner.learner), ("loss", learner.loss), ("examples", learner.examples)]
    if learner.multiclass:
        pairs.append(("classes", len(learner.classes)))
    pairs.append(("average loss", learner.average_loss))
    try:
        certificate = learner.certificate()
    except ValueError:
        return pairs_html(pairs)
    pairs += [("best in hindsight at least", certificate.best_at_least), ("regret at most", certificate.regret_at_most)]
    return pairs_html(pairs, str(certificate))


def axes(ax: Any = None) -> Any:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    return pyplot.subplots()[1]


class Curve(list):
    """Pairs (radius, best_at_least): no model of that radius has a smaller average loss.

    >>> Curve([(1.0, 0.5), (2.0, 0.25)], 0.75)
    [(1.0, 0.5), (2.0, 0.25)]
    """

    def __init__(self, pairs: Any = (), average_loss: float | None = None):
        super().__init__(tuple(pair) for pair in pairs)
        self.average_loss = average_loss

    def __reduce__(self) -> tuple:
        return Curve, (list(self), self.average_loss)

    def _repr_html_(self) -> str:
        return table_html(["radius", "best in hindsight at least"], [list(pair) for pair in self])

    def plot(self, ax: Any = None) -> Any:
        """Draws the lower bounds against the radius, and the average loss. Returns the axes."""
        ax = axes(ax)
        ax.plot([r for r, _ in self], [b for _, b in self], marker="o", label="best in hindsight, at least")
        if self.average_loss is not None:
            ax.axhline(self.average_loss, linestyle="--", color="gray", label="average loss")
        ax.set_xscale("log")
        ax.set_xlabel("radius")
        ax.set_ylabel("average loss")
        ax.legend()
        return ax
