"""Checks the JSON of `noregret demo` or `noregret learn`: the promised keys, and what must be true of them."""

import json
import sys

KEYS = [
    "examples", "nonzeros", "dimension", "loss", "learner", "average_loss", "mistakes", "error_rate",
    "certificate", "bound", "risk", "model_norm", "seconds", "baseline", "weight", "values",
]


def check(summary):
    missing = [key for key in KEYS if key not in summary]
    assert not missing, f"missing keys: {missing}"
    certificate = summary["certificate"]
    if certificate is not None:
        for key in ["comparator", "radius", "regret_at_most", "best_at_least"]:
            assert key in certificate, key
        suffered = summary["penalised_loss"] if certificate["comparator"] == "ridge" else summary["average_loss"]
        difference = suffered - certificate["regret_at_most"] - certificate["best_at_least"]
        assert abs(difference) <= 1e-9 * max(1.0, abs(suffered)), difference
    for part, value in [("bound", "regret_at_most"), ("risk", "at_most")]:
        assert (summary[part][value] is None) == bool(summary[part]["unmet"]), part
    if "proof" in summary:
        assert summary["proof"]["holds"] is True
        assert certificate["best_at_least"] <= summary["proof"]["best"]["at_most"]


if __name__ == "__main__":
    summary = json.load(sys.stdin)
    check(summary)
    print(f"{summary['learner']}: {summary['examples']} examples, loss {summary['average_loss']:.9f},",
          f"regret at most {summary['certificate']['regret_at_most']:.9f}: keys and identities hold")
