"""Runs every case in turn, round after round, so that all see the same machine. Prints for each case its best round (on
a machine that others use too, the one that was disturbed least) and the median of all; then what was to be reached."""
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

noregret, load, seconds, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp(dir=os.environ.get("BENCH_DATA"))
started = []


def wait(port):
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


def start(words, **more):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
    started.append(process)
    return process


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def put(address, name):
    request = urllib.request.Request(
        f"http://{address}/v1/models/{name}", method="PUT", data=b'{"loss": "logistic"}',
        headers={"content-type": "application/json"})
    urllib.request.urlopen(request).read()


def run(address, **flags):
    words = [load, "--address", address]
    for name, value in flags.items():
        words += [f"--{name}", str(value)]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def predict_while_learning(address, predict, learn, connections, batch):
    """Predictions by one process while another one teaches at a steady pace."""
    other = {}
    teach = threading.Thread(target=lambda: other.update(
        run(address, kind="learn", path=learn, connections=2, batch=batch, seconds=seconds)))
    teach.start()
    result = run(address, kind="predict", path=predict, connections=connections, batch=1, seconds=seconds, id="false" if "v1" in predict else "true")
    teach.join()
    result["learned_meanwhile_per_second"] = other.get("examples_per_second")
    return result


served = start([noregret, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--quiet"])
ours = re.search(r"http://(\S+)", served.stdout.readline()).group(1)
put(ours, "m")
port = free_port()
start([sys.executable, os.path.join(here, "flask_river.py"), str(port)])
theirs = f"127.0.0.1:{port}"
wait(port)
vw = None
try:
    import vowpalwabbit  # noqa: F401
    port = free_port()
    start([sys.executable, "-m", "vowpalwabbit", "--daemon", "--foreground", "--port", str(port), "--quiet",
           # Without --passes (or -d) the package never lets the daemon read.
           "--num_children", "1", "--passes", "1", "--loss_function", "logistic", "-b", "18"], cwd=folder)
    time.sleep(2)
    wait(port)
    vw = f"127.0.0.1:{port}"
except (ImportError, SystemExit) as error:
    print(f"Vowpal Wabbit's daemon is left out: {error}", file=sys.stderr)

m = "/v1/models/m/"
cases = {
    "noregret: learn, batches of 100": lambda: run(ours, kind="learn", path=m + "learn", connections=8, batch=100, seconds=seconds),
    "Flask + River: learn, batches of 100": lambda: run(theirs, kind="learn", path="/learn", connections=8, batch=100, seconds=seconds),
    "noregret: learn, one a request, 64 connections": lambda: run(ours, kind="learn", path=m + "learn", connections=64, batch=1, seconds=seconds),
    "Flask + River: learn, one a request, 64 connections": lambda: run(theirs, kind="learn", path="/learn", connections=64, batch=1, seconds=seconds),
    "noregret: predict while learning": lambda: predict_while_learning(ours, m + "predict", m + "learn", 32, 10),
    "noregret: predict with ids": lambda: run(ours, kind="predict", path=m + "predict", connections=32, batch=1, seconds=seconds),
    "Flask + River: predict while learning": lambda: predict_while_learning(theirs, "/predict", "/learn", 32, 10),
}
if vw:
    cases["VW daemon (keeps nothing): learn, batches of 100"] = lambda: run(vw, kind="learn", protocol="vw", connections=1, batch=100, seconds=seconds)
    cases["VW daemon (keeps nothing): learn, one at a time"] = lambda: run(vw, kind="learn", protocol="vw", connections=1, batch=1, seconds=seconds)
try:
    results = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            results[name].append(case())
    best = {name: max(runs, key=lambda r: r["examples_per_second"]) for name, runs in results.items()}
    print("| case | examples/s, best round | p50 ms | p99 ms | examples/s, median | errors |\n| --- | --- | --- | --- | --- | --- |")
    for name, runs in results.items():
        median = statistics.median(r["examples_per_second"] for r in runs)
        print(f"| {name} | {best[name]['examples_per_second']:,.0f} | {best[name]['p50_ms'] or 0:.2f} | "
              f"{best[name]['p99_ms'] or 0:.2f} | {median:,.0f} | {sum(r['errors'] for r in runs)} |")
    print("\n| what | to be reached | best round | times Flask + River |\n| --- | --- | --- | --- |")
    for case, wanted in [("learn, batches of 100", 20_000), ("learn, one a request, 64 connections", 3_000),
                         ("predict while learning", 15_000)]:
        ours_best, theirs_best = best[f"noregret: {case}"], best[f"Flask + River: {case}"]
        rate = ours_best["examples_per_second"]
        late = f", p99 {ours_best['p99_ms']:.1f} ms (below 10)" if case.startswith("predict") else ""
        print(f"| {case} | {wanted:,}/s | {rate:,.0f}/s{late} | {rate / theirs_best['examples_per_second']:.1f} (10) |")
    print(json.dumps(results), file=sys.stderr)
finally:
    for process in started:
        process.terminate()
    for process in started:
        process.wait(timeout=30)
    shutil.rmtree(folder, ignore_errors=True)
