"""First-order learners (and ridge) against other programs that define them in the same way, on rows made here.

    python3 first_order.py path/to/noregret

Needs numpy, river, scikit-learn and vowpalwabbit. Prints the largest difference of the final scores for each pair and fails if
one is beyond its tolerance. Values are multiples of 1/64, which single precision holds exactly; Vowpal Wabbit computes in single
precision, so it agrees to fewer digits.

Not compared, because defined otherwise: River's FTRLProximal predicts with the weights of the round before and never returns one to 0,
and its PARegressor reckons the step with the label 2y - 1; Vowpal Wabbit's --coin and --freegrad are other members of their families.
Compared where the definitions meet: Vowpal Wabbit rescales a weight after it has met a record value and not before, so `normalized` is
given columns of one size; River's ALMAClassifier does not normalise rows and scales only the coordinates of the row, so `alma` is given
dense rows of length 1.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROWS, FEATURES = 2000, 12


def data(seed, regression=False, unit=False):
    """Rows with a planted model and noise; about half of the entries are absent, none if the rows are of length 1."""
    source = np.random.default_rng(seed)
    x = np.round(source.uniform(-1, 1, (ROWS, FEATURES)) * 64) / 64
    if unit:
        x[x == 0] = 1 / 64
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x = x.astype(np.float32).astype(np.float64)
    else:
        x *= source.random((ROWS, FEATURES)) < 0.5
        x[:, 0] *= 8
        # A row without features would teach nobody.
        x[:, 1] += np.where(np.any(x != 0, axis=1), 0, 0.5)
    model = source.normal(size=FEATURES)
    score = x @ model + 0.3 * source.normal(size=ROWS)
    labels = np.round(score * 64) / 64 if regression else np.where(score > 0, 1, -1)
    return x, labels


def text(x, labels, row, label):
    lines = []
    for values, y in zip(x, labels):
        features = " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(values.tolist()) if v != 0)
        lines.append(row.format(y=format(y, label), x=features))
    return "\n".join(lines) + "\n"


class Ours:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def scores(self, x, labels, *flags):
        rows, model = self.folder / "rows.svm", self.folder / "model.nrg"
        rows.write_text(text(x, labels, "{y} {x}", ".17g"))
        run = [self.program, "learn", rows, "--no-bias", "--quiet", "--model", model, *flags]
        subprocess.run(list(map(str, run)), check=True)
        run = [self.program, "predict", model, rows, "--scores", "--quiet"]
        out = subprocess.run(list(map(str, run)), check=True, capture_output=True, text=True).stdout
        return np.array([float(line.split()[0]) for line in out.splitlines()])


def vw(folder, x, labels, *flags):
    rows, model, out = folder / "rows.vw", folder / "model.vw", folder / "out.txt"
    rows.write_text(text(x, labels, "{y} | {x}", ".9g"))
    for run in (["-f", model, "--noconstant", *flags], ["-t", "-i", model, "-r", out]):
        command = [sys.executable, "-m", "vowpalwabbit", "-d", rows, "--quiet", *run]
        subprocess.run(list(map(str, command)), check=True)
    return np.array([float(line.split()[0]) for line in out.read_text().splitlines()])


def river_scores(model, x, labels):
    rows = [{i: v for i, v in enumerate(values.tolist()) if v != 0} for values in x]
    for row, y in zip(rows, labels.tolist()):
        model.learn_one(row, y > 0)
    weights = model.w if hasattr(model, "w") else model.weights
    return np.array([sum(weights.get(i, 0.0) * v for i, v in row.items()) for row in rows])


def main():
    from river import linear_model, optim
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    def descent(optimizer, loss=None):
        return linear_model.LogisticRegression(optimizer=optimizer, loss=loss, intercept_lr=0)

    def one_pass(**settings):
        model = SGDClassifier(penalty=None, shuffle=False, max_iter=1, tol=None, fit_intercept=False, **settings)
        return x @ model.fit(x, labels).coef_[0]

    failed = []

    def compare(name, a, b, tolerance):
        difference = float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b))))
        good = difference <= tolerance
        print(f"{name:58} {difference:9.2e}  {'agrees' if good else 'DIFFERS'} (within {tolerance:g})")
        if not good:
            failed.append(name)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = Ours(sys.argv[1], folder)
        x, labels = data(1)
        for lambda1, lambda2 in (("0", "0"), ("2", "0"), ("20", "3")):
            own = ours.scores(x, labels, "--learner", "ftrl-proximal", "--loss", "logistic", "--alpha", "0.3", "--beta", "0.5",
                              "--lambda1", lambda1, "--lambda2", lambda2)
            other = vw(folder, x, labels, "--ftrl", "--ftrl_alpha", "0.3", "--ftrl_beta", "0.5", "--l1", lambda1, "--l2", lambda2,
                       "--loss_function", "logistic")
            compare(f"ftrl-proximal, lambda1 {lambda1}, lambda2 {lambda2}: vw --ftrl", own, other, 1e-5)
        own = ours.scores(x, labels, "--learner", "perceptron", "--loss", "hinge")
        other = river_scores(descent(optim.SGD(1.0), optim.losses.Hinge(threshold=0.0)), x, labels)
        compare("perceptron: river", own, other, 1e-12)
        compare("perceptron: scikit-learn", own, one_pass(loss="perceptron", learning_rate="constant", eta0=1.0), 1e-12)
        own = ours.scores(x, labels, "--learner", "averaged-perceptron", "--loss", "hinge")
        other = one_pass(loss="perceptron", learning_rate="constant", eta0=1.0, average=True)
        compare("averaged-perceptron: scikit-learn", own, other, 1e-12)
        own = ours.scores(x, labels, "--learner", "adagrad", "--loss", "logistic", "--eta", "0.3")
        compare("adagrad: river", own, river_scores(descent(optim.AdaGrad(0.3, eps=1e-300)), x, labels), 1e-12)
        own = ours.scores(x, labels, "--learner", "ogd", "--loss", "logistic", "--eta", "0.05", "--schedule", "constant")
        compare("ogd, constant: river", own, river_scores(descent(optim.SGD(0.05)), x, labels), 1e-12)
        own = ours.scores(x, labels, "--learner", "ogd", "--loss", "logistic", "--eta", "0.05")
        other = one_pass(loss="log_loss", learning_rate="invscaling", power_t=0.5, eta0=0.05)
        compare("ogd, sqrt: scikit-learn", own, other, 1e-12)
        even = np.sign(x) * 2.0 ** np.arange(-6, 6)
        own = ours.scores(even, labels, "--learner", "normalized", "--loss", "logistic", "--eta", "0.5")
        other = vw(folder, even, labels, "--adaptive", "--normalized", "-l", "0.5", "--loss_function", "logistic")
        compare("normalized, one size a column: vw --adaptive --normalized", own, other, 1e-5)
        for variant in (0, 1, 2):
            own = ours.scores(x, labels, "--learner", "passive-aggressive", "--loss", "hinge", "--variant", variant,
                              "--aggressiveness", "0.05")
            model = linear_model.PAClassifier(C=0.05, mode=variant, learn_intercept=False)
            compare(f"passive-aggressive, variant {variant}: river", own, river_scores(model, x, labels), 1e-9)
            if variant > 0:
                sk = SGDClassifier(loss="hinge", penalty=None, learning_rate=f"pa{variant}", eta0=0.05, shuffle=False, max_iter=1,
                                   tol=None, fit_intercept=False)
                sk.fit(x, labels)
                compare(f"passive-aggressive, variant {variant}: scikit-learn", own, x @ sk.coef_[0], 1e-9)
        y, targets = data(2, regression=True)
        for variant in (1, 2):
            own = ours.scores(y, targets, "--learner", "passive-aggressive", "--loss", "absolute", "--variant", variant,
                              "--aggressiveness", "0.05", "--epsilon", "0.125")
            sk = SGDRegressor(loss="epsilon_insensitive", epsilon=0.125, penalty=None, learning_rate=f"pa{variant}", eta0=0.05,
                              shuffle=False, max_iter=1, tol=None, fit_intercept=False)
            sk.fit(y, targets)
            compare(f"passive-aggressive regression, variant {variant}: scikit-learn", own, y @ sk.coef_, 1e-9)
        own = ours.scores(y, targets, "--learner", "ridge", "--loss", "square", "--alpha", "0.8")
        model = linear_model.BayesianLinearRegression(alpha=0.4, beta=1.0)
        rows = [dict(enumerate(values.tolist())) for values in y]
        for row, target in zip(rows, targets.tolist()):
            model.learn_one(row, target)
        compare("ridge: river's Bayesian", own, np.array([model.predict_one(row) for row in rows]), 1e-12)
        u, labels = data(3, unit=True)
        own = ours.scores(u, labels, "--learner", "alma", "--loss", "hinge", "--alpha", "0.8", "--margin", "2", "--eta", "1.25")
        other = river_scores(linear_model.ALMAClassifier(p=2, alpha=0.8, B=2, C=1.25), u, labels)
        compare("alma, dense rows of length 1: river", own, other, 1e-5)
    sys.exit(f"{len(failed)} of the comparisons differ" if failed else 0)


if __name__ == "__main__":
    main()
