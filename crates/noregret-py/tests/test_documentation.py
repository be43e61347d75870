"""The examples of the docstrings run."""

import doctest
import importlib

import pytest

import noregret


@pytest.mark.parametrize("name", ["noregret", "noregret._registry", "noregret.sklearn", "noregret.river"])
def test_examples_of_modules(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


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
