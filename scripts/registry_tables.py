"""Writes docs/learners.md from the registries of the program, or checks that it is up to date.

    python3 scripts/registry_tables.py target/release/noregret [--check]
"""

import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "learners.md"

INTRODUCTION = """\
# Learners, losses, bounds

Made from the registries by `scripts/registry_tables.py`; `noregret learners NAME` says the same in a terminal. `g` is the
gradient `slope x`, `S` the sum of all gradients, `U` the radius, `P` the projection on the ball, `T` the number of rounds.

Which one? `auto`, the default: six learners mixed, in whatever units the features have, never much worse than the best of the
six, and nothing to tune ([measured](quality.md)); on streams that drift, `--tracking yes`. For a theorem about fixed models and a
tight certificate, `projected-ogd` and `ftrl`, which have a ball and want `--radius`; `ftrl` adapts to the size of the gradients.
`adagrad` needs little tuning on sparse text and one-hot features and takes a third of the memory. `strongly-convex-ogd` is the online SVM (hinge) or regularised logistic regression. `exponentiated` is for many features of
which few matter. `ridge` is exact, for few features. `perceptron` and `follow-the-leader` are there to be understood.

For sparse models: `ftrl-proximal` is the first choice, with steps per feature and weights that are exactly zero; its penalties count once
for the whole stream, so they matter less the longer it is, and `--lambda1` grows with the number of examples. `rda` penalises every round,
is the smallest in memory (8 bytes a feature) and has one step size for all features: set `--gamma` to the size of the gradients, and do not
use it with the square loss on labels far from 0. `truncated-gradient` is plain gradient descent that forgets: on rows with many common
features a longer `--period` leaves more zeros. `learn --json` and `inspect` count the weights that are not zero.

For features in unknown units, besides `auto`: `normalized` is how Vowpal Wabbit handles units, but its step still has to be chosen,
above all for a regression's labels. `coin` has nothing to tune, no matter which units, labels included, and a bound against models of
every norm; it pays for that with slow first rounds per feature, most on long-tailed text. `freegrad` is the same idea for the weights
as a whole, in 8 bytes a feature: its bound too holds for every norm, and where only long models are good it takes long to reach them. `scale-free`
is `ftrl` for losses or importance weights of any size; it knows nothing of columns.

For classification as the Perceptron does it: `passive-aggressive` corrects each example just so far, best where labels are clean;
with noise take a small `--aggressiveness` (0.01). It does regression too (`--loss absolute`). `alma` approximates the largest margin:
compare its mistakes, not its hinge loss, since its weights stay in a ball. Neither has a regret bound; their certificates hold all the same.
"""


def registry(program, name):
    out = subprocess.run([program, name, "--json", "-"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)[name]


def kind(parameter):
    value = parameter["kind"]
    if isinstance(value, dict):
        return " or ".join(f"`{word}`" for word in value["choice"])
    return {"positive": "a number above 0", "nonnegative": "a number not below 0", "fraction": "a number between 0 and 1", "count": "a whole number"}[value]


def parameters(entry):
    lines = []
    for parameter in entry["parameters"]:
        default = f" (default {parameter['default']})" if parameter["default"] else ""
        lines.append(f"- `--{parameter['name']}`: {kind(parameter)}{default}. {parameter['meaning']}.")
    return lines


def page(program):
    lines = [INTRODUCTION, "## Learners", ""]
    bounds = {bound["name"]: bound for bound in registry(program, "bounds")}
    for entry in registry(program, "learners"):
        losses = entry["losses"]
        losses = "all" if losses == "all" else ", ".join(f"`{name}`" for name in losses["only"])
        plain, average = entry["bytes_per_feature"]
        memory = f"{plain} bytes a feature" + (f", {average} with `--average`" if average else ", no average")
        radius = f", radius {entry['default_radius']:g}" if entry["default_radius"] else ""
        bound = bounds[entry["bound"]]
        lines += [f"### `{entry['name']}`", "", f"{entry['summary'][0].upper()}{entry['summary'][1:]}.", "",
                  f"    {entry['update']}", "",
                  f"- Losses: {losses}. Comparator: `{entry['default_comparator']}`{radius}. Memory: {memory}.",
                  f"- Theorem `{bound['name']}`: {bound['statement']}.",
                  f"- From: {entry['paper']}."]
        lines += parameters(entry) + [""]
    lines += ["## Losses", "", "| name | loss | for | parameters |", "| --- | --- | --- | --- |"]
    for entry in registry(program, "losses"):
        own = ", ".join(f"`--{p['name']}` (default {p['default']})" for p in entry["parameters"])
        formula = entry["formula"].replace("|", "\\|")
        lines.append(f"| `{entry['name']}` | `{formula}` | {entry['summary']} | {own} |")
    lines += ["", "## Bounds", "", "| name | statement | needs | source |", "| --- | --- | --- | --- |"]
    for entry in bounds.values():
        cells = [entry[key].replace("|", "\\|") for key in ("statement", "needs", "source")]
        lines.append(f"| `{entry['name']}` | {cells[0]} | {cells[1]} | {cells[2]} |")
    return "\n".join(lines) + "\n"


def main():
    text = page(sys.argv[1])
    if "--check" in sys.argv:
        if PAGE.read_text() != text:
            sys.exit("docs/learners.md is not what the registries say: run scripts/registry_tables.py")
        print("docs/learners.md is up to date")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
