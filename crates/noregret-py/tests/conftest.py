"""Streams that the tests share."""

import signal

import numpy as np
import pytest

# Whoever runs the tests in the background may have them ignore ^C, which some of them send to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def stream():
    """300 rows of 20 features, four in ten of them not zero, with labels by a hidden hyperplane."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 20)) * (random.random((300, 20)) < 0.4)
    return X, np.where(X @ random.normal(size=20) > 0, 1, -1)
