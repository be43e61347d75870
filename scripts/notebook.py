"""Runs a notebook of docs/ from its beginning and puts the outputs in place, or checks them.

    python3 scripts/notebook.py [--check] docs/tutorial.ipynb

Texts and tables are compared as they stand, pictures only by being there; numbers of examples a second are not compared.
Needs nbclient, ipykernel and what the notebook imports.
"""

import copy
import pathlib
import re
import sys

import nbformat
from nbclient import NotebookClient


def run(notebook):
    fresh = copy.deepcopy(notebook)
    NotebookClient(fresh, timeout=300, kernel_name="python3").execute()
    for cell in fresh.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            # Of a picture its pixels are enough, and of a table its cells.
            output.get("data", {}).pop("text/plain", None) if "image/png" in output.get("data", {}) else None
    fresh.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return fresh


def told(notebook):
    """What the cells print and show, as far as it must stay the same."""
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/html") or data.get("text/plain") or ", ".join(sorted(data))
            parts.append(re.sub(r"[0-9,]+(?=\s*(</td></tr>|$))", "N", "".join(text), flags=re.M) if "examples/s" in text else text)
    return parts


def main():
    for path in [pathlib.Path(p) for p in sys.argv[1:] if not p.startswith("--")]:
        old = nbformat.read(path, as_version=4)
        new = run(old)
        if "--check" not in sys.argv:
            nbformat.write(new, path)
        elif told(new) != told(old):
            wrong = [f"- {a}\n+ {b}" for a, b in zip(told(old), told(new)) if a != b]
            sys.exit(f"{path}: its outputs differ from what the program gives; run scripts/notebook.py\n" + "\n".join(wrong))
        else:
            print(f"{path}: its outputs are what the program gives")


if __name__ == "__main__":
    main()
