#!/usr/bin/env python3
"""Makes the stored answers that crates/noregret/tests/audit.rs compares brackets with.

Needs: pip install numpy scikit-learn cvxpy clarabel. The optima are found by Clarabel, a conic
interior-point solver, through CVXPY; the data sets are the ones bundled with scikit-learn (breast cancer,
digits, diabetes), standardised, three decimals, values read back as f32. A constant feature is appended
and lies inside the norm, as in the audit.

usage: audit_references.py [FOLDER]   (default: crates/noregret/tests/data/audit)
"""
import gzip
import json
import os
import sys

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "crates/noregret/tests/data/audit"


def scaled(x):
    spread = x.std(0)
    spread[spread == 0] = 1
    return np.round((x - x.mean(0)) / spread, 3)


def sets():
    cancer, digits, diabetes = load_breast_cancer(), load_digits(), load_diabetes()
    yield "breast_cancer", scaled(cancer.data), np.where(cancer.target > 0, 1, -1)
    yield "digits", np.round(digits.data / 16, 3), np.where(digits.target % 2 > 0, 1, -1)
    yield "diabetes", scaled(diabetes.data), np.round(diabetes.target / 25).astype(int)


def write(name, x, y):
    text = "".join(
        f"{label} " + " ".join(f"{i + 1}:{v:.3f}" for i, v in enumerate(row) if v != 0) + "\n"
        for label, row in zip(y, x)
    )
    with open(os.path.join(FOLDER, name + ".svm.gz"), "wb") as file:
        file.write(gzip.compress(text.encode(), 9, mtime=0))


def total(loss, z, y):
    return {
        "square": lambda: cp.sum_squares(z - y),
        "absolute": lambda: cp.norm1(z - y),
        "quantile": lambda: cp.sum(cp.maximum(0.5 * (y - z), -0.5 * (y - z))),
        "huber": lambda: cp.sum(cp.huber(z - y, 1)) / 2,
        "poisson": lambda: cp.sum(cp.exp(z) - cp.multiply(y, z)),
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, z))),
        "squared-hinge": lambda: cp.sum_squares(cp.pos(1 - cp.multiply(y, z))),
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(y, z))),
    }[loss]()


def main():
    os.makedirs(FOLDER, exist_ok=True)
    answers = []
    for name, x, y in sets():
        write(name, x, y)
        rows = np.hstack([x.astype(np.float32).astype(float), np.ones((len(x), 1))])
        n = len(rows)
        real = name == "diabetes"
        losses = (
            ["square", "absolute", "quantile", "huber", "poisson"] if real else ["logistic", "hinge", "squared-hinge", "square"]
        )
        for loss in losses:
            for comparator, size in [("l2", 1), ("l2", 10), ("l1", 3), ("ridge", 0.05)]:
                u = cp.Variable(rows.shape[1])
                value = total(loss, rows @ u, y) / n
                limits = []
                if comparator == "ridge":
                    value += size / 2 * cp.sum_squares(u)
                else:
                    limits.append(cp.norm(u, 1 if comparator == "l1" else 2) <= size)
                problem = cp.Problem(cp.Minimize(value), limits)
                problem.solve(solver=cp.CLARABEL)
                answers.append(
                    {"data": name, "loss": loss, "comparator": comparator, "size": size, "best": float(problem.value)}
                )
                print(answers[-1], problem.status, flush=True)
    with open(os.path.join(FOLDER, "references.json"), "w") as file:
        file.write("[\n" + ",\n".join("  " + json.dumps(a) for a in answers) + "\n]\n")


main()
