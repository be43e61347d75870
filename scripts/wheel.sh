#!/usr/bin/env bash
# usage: scripts/wheel.sh ENVIRONMENT PACKAGES    makes a Python environment with these packages (maturin among them), builds
# the package as a wheel and installs it there. Packages come from the package index, once.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$1 wanted=$2
python=$environment/bin/python
[ -x "$python" ] || python3 -m venv "$environment"
if [ "$(cat "$environment/wanted" 2>/dev/null)" != "$wanted" ]; then
  # shellcheck disable=SC2086 # a list of words
  "$python" -m pip install --quiet --disable-pip-version-check $wanted
  echo "$wanted" >"$environment/wanted"
fi
rm -rf target/wheels
PATH="$PWD/$environment/bin:$PATH" "$python" -m maturin build --release --quiet \
  --manifest-path crates/noregret-py/Cargo.toml --target-dir target --out target/wheels --interpreter "$python"
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/noregret-*.whl
