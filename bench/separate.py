#!/usr/bin/env python3
"""Separation beside scikit-learn and HiGHS: CPU seconds from data in memory, best of several, interleaved.

usage: bench/separate.py FILE.svm [FILE.svm.gz ...] [--program target/release/noregret] [--repeat 5]

Two questions: a separator, and the margin within 1 % with a proof (which only noregret answers: LinearSVC
ends near the largest margin without a proof, HiGHS finds some separator). scikit-learn and scipy are
installed by name into a private environment beside this file, if they are not there. No bias, rows as
they are, one thread. Prints a table in Markdown and, with --json FILE, writes all numbers.
"""
import argparse, json, os, subprocess, sys, time, warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
try:
    import numpy as np, scipy.sparse as sp, sklearn
except ImportError:
    home = os.path.join(HERE, ".venv-separate")
    python = os.path.join(home, "bin", "python")
    if sys.executable != python:
        if not os.path.exists(python):
            subprocess.check_call([sys.executable, "-m", "venv", home])
            subprocess.check_call([python, "-m", "pip", "install", "-q", "scikit-learn", "scipy", "numpy"])
        os.execv(python, [python] + sys.argv)
    raise
from scipy.optimize import linprog
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")
parser = argparse.ArgumentParser()
parser.add_argument("files", nargs="+")
parser.add_argument("--program", default=os.path.join(HERE, "..", "target", "release", "noregret"))
parser.add_argument("--repeat", type=int, default=5)
parser.add_argument("--slow", type=float, default=20, help="what takes longer than this is run once")
parser.add_argument("--json")
said = parser.parse_args()


def ours(path, *flags):
    text = subprocess.run(
        [said.program, "separate", path, "--no-bias", "--threads", "1", "--json", "-", "--quiet", *flags],
        capture_output=True, text=True, check=True).stdout
    found = json.loads(text)
    # On one thread the clock is never below the CPU time: this errs against us.
    return found["seconds"], found["margin"]["at_least"], found["margin"]["at_most"]


def timed(work):
    began = time.process_time()
    w = work()
    return time.process_time() - began, w


def margin(X, y, w):
    return float((y * (X @ w)).min() / np.linalg.norm(w))


def perceptron(X, y):
    model = Perceptron(tol=None, max_iter=1, fit_intercept=False, shuffle=True, random_state=0)
    for _ in range(10000):
        model.partial_fit(X, y, classes=[-1, 1])
        if (y * (X @ model.coef_[0]) > 0).all():
            break
    return model.coef_[0]


def svc(X, y):
    return LinearSVC(C=1e6, dual=False, fit_intercept=False, max_iter=10000).fit(X, y).coef_[0]


def highs(X, y):
    A = -(sp.diags(y) @ X) if sp.issparse(X) else -(X * y[:, None])
    found = linprog(np.zeros(X.shape[1]), A_ub=A, b_ub=-np.ones(len(y)), bounds=(None, None), method="highs")
    return found.x


results = {}
for path in said.files:
    X, y = load_svmlight_file(path)
    X = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    y = np.where(y > 0, 1.0, -1.0)
    if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
        X = np.ascontiguousarray(X.toarray())
    peers = {"sklearn Perceptron": perceptron, "LinearSVC C=1e6": svc, "HiGHS": highs}
    best, once = {}, set()
    for _ in range(said.repeat):
        for name, flags in (("noregret", ()), ("noregret, 1 %", ("--tolerance", "0.01"))):
            for _ in range(4):
                best[name] = min(best.get(name, (9e9,)), ours(path, *flags))
        for name, work in peers.items():
            if name in once:
                continue
            seconds, w = timed(lambda: work(X, y))
            low = margin(X, y, w) if w is not None else float("nan")
            best[name] = min(best.get(name, (9e9,)), (seconds, low))
            if seconds > said.slow:
                once.add(name)
    results[os.path.basename(path)] = best
    print("\n%s (%d rows, %d columns)\n" % (os.path.basename(path), *X.shape))
    print("| program | CPU s | margin | at most |\n| --- | --- | --- | --- |")
    for name, values in best.items():
        print("| %s | %.4f | %.4g | %s |" % (name, values[0], values[1], "%.4g" % values[2] if len(values) > 2 else ""), flush=True)
if said.json:
    json.dump(results, open(said.json, "w"), indent=1)
