#!/usr/bin/env bash
# Builds the Python package as a wheel, installs it in an environment of its own under target/, and runs its tests and
# the examples of its documentation. Needs Rust, and Python 3.10 or later with venv; packages come from the package index.
set -euo pipefail
cd "$(dirname "$0")/.."
python=target/python/bin/python
scripts/wheel.sh target/python "maturin>=1.9,<2 numpy scipy scikit-learn>=1.6 river>=0.22 pandas polars pyarrow matplotlib vowpalwabbit nbclient ipykernel pytest hypothesis mypy"
# The types that are told are those there are.
"$python" -m mypy.stubtest --ignore-disjoint-bases noregret._noregret
# The command writes and reads the same model files.
cargo build --release --quiet -p noregret-cli
NOREGRET=$PWD/target/release/noregret "$python" -m pytest -q -p no:cacheprovider crates/noregret-py/tests \
  --ignore=crates/noregret-py/tests/spark \
  --doctest-glob='*.md' -o doctest_optionflags=ELLIPSIS docs/python.md "$@"
