"""The examples of docstrings and READMEs run, and so does the notebook."""

import doctest
import importlib
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest
from river import datasets

import noregret

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What needs Spark is tried where Spark is: in tests/spark.
MODULES = ["noregret"] + [f"noregret.{module.name}" for module in pkgutil.iter_modules(noregret.__path__) if module.name != "spark"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)


def test_the_readme_has_an_example_of_each_form():
    text = "".join(blocks("README.md"))
    assert len(blocks("README.md")) == 4
    assert all(name in text for name in ("noregret.Learner", "noregret.sklearn", "noregret.river", "noregret.spark"))


PAGES = ("README.md", "crates/noregret-py/README.md")


@pytest.mark.parametrize("page, block", [(page, b) for page in PAGES for b in blocks(page) if "noregret.spark" not in b])
def test_examples_of_the_readmes(page, block, stream, capsys):
    names = {"X": stream[0], "y": stream[1], "dataset": datasets.Phishing().take(200)}
    exec(compile(block, page, "exec"), names)
    assert "certificate" in block


def test_the_notebook_gives_what_it_shows():
    command = [sys.executable, ROOT / "scripts" / "notebook.py", "--check", ROOT / "docs" / "tutorial.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("owner", [noregret.Learner, noregret.Certificate, noregret.Ledger])
def test_examples_of_the_extension(owner):
    examples = 0
    runner = doctest.DocTestRunner()
    for name, item in [(owner.__name__, owner), *vars(owner).items()]:
        text = getattr(item, "__doc__", None)
        if name.startswith("__") or not isinstance(text, str):
            continue
        test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
        examples += len(test.examples)
        assert runner.run(test).failed == 0, name
    assert examples > 0
    assert all(item.__doc__ for name, item in vars(owner).items() if not name.startswith("_")), "all is documented"
