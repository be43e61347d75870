"""The pool `auto` for the square loss against one written in numpy from its description, as `auto.py` does for the logistic.

    python3 crates/noregret-cli/tests/peers/auto_square.py target/release/noregret

Needs numpy. Labels are of size 1000, and the first one is small; with --label-bound the rate is a constant and there is a guarantee.
"""

import math
import pathlib
import sys
import tempfile

import numpy as np

from auto import FEATURES, TOLERANCE, Pool, ours, stream


class Hedge:
    """Exponential weights at a given rate, or at one from the mixability gap so far."""

    def __init__(self, n, rate):
        self.losses, self.weights, self.gap, self.rounds, self.given = np.zeros(n), np.full(n, 1 / n), 0.0, 0, rate

    def rate(self):
        mean = self.losses.mean() / max(1, self.rounds)
        return self.given or math.log(len(self.losses)) / max(1e-300, self.gap + 0.01 * mean)

    def learn(self, losses):
        rate, above = self.rate(), losses - losses.min()
        if not self.given:
            self.gap += max(0.0, self.weights @ above + math.log(self.weights @ np.exp(-rate * above)) / rate)
        self.rounds += 1
        self.losses = self.losses + losses
        self.weights = np.exp(-self.rate() * (self.losses - self.losses.min()))
        self.weights /= self.weights.sum()


class SquarePool(Pool):
    def __init__(self, d, tracking, bound):
        super().__init__(d, tracking)
        rate = 1 / (8 * bound**2) if bound else None
        self.members, self.deciding, self.bound = Hedge(6, rate), Hedge(3, rate), bound
        self.lowest, self.highest, self.size, self.steepest = 0.0, 0.0, 0.0, 0.0
        self.errors, self.rounds = 0.0, 0.0

    def within(self, z):
        return np.clip(z, -self.bound, self.bound) if self.bound else np.clip(z, self.lowest, self.highest)

    def note(self, y):
        first = self.t == 1
        self.lowest, self.highest = (y, y) if first else (min(self.lowest, y), max(self.highest, y))
        self.size = max(self.size, min(abs(y), 2 * self.size)) if self.size else abs(y)

    def learn(self, x, y, c):
        unseen = self.scale == 0
        v, self.scale, shrink = self.normalise(x)
        for sums, power in ((self.sums, 2), (self.precision, 2), (self.outcomes, 1), (self.sizes, 1)):
            sums *= shrink**power
        self.t += 1
        self.squares += v @ v
        mean, unit = self.squares / self.t, self.size or 1.0
        self.loosen(unseen & (self.scale > 0), shrink, math.sqrt(mean))
        bets = (16 + self.reward) * self.outcomes / (1 + self.sizes)
        margins = np.append(self.w @ v, bets @ v * unit / mean)
        z = self.within(margins)
        predicted = self.blend(z, y, c, unit)
        self.note(y)
        self.move(v, c, 2 * (margins - y), math.sqrt(mean), bets)
        return (predicted - y) ** 2

    def blend(self, z, y, c, unit):
        f = np.append(z / unit, 1.0)
        score, cf = self.beta @ f, self.covariance @ f
        variance, error = max(0.0, f @ cf), y / unit - score
        shared = self.share @ z
        ways = np.array([self.members.weights @ z, shared, self.within(score * unit)])
        predicted = shared if self.tracking else self.deciding.weights @ ways
        losses = c * (z - y) ** 2
        self.share = self.share * np.exp(-self.members.rate() * (losses - losses.min()))
        rate = 1 / (self.t + 1)
        self.share = (1 - rate) * self.share / self.share.sum() + rate / 6
        self.members.learn(losses)
        self.deciding.learn(c * (ways - y) ** 2)
        self.errors += c * (error * unit) ** 2
        self.rounds += c
        step = 1 / ((self.errors / unit**2 + 1e-6) / (self.rounds + 1) / c + variance)
        self.beta = self.beta + cf * error * step
        self.covariance -= np.outer(cf, cf) * step
        return predicted

    def move(self, v, c, slopes, root, bets):
        present, unit = v != 0, self.size or 1.0
        for k, eta in enumerate((0.5, 5.0, 50.0)):
            self.sums[k] += (c * slopes[k] * v) ** 2
            moving = present & (self.sums[k] > 0)
            steps = np.where(moving, eta * unit / root / np.sqrt(np.where(moving, self.sums[k], 1.0)), 0.0)
            self.w[k] -= c * slopes[k] / (1 + 2 * c * (steps @ v**2)) * steps * v
        for k, steps in ((3, self.together @ v), (4, np.where(present, 1 / (root / 10 + self.precision), 0.0) * v)):
            way = v @ steps
            self.w[k] -= c * slopes[k] / (1 + 2 * c * way) * steps
            if k == 3:
                self.together -= np.outer(steps, steps) * 2 * c / (1 + 2 * c * way)
        self.precision = np.where(present, 0.99 * self.precision + 2 * c * v**2, self.precision)
        self.steepest = max(self.steepest, c * abs(slopes[5]))
        tossed = -c * slopes[5] / (self.steepest or 1.0) * v
        self.reward += tossed * bets
        self.outcomes += tossed
        self.sizes += abs(tossed)


def main():
    failed = []
    cases = ((1, False, "no", None), (2, True, "no", None), (3, False, "yes", None), (4, True, "no", 4000.0))
    with tempfile.TemporaryDirectory() as folder:
        for seed, weighted, tracking, bound in cases:
            x, labels, weights = stream(seed, weighted)
            noise = np.random.default_rng(seed + 100).integers(-64, 65, len(labels)) / 64
            y = 500.0 * labels + 200.0 * noise
            y[0] = 3.0
            flags = ["--tracking", tracking, *(["--label-bound", bound] if bound else [])]
            told = ours(sys.argv[1], pathlib.Path(folder), x, y, weights, "--loss", "square", *flags)
            pool = SquarePool(FEATURES + 1, tracking == "yes", bound)
            mixture = sum(c * pool.learn(row, label, c) for row, label, c in zip(x, y, weights))
            members = {member["name"]: member["average_loss"] for member in told["mixture"]["members"]}
            n = weights.sum()
            own, other = [*members.values(), told["average_loss"]], [*pool.members.losses / n, mixture / n]
            for name, a, b in zip([*members, "mixture"], own, other):
                good = abs(a / b - 1) <= TOLERANCE
                print(f"stream {seed}, {' '.join(map(str, flags)):36} {name:14} {a:16.6f} {abs(a / b - 1):9.1e} {'agrees' if good else 'DIFFERS'}")
                if not good:
                    failed.append(name)
            most = told["mixture"]["excess_at_most"]
            if (most is None) != (bound is None) or (most and told["average_loss"] - min(members.values()) > most):
                failed.append(f"the guarantee of stream {seed}")
    sys.exit(f"{len(failed)} of the comparisons fail: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
