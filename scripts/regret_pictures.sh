#!/usr/bin/env bash
# Makes the pictures and the table of docs/regret.md with the tool itself.
# usage: regret_pictures.sh [NOREGRET]   (default: target/release/noregret)
set -euo pipefail
cd "$(dirname "$0")/.."
noregret=$(realpath "${1:-target/release/noregret}")
out=$PWD/docs/regret
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cd "$work"

"$noregret" generate leader-fails --n 4096 > leader.svm
"$noregret" compare leader.svm --losses linear --no-bias --radius 1 --audit --quiet \
    --learners follow-the-leader,ftrl,projected-ogd --plot "$out/leader-fails.svg" --json leader.json

"$noregret" generate planted --n 100000 > planted.svm
"$noregret" compare planted.svm --losses logistic --audit --quiet \
    --learners projected-ogd:radius=5,strongly-convex-ogd:l2=0.05 --plot "$out/slopes.svg" --json slopes.json

for noise in 0 0.1; do
    "$noregret" generate planted --n 20000 --d 10 --noise $noise > p.svm
    "$noregret" learn p.svm --learner perceptron --json run.json --quiet
    "$noregret" audit p.svm --run run.json --radius 1,2,3,5,8,12,20,30,50,80,120,200 --quiet --json "mistakes-$noise.json" \
        --plot "$out/mistakes-$noise.svg"
done

"$noregret" learn planted.svm --learner projected-ogd --loss logistic --radius 5 --json run.json --quiet
"$noregret" audit planted.svm --run run.json --radius 0.625,1.25,2.5,5,10,20,40 --quiet --plot "$out/certificate.svg"

"$noregret" generate drift --n 100000 > drift.svm
"$noregret" generate rcv1-like --n 20000 > text.svm
echo "| stream | learner | loss | theorem | certificate | regret | certificate / regret |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for stream in planted drift text; do
    for learner in "projected-ogd --radius 10" "ftrl --radius 10" adagrad perceptron; do
        # shellcheck disable=SC2086
        "$noregret" learn $stream.svm --learner $learner --json run.json --quiet
        "$noregret" audit $stream.svm --run run.json --quiet --json audit.json
        python3 - "$stream" "$learner" <<'PYTHON'
import json, sys
run, audit = json.load(open("run.json")), json.load(open("audit.json"))
cell = lambda v: "–" if v is None else f"{v:.4f}"
regret = audit["regret"]
print("|", " | ".join([sys.argv[1], "`" + sys.argv[2] + "`", run["loss"], cell(run["bound"]["regret_at_most"]),
    cell(run["certificate"]["regret_at_most"]), f"{regret['at_least']:.4f} .. {regret['at_most']:.4f}",
    cell(audit["certificate_ratio"])[:-2] or "–"]), "|")
PYTHON
    done
done
