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

FAMILY = """
## Matrices, averages, stored rows

What these cost and when they are worth it. None of them is faster than `auto` or `adagrad`; each sees something they do not.

- `arow`: classification with a confidence for every feature: rare features move far, known ones little. O(nonzeros) and 24 bytes a
  feature; a good first choice among the mistake-driven learners. `--matrix full` also knows correlations, for up to a few hundred
  features (`4 d^2` bytes, O(d^2) a round); its labels are hard-wired to the margin 1, so raise `--r` for noisy labels.
- `second-order-perceptron`: for few, correlated features of very different scales; `4 d^2` bytes. Needs no margin; its score is
  small by construction, so judge it by its error rate and not by its hinge loss.
- `vaw`: regression with the best guarantee there is (regret of order `d ln T`, no bound on the labels to be known); `4 d^2` bytes,
  O(d^2) a row, also to predict. `ridge` predicts the same once every direction has been seen.
- `newton`: gradients through the inverse of their own matrix. With the square loss it needs no tuning; with the logistic loss `--beta`
  trades speed for the theorem, whose conditions a large `--radius` fails (the loss is flat far out). Say `--matrix full` for up to a few
  hundred features; the diagonal has no theorem, and steps that shrink faster than those of `adagrad`.
- `winnow`: for many features of which few matter, and all of one scale; 16 bytes a feature. Weights grow as exponentials, so watch
  the error rate; a smaller `--eta` where it diverges. `exponentiated` is its relative with a certificate worth having.
- `averaged-perceptron`: the Perceptron one would use: its predictions are those of the average, in the rounds and in the model; 24 bytes
  a feature, nothing to tune. An average remembers: on streams that drift or come sorted by label, `perceptron` errs less.
- `voted-perceptron`: the original of which the average is the cheap form. Keeps every row it erred on and reads them all for every
  prediction, so a stream with many mistakes gets slower and slower: for streams with few, or of a few ten thousand rows.
- `kernel-perceptron`: when linear models do not suffice. Keeps the newest `--budget` rows it erred on (12 bytes a nonzero) and reads
  them all for every prediction. The certificate speaks of linear models, which it may well beat: a negative regret says so.
- `maxover`: works on the worst of the newest `--budget` rows in every round: on separable streams a larger margin than the Perceptron's,
  on others a model that chases its outliers.
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
    lines = [INTRODUCTION + FAMILY, "## Learners", ""]
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
