"""usage: data.py FOLDER ROWS    from FOLDER/long.svm: the same with five digits after the point, as rcv.svm, rcv.vw, names.vw, and
long.vw; and ROWS dense rows of 28 numbers as higgs.csv, .svm, .vw"""

import sys
from pathlib import Path

import numpy as np

folder, rows = Path(sys.argv[1]), int(sys.argv[2])

with open(folder / "long.svm") as text, open(folder / "long.vw", "w") as long, open(folder / "rcv.svm", "w") as svm, \
        open(folder / "rcv.vw", "w") as vw, open(folder / "names.vw", "w") as names:
    for line in text:
        label, *pairs = line.split()
        long.write(f"{label} | {' '.join(pairs)}\n")
        pairs = [f"{index}:{float(value):.5f}" for index, value in (pair.split(":") for pair in pairs)]
        svm.write(f"{label} {' '.join(pairs)}\n")
        vw.write(f"{label} | {' '.join(pairs)}\n")
        names.write(f"{label} |text {' '.join('word' + pair for pair in pairs)}\n")

random = np.random.default_rng(1)
d = 28
truth = random.normal(size=d)
with open(folder / "higgs.csv", "w") as csv, open(folder / "higgs.svm", "w") as svm, open(folder / "higgs.vw", "w") as vw:
    csv.write("label," + ",".join(f"x{k + 1}" for k in range(d)) + "\n")
    for _ in range(0, rows, 1000):
        x = random.gamma(2.0, 0.5, size=(1000, d)) * random.choice([-1, 1], size=(1000, d))
        y = np.where(x @ truth + random.normal(size=1000) > 0, 1, -1)
        for label, row in zip(y, x):
            cells = [f"{v:.6f}" for v in row]
            pairs = " ".join(f"{k + 1}:{v}" for k, v in enumerate(cells))
            csv.write(f"{label},{','.join(cells)}\n")
            svm.write(f"{label} {pairs}\n")
            vw.write(f"{label} | {pairs}\n")
