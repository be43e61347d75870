"""Compares the learners that use a matrix or stored rows with programs written from their papers in numpy,
and with River's where it has one.

    python3 crates/noregret-cli/tests/peers/second_order.py target/release/noregret

Needs numpy; River is used if it can be imported. Every comparison is of scores: those of the model after the
stream on all rows (`predict --scores`, exact decimals) and the average loss suffered on the way. Prints the
largest differences and fails above 1e-8.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

N, D, WEIGHTS = 400, 12, [1.0, 1.0, 1.0, 0.5, 3.0]


def stream(seed, real):
    """Rows with about half of the features, the last column the constant one; labels and weights."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((N, D)) < 0.5, rng.integers(-16, 17, (N, D)) / 8.0, 0.0)
    u = rng.normal(size=D)
    noise = rng.normal(size=N)
    y = np.round(8 * (x @ u + 0.5 + noise)) / 8 if real else np.where(x @ u + 0.3 + noise > 0, 1.0, -1.0)
    return np.hstack([x, np.ones((N, 1))]), y


def write(path, x, y, weights):
    """VW text, whose numeric names are places, so that importance weights can be given."""
    with open(path, "w") as out:
        for row, label, weight in zip(x, y, weights):
            cells = " ".join(f"{i}:{float(v)!r}" for i, v in enumerate(row[:-1]) if v != 0)
            out.write(f"{float(label)!r} {float(weight)!r} | {cells}\n")


def ours(program, folder, flags, x, y, weights):
    write(folder / "data.vw", x, y, weights)
    learn = [program, "learn", str(folder / "data.vw"), *flags, "--model", str(folder / "m"), "--json", "-", "--quiet"]
    summary = json.loads(subprocess.run(learn, check=True, capture_output=True, text=True).stdout)
    predict = [program, "predict", str(folder / "m"), str(folder / "data.vw"), "--scores", "--quiet"]
    lines = subprocess.run(predict, check=True, capture_output=True, text=True).stdout.split()
    return np.array([float(line) for line in lines]), summary["average_loss"]


class Arow:
    """Crammer, Kulesza, Dredze 2009, figure 1: mean and covariance as printed; `diagonal` drops the rest of
    the covariance after every update. A weight c stands for r/c."""

    def __init__(self, d, r, diagonal):
        self.mu, self.sigma, self.r, self.diagonal = np.zeros(d), np.eye(d), r, diagonal

    def score(self, x):
        return self.mu @ x

    def learn(self, x, y, c, z):
        if y * z < 1:
            beta = 1 / (x @ self.sigma @ x + self.r / c)
            alpha = max(0, 1 - y * z) * beta
            sx = self.sigma @ x
            self.mu = self.mu + alpha * y * sx
            self.sigma = self.sigma - beta * np.outer(sx, sx)
            if self.diagonal:
                self.sigma = np.diag(np.diag(self.sigma))


class SecondOrder:
    """Cesa-Bianchi, Conconi, Gentile 2005: the matrix holds the current row while it is predicted."""

    def __init__(self, d, a):
        self.a, self.v = a * np.eye(d), np.zeros(d)

    def score(self, x):
        return np.linalg.solve(self.a + np.outer(x, x), self.v) @ x

    def learn(self, x, y, c, z):
        if y * z <= 0:
            self.v = self.v + c * y * x
            self.a = self.a + c * np.outer(x, x)


class Vaw:
    """Vovk 2001; Azoury, Warmuth 2001: a linear system a row."""

    def __init__(self, d, alpha):
        self.a, self.b = alpha / 2 * np.eye(d), np.zeros(d)

    def score(self, x):
        return np.linalg.solve(self.a + np.outer(x, x), self.b) @ x

    def learn(self, x, y, c, z):
        self.a, self.b = self.a + c * np.outer(x, x), self.b + c * y * x


class Newton:
    """Hazan, Agarwal, Kale 2007, figure 2, without the projection: A += g g', w -= A^-1 g/beta."""

    def __init__(self, d, beta, epsilon, slope, diagonal):
        self.a, self.w, self.beta, self.slope = epsilon / beta * np.eye(d), np.zeros(d), beta, slope
        self.diagonal = diagonal

    def score(self, x):
        return self.w @ x

    def learn(self, x, y, c, z):
        g = c * self.slope(z, y) * x
        self.a = self.a + np.outer(g, g)
        a = np.diag(np.diag(self.a)) if self.diagonal else self.a
        self.w = self.w - np.linalg.solve(a, g) / self.beta


class Vectors:
    """Freund, Schapire 1999, figure 1: every vector with the rounds it survived; vote or average."""

    def __init__(self, d, vote):
        self.v, self.c, self.vote = [np.zeros(d)], [0.0], vote

    def score(self, x):
        scores = np.array(self.v) @ x
        return np.average(np.sign(scores) if self.vote else scores, weights=self.c) if sum(self.c) else 0.0

    def learn(self, x, y, c, z):
        if y * (self.v[-1] @ x) <= 0:
            self.v.append(self.v[-1] + c * y * x)
            self.c.append(c)
        else:
            self.c[-1] += c


class Kernel:
    """The Perceptron in a kernel's space, oldest rows forgotten. The rbf kernel leaves the constant out."""

    def __init__(self, kernel, budget):
        self.kernel, self.budget, self.rows = kernel, budget, []

    def score(self, x):
        return sum(a * self.kernel(s, x) for s, a in self.rows)

    def learn(self, x, y, c, z):
        if y * z <= 0:
            self.rows = [*self.rows, (x, c * y)][-self.budget:]


class MaxOver:
    """Krauth, Mezard 1987: the stored row of least stability is learned."""

    def __init__(self, d, budget, kappa):
        self.w, self.budget, self.kappa, self.rows = np.zeros(d), budget, kappa, []

    def score(self, x):
        return self.w @ x

    def learn(self, x, y, c, z):
        self.rows = [*self.rows, (x, y, c)][-self.budget:]
        x, y, c = min(self.rows, key=lambda r: r[1] * (self.w @ r[0]))
        if y * (self.w @ x) < self.kappa:
            self.w = self.w + c * y * x


class Winnow:
    """Dagan, Karov, Roth 1997: positive and negative weights, multiplied on a mistake."""

    def __init__(self, d, eta):
        self.up, self.down, self.eta = np.ones(d), np.ones(d), eta

    def score(self, x):
        return (self.up - self.down) @ x

    def learn(self, x, y, c, z):
        if y * z <= 0:
            self.up = self.up * np.exp(self.eta * c * y * x)
            self.down = self.down * np.exp(-self.eta * c * y * x)


def rivers(epsilon):
    """River's optimiser `Newton` drives its linear regression without an intercept of its own."""
    from river import linear_model, optim

    class River:
        def __init__(self):
            self.model = linear_model.LinearRegression(
                optimizer=optim.Newton(lr=1.0, eps=epsilon), loss=optim.losses.Squared(), intercept_lr=0.0,
                clip_gradient=1e300)

        def score(self, x):
            return self.model.predict_one(dict(enumerate(map(float, x))))

        def learn(self, x, y, c, z):
            self.model.learn_one(dict(enumerate(map(float, x))), float(y))

    return River()


LOSSES = {
    "square": (lambda z, y: (z - y) ** 2, lambda z, y: 2 * (z - y)),
    "hinge": (lambda z, y: max(0.0, 1 - y * z), None),
    "logistic": (lambda z, y: math.log1p(math.exp(-y * z)), lambda z, y: -y / (1 + math.exp(y * z))),
}


def cases():
    d = D + 1
    yield "arow --r 0.7", "hinge", lambda: Arow(d, 0.7, True)
    yield "arow --r 2 --matrix full", "hinge", lambda: Arow(d, 2, False)
    yield "second-order-perceptron --alpha 0.3", "hinge", lambda: SecondOrder(d, 0.3)
    yield "vaw --alpha 0.2", "square", lambda: Vaw(d, 0.2)
    for matrix in ["full", "diagonal"]:
        for loss, beta in [("square", 0.01), ("logistic", 0.5)]:
            yield (f"newton --beta {beta} --epsilon 0.4 --matrix {matrix}", loss,
                   lambda l=loss, b=beta, m=matrix: Newton(d, b, 0.4, LOSSES[l][1], m == "diagonal"))
    yield "voted-perceptron", "hinge", lambda: Vectors(d, True)
    yield "averaged-perceptron", "hinge", lambda: Vectors(d, False)
    yield "kernel-perceptron --degree 3 --gamma 0.25", "hinge", lambda: Kernel(lambda a, b: (1 + 0.25 * (a @ b)) ** 3, 1000)
    yield ("kernel-perceptron --kernel rbf --gamma 0.1 --budget 40", "hinge",
           lambda: Kernel(lambda a, b: math.exp(-0.1 * ((a - b)[:-1] @ (a - b)[:-1])), 40))
    yield "kernel-perceptron --kernel linear --budget 25", "hinge", lambda: Kernel(lambda a, b: a @ b, 25)
    yield "maxover --budget 30 --kappa 2", "hinge", lambda: MaxOver(d, 30, 2)
    yield "winnow --eta 0.05", "hinge", lambda: Winnow(d, 0.05)


def compare(program, folder, flags, loss, peer, seed, weighted):
    x, y = stream(seed, loss == "square")
    weights = np.resize(WEIGHTS, N) if weighted else np.ones(N)
    scores, average = ours(program, folder, ["--learner", *flags.split(), "--loss", loss], x, y, weights)
    total = 0.0
    for row, label, weight in zip(x, y, weights):
        z = peer.score(row)
        total += weight * LOSSES[loss][0](z, label)
        peer.learn(row, label, weight, z)
    theirs = np.array([peer.score(row) for row in x])
    scale = max(1.0, np.abs(theirs).max())
    return np.abs(scores - theirs).max() / scale, abs(average - total / weights.sum()) / max(1.0, average)


def main():
    program, worst = sys.argv[1], 0.0
    print(f"{'learner':62} {'scores':>9} {'loss':>9}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for flags, loss, make in cases():
            found = [compare(program, folder, flags, loss, make(), seed, w) for seed in (1, 2) for w in (False, True)]
            differences = [max(f[k] for f in found) for k in (0, 1)]
            worst = max(worst, *differences)
            print(f"{flags + ', ' + loss:62} {differences[0]:9.1e} {differences[1]:9.1e}")
        try:
            peer = rivers(0.5)
        except ImportError:
            print("River cannot be imported: not compared")
        else:
            # beta = 1 and epsilon = eps make the two the same step.
            flags = "newton --beta 1 --epsilon 0.5 --matrix full"
            found = compare(program, folder, flags, "square", peer, 3, False)
            worst = max(worst, *found)
            print(f"{'River: ' + flags + ', square':62} {found[0]:9.1e} {found[1]:9.1e}")
    if worst > 1e-8:
        sys.exit(f"the largest difference is {worst:.1e}")


if __name__ == "__main__":
    main()
