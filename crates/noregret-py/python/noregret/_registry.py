"""The registries of learners and losses, as the library has them."""

from __future__ import annotations

from ._noregret import registry


def _group(wanted: str) -> dict[str, dict]:
    return {
        name: {
            "summary": summary,
            "parameters": {p: {"default": default, "meaning": meaning} for p, default, meaning in parameters},
        }
        for group, name, summary, parameters in registry()
        if group == wanted
    }


def learners() -> dict[str, dict]:
    """Every learner by name: its summary, and its parameters with their defaults and meanings.

    >>> import noregret
    >>> sorted(noregret.learners()["ogd"]["parameters"])
    ['eta', 'schedule']
    """
    return _group("learner")


def losses() -> dict[str, dict]:
    """Every loss by name, in the same form.

    >>> import noregret
    >>> noregret.losses()["quantile"]["parameters"]["tau"]["default"]
    '0.5'
    """
    return _group("loss")


def parameter_names() -> frozenset[str]:
    """The names of all parameters of learners and losses."""
    return frozenset(p for _, _, _, parameters in registry() for p, _, _ in parameters)
