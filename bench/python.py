"""usage: python.py [DATA.svm [COMMAND]]    the Python package beside scikit-learn and River, in turns: the least CPU time of several

`learn_many` of a sparse float32 matrix against `SGDClassifier(max_iter=1, shuffle=False).fit`; `learn_one` of 74
features against River's `LogisticRegression`; with COMMAND, the program `noregret`, `learn_file` against it. Without DATA
a stream like text is made. Needs noregret, scipy, scikit-learn and river.
"""

import resource
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp
from river import linear_model
from sklearn.linear_model import SGDClassifier

import noregret


def text_like(rows=20000, columns=47236, a_row=75):
    """Sparse rows of unit length with features that are rarer the higher their number."""
    random = np.random.default_rng(1)
    common = 1 / np.arange(1, columns + 1)
    indices = [np.unique(random.choice(columns, size=a_row, p=common / common.sum())) for _ in range(rows)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in indices])])
    values = [v / np.linalg.norm(v) for v in (random.gamma(2, size=len(row)) for row in indices)]
    X = sp.csr_matrix((np.concatenate(values), np.concatenate(indices), indptr), shape=(rows, columns))
    return X, np.where(X @ random.normal(size=columns) > 0, 1, -1)


def race(rivals, rounds=7):
    """The least CPU time of each, all measured in turns."""
    best = dict.fromkeys(rivals, np.inf)
    for _ in range(rounds):
        for name, run in rivals.items():
            work = run()
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
    return best


def show(title, best, unit, scale, against):
    print(title)
    for name, seconds in best.items():
        print(f"  {name:42} {seconds * scale:9.3f} {unit}   {best[against] / seconds:6.2f} x")


def files(path, command):
    """`learn_file` beside the command, on the same file with as many threads: wall and CPU time."""

    def ours():
        learner = noregret.Learner("projected-ogd", "hinge")
        learner.learn_file(path)

    def theirs():
        subprocess.run([command, "learn", path, "--learner", "projected-ogd", "--loss", "hinge", "--quiet"], check=True)

    def spent():
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both)

    best = {}
    for _ in range(5):
        for name, work in {"noregret learn": theirs, "learn_file": ours}.items():
            cpu, wall = spent(), time.perf_counter()
            work()
            took = spent() - cpu, time.perf_counter() - wall
            best[name] = tuple(map(min, took, best.get(name, took)))
    print("the file, hinge, projected-ogd")
    for name, (cpu, wall) in best.items():
        print(f"  {name:42} {cpu:9.3f} s CPU {wall:9.3f} s wall")


def main():
    if len(sys.argv) > 1:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(sys.argv[1])
    else:
        X, y = text_like()
    X = X.astype(np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)

    def many(*arguments, **parameters):
        def prepare():
            learner = noregret.Learner(*arguments, **parameters)
            return lambda: (learner.learn_many(X, y), learner.certificate(radius=10))

        return prepare

    def sgd(**parameters):
        return lambda: lambda: SGDClassifier(max_iter=1, tol=None, shuffle=False, **parameters).fit(X, y)

    rivals = {
        "scikit-learn SGDClassifier, log_loss": sgd(loss="log_loss"),
        "noregret auto, logistic": many("auto", "logistic"),
        "noregret projected-ogd, logistic": many("projected-ogd", "logistic"),
        "noregret ftrl, logistic": many("ftrl", "logistic"),
    }
    show(f"one pass over {X.shape[0]} rows, {X.nnz} values", race(rivals), "s ", 1, "scikit-learn SGDClassifier, log_loss")
    rivals = {
        "scikit-learn SGDClassifier, hinge": sgd(loss="hinge"),
        "noregret auto, hinge": many("auto", "hinge"),
        "noregret projected-ogd, hinge": many("projected-ogd", "hinge"),
        "noregret perceptron": many("perceptron"),
    }
    show("the same with hinge loss", race(rivals), "s ", 1, "scikit-learn SGDClassifier, hinge")
    if len(sys.argv) > 2:
        files(sys.argv[1], sys.argv[2])

    random = np.random.default_rng(2)
    count = 10000
    arrays = random.normal(size=(count, 74))
    labels = [bool(label) for label in arrays @ random.normal(size=74) > 0]
    names = [f"feature{k}" for k in range(74)]
    dicts = [dict(zip(names, map(float, row))) for row in arrays]
    rows = list(arrays)

    def river():
        model = linear_model.LogisticRegression()
        return lambda: [model.learn_one(x, label) for x, label in zip(dicts, labels)]

    def one(rows, learner):
        def prepare():
            model = noregret.Learner(learner)
            return lambda: [model.learn_one(x, label) for x, label in zip(rows, labels)]

        return prepare

    rivals = {
        "River LogisticRegression": river,
        "noregret auto, dict": one(dicts, "auto"),
        "noregret ogd, dict": one(dicts, "ogd"),
        "noregret auto, array": one(rows, "auto"),
        "noregret ogd, array": one(rows, "ogd"),
    }
    best = race(rivals)
    show("learn_one of 74 features", best, "us", 1e6 / count, "River LogisticRegression")


if __name__ == "__main__":
    main()
