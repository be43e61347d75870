"""Runs the commands of the ```console blocks in pages of docs/ and puts their output in place, or checks it.

    python3 scripts/transcripts.py target/release [--check] docs/tutorial.md ...

All blocks of a page run in one temporary folder, in order. In a block, lines that begin with `$ ` are commands; what
follows is their output (standard error and standard output). Times are not compared.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(command, folder, path):
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.rstrip("\n")


def refreshed(text, path):
    with tempfile.TemporaryDirectory() as folder:
        def block(match):
            lines = []
            for line in match.group(1).split("\n"):
                if line.startswith("$ "):
                    output = run(line[2:], folder, path)
                    lines += [line] + ([output] if output else [])
            return "```console\n" + "\n".join(lines) + "\n```"

        return re.sub(r"```console\n(.*?)\n```", block, text, flags=re.S)


def without_times(text):
    return re.sub(r"in [0-9.]+ s \([0-9]+/s\)|[0-9.]+ s\b|\"seconds\": [0-9.e-]+", "TIME", text)


def main():
    path = str(pathlib.Path(sys.argv[1]).resolve())
    check = "--check" in sys.argv
    wrong = []
    for page in [pathlib.Path(p) for p in sys.argv[2:] if not p.startswith("--")]:
        old = page.read_text()
        new = refreshed(old, path)
        if not check:
            if without_times(new) != without_times(old):
                page.write_text(new)
        elif without_times(new) != without_times(old):
            wrong.append(str(page))
        else:
            print(f"{page}: its transcripts are what the program prints")
    if wrong:
        sys.exit(f"transcripts differ from what the program prints: {', '.join(wrong)}; run scripts/transcripts.py")


if __name__ == "__main__":
    main()
