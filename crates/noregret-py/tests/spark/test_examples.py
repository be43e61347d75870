"""The examples of docstrings and of the README run inside Spark."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest
from conftest import frame

import noregret.spark

ROOT = pathlib.Path(__file__).resolve().parents[4]
MODULES = ["noregret.spark"] + [f"noregret.spark.{module.name}" for module in pkgutil.iter_modules(noregret.spark.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_example_of_the_readme(spark, data):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    (block,) = [block for block in blocks if "noregret.spark" in block]
    names = {"frame": frame(spark, data.X, data.y, partitions=2)}
    exec(compile(block, "README.md", "exec"), names)
    assert names["model"].certificate.best_at_least <= names["model"].averageLoss
