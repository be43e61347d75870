#!/usr/bin/env python3
"""The audit beside LIBLINEAR: the same logistic problem, CPU time of the whole process, runs taken in turns.

usage: audit.py DATA.svm [--radius 30] [--repeat 3] [--noregret target/release/noregret]

Needs LIBLINEAR (Debian: liblinear-tools). First the audit finds the multiplier of the ball; LIBLINEAR -s 0 then solves
the penalised problem with that multiplier (-c 1/multiplier, -B 1), its -e lowered until its objective is within 1e-3 of
the lower bound that the audit certifies for the same penalised problem.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import tempfile


def run(command):
    """Seconds of CPU, and what was said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--radius", default="30")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--noregret", default="target/release/noregret")
    parser.add_argument("--liblinear", default="liblinear-train")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = os.path.join(folder, "audit.json")
        audit = [given.noregret, "audit", given.data, "--loss", "logistic", "--radius", given.radius, "--quiet", "--json", found]
        run(audit)
        ball = json.load(open(found))
        n, multiplier = ball["weight"], ball["multiplier"]
        print(f"best in the ball: {ball['best']['at_least']:.6f} .. {ball['best']['at_most']:.6f}, multiplier {multiplier:.4f}")
        run([given.noregret, "audit", given.data, "--loss", "logistic", "--comparator", "ridge", "--l2", repr(multiplier / n),
             "--tolerance", "1e-5", "--quiet", "--json", found])
        least = json.load(open(found))["best"]["at_least"]
        print(f"penalised minimum: at least {least:.6f}")
        solve = None
        for e in ["0.1", "0.03", "0.01", "0.003", "0.001", "0.0003", "0.0001"]:
            solve = [given.liblinear, "-s", "0", "-c", repr(1 / multiplier), "-B", "1", "-e", e, given.data, os.path.join(folder, "model")]
            _, said = run(solve)
            # TRON prints f = |w|^2/2 + C sum of losses.
            value = float(re.findall(r" f (\S+)", said)[-1]) * multiplier / n
            # What is printed is the value before the last step: the model is a little better.
            print(f"LIBLINEAR -e {e}: {value:.6f}, {value / least - 1:.2e} above the bound")
            if value <= least * (1 + 1e-3):
                break
        times = {"noregret audit": [], "liblinear-train -s 0": []}
        for _ in range(given.repeat):
            times["noregret audit"].append(run(audit)[0])
            times["liblinear-train -s 0"].append(run(solve)[0])
        for name, seconds in times.items():
            print(f"{name:<22} CPU s: " + " ".join(f"{s:.2f}" for s in seconds) + f"   best {min(seconds):.2f}")


main()
