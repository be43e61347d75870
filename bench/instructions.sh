#!/usr/bin/env bash
# Instructions that parsing and learning take, a feature: bench/instructions.sh FILE... (a few megabytes each; needs valgrind).
# Counts what happens inside the decoder and inside the rounds (hinge loss, certificate on): they do not depend on load.
set -euo pipefail
command=$(dirname "$0")/../target/release/noregret
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for file in "$@"; do
  valgrind --tool=callgrind --callgrind-out-file="$folder/calls" "$command" learn "$file" --loss hinge \
    --learner projected-ogd --threads 1 --quiet --json "$folder/summary" >"$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
  callgrind_annotate --inclusive=yes --threshold=100 "$folder/calls" >"$folder/table"
  python3 - "$file" "$folder" <<'PYTHON'
import json, re, sys
file, folder = sys.argv[1:]
features = json.load(open(folder + "/summary"))["nonzeros"]
def count(what):
    line = next(l for l in open(folder + "/table") if re.search(what, l))
    return int(line.split()[0].replace(",", "")) / features
print(f"{file}: {features} features; instructions a feature: parsing {count(r'Decoder>::decode( |$)'):.1f}, "
      f"learning {count(r'Machine>::learn_f32( |$)'):.1f}")
PYTHON
done
