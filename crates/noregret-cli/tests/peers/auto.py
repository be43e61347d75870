"""The pool `auto` for the logistic loss against one written in numpy from its description, in double precision and without
a single shortcut: every step is found by bisection.

    python3 crates/noregret-cli/tests/peers/auto.py target/release/noregret

Needs numpy. The members keep single precision, so losses agree to six digits and not to fifteen. Compared are the average losses
of the six members and of the mixture, on rows whose columns differ by six orders of magnitude, with absent values, an outlier, a
change of regime and importance weights; and that the mixture keeps its guarantee.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROWS, FEATURES, TOLERANCE = 600, 6, 5e-6


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def bisect(ascending, high):
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if ascending(middle) > 0 else (middle, high)
    return (low + high) / 2


def shares(losses):
    weights = np.exp(losses.min() - losses)
    return weights / weights.sum()


class Pool:
    """All states in units of the features' scales."""

    def __init__(self, d, tracking):
        self.tracking, self.t, self.squares, self.scale = tracking, 0, 0.0, np.zeros(d)
        self.w, self.sums, self.precision, self.together = np.zeros((5, d)), np.zeros((3, d)), np.zeros(d), np.zeros((d, d))
        self.outcomes, self.sizes, self.reward = np.zeros(d), np.zeros(d), np.zeros(d)
        self.losses, self.share, self.ways = np.zeros(6), np.full(6, 1 / 6), np.zeros(3)
        self.beta, self.covariance = np.array([1 / 6] * 6 + [0.0]), np.eye(7) * 0.05

    def normalise(self, x):
        """A value larger than any before counts as at most twice that; sums made in the old unit are changed to the new."""
        size = np.where(self.scale == 0, abs(x), np.minimum(abs(x), 2 * self.scale))
        scale = np.maximum(self.scale, size)
        shrink = np.where(self.scale > 0, self.scale / np.where(scale > 0, scale, 1), 1.0)
        return np.sign(x) * np.divide(size, scale, out=np.zeros_like(x), where=scale > 0), scale, shrink

    def loosen(self, began, shrink, root):
        """The covariance in the new units: a weight that begins may be anywhere, and no other may be farther off."""
        prior, variance = 10 / root, np.diag(self.together)
        most = np.maximum(np.sqrt(prior / np.where(variance > 0, variance, prior)), 1.0)
        growth = np.minimum(1 / shrink, np.where(shrink < 1, most, 1.0))
        self.together = growth[:, None] * self.together * growth + np.diag(np.where(began, prior, 0.0))

    def learn(self, x, y, c):
        """Predicts, learns, and returns the loss of the mixture before its weight."""
        unseen = self.scale == 0
        v, self.scale, shrink = self.normalise(x)
        self.sums *= shrink**2
        self.precision *= shrink**2
        self.outcomes *= shrink
        self.sizes *= shrink
        self.t += 1
        self.squares += v @ v
        mean = self.squares / self.t or 1.0
        self.loosen(unseen & (self.scale > 0), shrink, math.sqrt(mean))
        bets = (16 + self.reward) * self.outcomes / (1 + self.sizes)
        margins = np.append(self.w @ v, bets @ v / mean)
        z = np.clip(margins, -50, 50)
        right = np.array([sigmoid(y * a) for a in z])
        wrong = np.array([sigmoid(-y * a) for a in z])
        probability = self.blend(z, right, wrong, y, c)
        self.move(v, y, c, margins, wrong, mean, bets)
        self.losses -= c * np.log(right)
        return -math.log(probability)

    def blend(self, z, right, wrong, y, c):
        """The probability of what happened; then fixed share, the stack and the weights of the three learn."""
        shared = self.share @ right
        self.share = self.share * right**c
        rate = 1 / (self.t + 1)
        self.share = (1 - rate) * self.share / self.share.sum() + rate / 6
        if self.tracking:
            return shared
        f = np.append(np.clip(z, -12, 12), 1.0)
        score, cf = self.beta @ f, self.covariance @ f
        variance = max(0.0, f @ cf)
        stacked = sigmoid(y * np.clip(score / math.sqrt(1 + math.pi * variance / 8), -50, 50))
        probabilities = np.array([shares(self.losses) @ right, shared, stacked])
        mixed = shares(self.ways) @ probabilities
        self.ways -= c * np.log(probabilities)
        p = sigmoid(score)
        h = max(p * (1 - p), 1e-12)
        step = 1 / (1 / h / c + variance)
        self.beta = self.beta + cf * ((1 + y) / 2 - p) / h * step
        self.covariance -= np.outer(cf, cf) * step
        return mixed

    def move(self, v, y, c, margins, wrong, mean, bets):
        root, present = math.sqrt(mean), v != 0
        for k, eta in enumerate((0.5, 5.0, 50.0)):
            self.sums[k] += (c * wrong[k] * v) ** 2
            steps = np.where(present, eta / (root * np.sqrt(np.where(present, self.sums[k], 1.0))), 0.0)
            way, odds = steps @ v**2, math.exp(y * margins[k])
            done = bisect(lambda d: d + odds * math.expm1(d) - c * way, c * way / (1 + odds))
            self.w[k] += y * done / way * steps * v
        for k, steps in ((3, self.together @ v), (4, np.where(present, 1 / (root / 10 + self.precision), 0.0) * v)):
            way, a = v @ steps, y * margins[k]
            u = bisect(lambda u: u - c * sigmoid(-(a + way * u)), c * sigmoid(-a))
            self.w[k] += y * u * steps
            bent = c * sigmoid(a + way * u) * sigmoid(-(a + way * u))
            if k == 3:
                self.together -= np.outer(steps, steps) * bent / (1 + bent * way)
        self.precision = np.where(present, 0.99 * self.precision + bent * v**2, self.precision)
        tossed = min(1.0, c * wrong[5]) * y * v
        self.reward += tossed * bets
        self.outcomes += tossed
        self.sizes += abs(tossed)


def stream(seed, weighted):
    """The last column is the constant; values are multiples of a power of two, exact in single precision."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((ROWS, FEATURES)) < 0.7, rng.integers(-32, 33, (ROWS, FEATURES)) / 16.0, 0.0)
    u = rng.normal(size=FEATURES)
    score = x @ u + 0.5 * rng.normal(size=ROWS) + 0.3
    score[ROWS // 2:] *= np.where(rng.random(ROWS - ROWS // 2) < 0.6, -1, 1)
    x = x * 2.0 ** rng.integers(-10, 11, FEATURES)
    x[ROWS // 3] *= 1024
    weights = np.resize([1.0, 0.25, 1.0, 0.5], ROWS) if weighted else np.ones(ROWS)
    return np.hstack([x, np.ones((ROWS, 1))]), np.where(score > 0, 1, -1), weights


def ours(program, folder, x, y, weights, *flags):
    with open(folder / "rows.csv", "w") as out:
        out.write("y,c," + ",".join(f"x{i}" for i in range(FEATURES)) + "\n")
        for row, label, weight in zip(x, y, weights):
            cells = ",".join(repr(float(v)) if v else "" for v in row[:-1])
            out.write(f"{float(label)!r},{float(weight)!r},{cells}\n")
    run = [program, "learn", folder / "rows.csv", "--label", "y", "--weight", "c", "--learner", "auto", "--json", "-",
           "--quiet", *flags]
    return json.loads(subprocess.run(list(map(str, run)), check=True, capture_output=True, text=True).stdout)


def main():
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for seed, weighted, tracking in ((1, False, "no"), (2, True, "no"), (3, False, "yes"), (4, True, "yes")):
            x, y, weights = stream(seed, weighted)
            told = ours(sys.argv[1], pathlib.Path(folder), x, y, weights, "--loss", "logistic", "--tracking", tracking)
            pool = Pool(FEATURES + 1, tracking == "yes")
            mixture = sum(c * pool.learn(row, label, c) for row, label, c in zip(x, y, weights))
            members = [member["average_loss"] for member in told["mixture"]["members"]]
            names = [member["name"] for member in told["mixture"]["members"]]
            n = weights.sum()
            for name, own, other in zip([*names, "mixture"], [*members, told["average_loss"]], [*pool.losses / n, mixture / n]):
                difference = abs(own / other - 1)
                good = difference <= TOLERANCE
                print(f"stream {seed}, tracking {tracking}, {name:14} {own:.9f} {difference:9.1e} {'agrees' if good else 'DIFFERS'}")
                if not good:
                    failed.append(name)
            excess = told["average_loss"] - min(members)
            if excess > told["mixture"]["excess_at_most"]:
                failed.append(f"the guarantee of stream {seed}: {excess} above the best member")
    sys.exit(f"{len(failed)} of the comparisons fail: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
