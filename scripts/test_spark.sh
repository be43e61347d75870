#!/usr/bin/env bash
# Runs the tests of the package inside Spark: on local[2], and on a cluster of one master and two workers on loopback. Builds
# the wheel anew, which costs little after scripts/test_python.sh; PySpark comes from the package index into an environment
# of its own under target/, Java 17 from Debian where it is missing (as root).
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v java >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1 || true
fi
if ! command -v java >/dev/null; then
  echo "Spark needs Java 17: install openjdk-17-jre-headless" >&2
  exit 1
fi
python=target/spark/bin/python
scripts/wheel.sh target/spark "pyspark[connect]>=4.1,<5 pyarrow pandas<3 numpy scipy maturin>=1.9,<2 pytest"
[ -x target/release/noregret ] || cargo build --release --quiet -p noregret-cli
NOREGRET=$PWD/target/release/noregret PYSPARK_PYTHON=$PWD/$python "$python" -m pytest -q -p no:cacheprovider \
  crates/noregret-py/tests/spark "$@"
