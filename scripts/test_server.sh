#!/usr/bin/env bash
# Lets schemathesis ask the server everything that its OpenAPI description allows, and much that it does not: no answer
# may be a 5xx. Needs Python 3; makes an environment of its own in target/. Usage: scripts/test_server.sh [NOREGRET]
set -euo pipefail
cd "$(dirname "$0")/.."
noregret=${1:-target/release/noregret}
venv=target/schemathesis
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import schemathesis' 2>/dev/null || "$venv/bin/pip" install -q 'schemathesis>=4,<5'
folder=$(mktemp -d)
"$noregret" serve --data "$folder/data" --listen 127.0.0.1:0 --log warn >"$folder/out" 2>"$folder/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do grep -q http "$folder/out" && break; sleep 0.1; done
address=$(grep -o 'http://[^ ]*' "$folder/out")
"$venv/bin/python" scripts/ask_everything.py "$address" "${NOREGRET_ASKED:-60}"
kill -0 "$server"
if grep -i panic "$folder/log"; then echo "the server panicked" >&2; exit 1; fi
