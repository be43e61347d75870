"""The learners against other programs that define them in the same way."""

import os
import pathlib
import subprocess
import sys

import pytest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "noregret-cli" / "tests" / "peers"


@pytest.mark.parametrize("script", sorted(path.name for path in PEERS.glob("*.py")))
def test_the_learners_agree_with_their_peers(script):
    done = subprocess.run([sys.executable, PEERS / script, os.environ["NOREGRET"]], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) > 10, "something was compared"
