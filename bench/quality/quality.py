"""Progressive (predict, then learn) average losses of one pass, `noregret learn` without any option beside
five learners of Vowpal Wabbit and River's linear models, all at their defaults.

    python3 bench/quality/quality.py target/release/noregret --data FOLDER [--venv FOLDER] [--out PAGE]

FOLDER holds files `NAME.libsvm` or `NAME.libsvm.gz` (base 1). Labels of two kinds mean logistic loss, others square
loss. With --venv, Vowpal Wabbit, River and scikit-learn are installed there (unless they are already) and run; two
sets more then come from scikit-learn. Without it, columns of Vowpal Wabbit that were measured with VW 9.11 are printed where the
name of a set is known.
"""

import argparse
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile

RIVALS = {"default": "", "--coin": "--coin", "--ftrl": "--ftrl", "--sgd": "--sgd", "--freegrad": "--freegrad"}

# VW 9.11, logistic loss, features as given.
MEASURED = {
    "agaricus.train": [0.0455, 0.0219, 0.0189, 0.0966, 0.0277],
    "rcv1_small": [0.4294, 0.4481, 0.5867, 0.5545, 0.5108],
    "a9a": [0.3322, 0.3412, 0.3373, 0.4078, 0.3496],
    "electricity": [0.5515, 0.3249, 0.5381, 0.4606, 0.2632],
    "spam_drift": [0.0884, 0.0831, 0.0814, 0.2352, 4.73],
    "breast_cancer": [0.3831, 0.3866, 5.96, 13.97, 1.30],
}

# Runs inside the private environment: prints one list of average losses per line of standard input.
WORKER = r"""
import gzip, json, sys
from vowpalwabbit import Workspace
job = json.load(sys.stdin)
lines = []
for line in (gzip.open if job["file"].endswith(".gz") else open)(job["file"], "rt"):
    label, *features = line.split("#")[0].split()
    lines.append(f"{label} | " + " ".join(features))
losses = []
for flags in job["flags"]:
    vw = Workspace(f"--quiet --loss_function {job['loss']} {flags}")
    for line in lines:
        vw.learn(line)
    losses.append(vw.get_sum_loss() / len(lines))
    vw.finish()
print(json.dumps(losses))
"""

# River's LogisticRegression and LinearRegression, alone and behind its StandardScaler. Of a probability 0 its own metric
# would make 1e-15, and so is it done here.
RIVER = r"""
import gzip, json, math, sys
from river import linear_model, preprocessing
job = json.load(sys.stdin)
rows = []
for line in (gzip.open if job["file"].endswith(".gz") else open)(job["file"], "rt"):
    label, *features = line.split("#")[0].split()
    pairs = (pair.split(":") for pair in features)
    rows.append(({name: float(value) for name, value in pairs}, float(label)))
logistic = job["loss"] == "logistic"
positive = max(y for _, y in rows)
losses = []
for scaled in (False, True):
    model = linear_model.LogisticRegression() if logistic else linear_model.LinearRegression()
    if scaled:
        model = preprocessing.StandardScaler() | model
    total = 0.0
    for x, y in rows:
        if logistic:
            p = model.predict_proba_one(x).get(y == positive, 0.5)
            total -= math.log(min(max(p, 1e-15), 1.0))
            model.learn_one(x, y == positive)
        else:
            total += (model.predict_one(x) - y) ** 2
            model.learn_one(x, y)
    losses.append(total / len(rows))
print(json.dumps(losses))
"""
RIVER_COLUMNS = ["River", "River, scaled"]

# Sets that scikit-learn carries, in its order, unscaled: one of two classes and one of real labels.
BUNDLED = r"""
import pathlib, sys
from sklearn.datasets import load_breast_cancer, load_diabetes
for name, data in (("breast_cancer", load_breast_cancer()), ("diabetes", load_diabetes(scaled=False))):
    labels = [1 if y else -1 for y in data.target] if name == "breast_cancer" else data.target
    with open(pathlib.Path(sys.argv[1]) / f"{name}.libsvm", "w") as out:
        for x, y in zip(data.data, labels):
            print(f"{y:g}", *(f"{i + 1}:{v:.9g}" for i, v in enumerate(x) if v), file=out)
"""


def environment(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run([python, "-c", "import vowpalwabbit, sklearn, river"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", "vowpalwabbit", "scikit-learn", "river"], check=True)
    return python


def task(path):
    """logistic for two labels, square otherwise"""
    labels = set()
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as lines:
        for line in lines:
            labels.add(line.split(None, 1)[0])
            if len(labels) > 2:
                return "square"
    return "logistic"


def ours(program, path, *flags):
    run = [program, "learn", str(path), "--json", "-", "--quiet", *flags]
    return json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def rivals(python, path, loss, name):
    if python is None:
        return MEASURED.get(name)
    job = {"file": str(path), "loss": {"square": "squared"}.get(loss, loss), "flags": list(RIVALS.values())}
    done = subprocess.run([python, "-c", WORKER], input=json.dumps(job), check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().split("\n")[-1])


def river(python, path, loss):
    if python is None:
        return None
    job = json.dumps({"file": str(path), "loss": loss})
    done = subprocess.run([python, "-c", RIVER], input=job, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().split("\n")[-1])


def number(value, bold=False):
    text = f"{value:.4f}" if value < 10 else f"{value:.4g}"
    return f"**{text}**" if bold else text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--venv", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="replace what follows the line `<!-- table -->` of this page")
    arguments = parser.parse_args()
    python = environment(arguments.venv) if arguments.venv else None
    paths = sorted(arguments.data.glob("*.libsvm*"))
    with tempfile.TemporaryDirectory() as folder:
        if python:
            subprocess.run([python, "-c", BUNDLED, folder], check=True)
            paths += sorted(pathlib.Path(folder).glob("*.libsvm"))
        lines = ["| data | loss | " + " | ".join([*RIVALS, *RIVER_COLUMNS]) + " | auto | ratio to the best of VW | auto's best member |",
                 "| --- " * (len(RIVALS) + len(RIVER_COLUMNS) + 5) + "|"]
        ratios, beside_river = [], []
        for path in paths:
            name = path.name.removesuffix(".gz").removesuffix(".libsvm")
            loss = task(path)
            others = rivals(python, path, loss, name)
            summary = ours(arguments.program, path)
            lost = summary["average_loss"]
            mixture = summary["mixture"]
            member = min(mixture["members"], key=lambda m: m["average_loss"])
            cells = ["–"] * len(RIVALS)
            ratio = ""
            if others:
                finite = [v for v in others if math.isfinite(v)]
                cells = [number(v, v == min(finite)) if math.isfinite(v) else "diverged" for v in others]
                ratios.append(lost / min(finite))
                ratio = f"{ratios[-1]:.3f}"
            theirs = river(python, path, loss)
            if theirs:
                cells += [number(v) if math.isfinite(v) else "diverged" for v in theirs]
                beside_river += [[lost / v if math.isfinite(v) else 0.0 for v in theirs]]
            else:
                cells += ["–"] * len(RIVER_COLUMNS)
            lines.append(f"| {name} | {loss} | " + " | ".join(cells) + f" | {number(lost)} | {ratio} | "
                         f"{member['name']} {number(member['average_loss'])} |")
            print(lines[-1], file=sys.stderr)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines += ["", f"Geometric mean of the ratios over {len(ratios)} sets: {mean:.3f}; the largest: {max(ratios):.3f}."]
    for column, name in enumerate(RIVER_COLUMNS):
        below = sum(ratio[column] < 1 for ratio in beside_river)
        if beside_river:
            lines += ["", f"{name}: `auto` loses less on {below} of {len(beside_river)} sets; the largest ratio is "
                          f"{max(ratio[column] for ratio in beside_river):.3f}."]
    text = "\n".join(lines) + "\n"
    if arguments.out:
        head = arguments.out.read_text().split("<!-- table -->")[0]
        arguments.out.write_text(f"{head}<!-- table -->\n\n{text}")
    print(text)


if __name__ == "__main__":
    main()
