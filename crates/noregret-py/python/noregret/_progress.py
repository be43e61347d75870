"""A bar for long reading, on standard error."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


class Bar:
    """Called with (bytes read, bytes in all or None, examples, average loss), draws where things stand.

    >>> import io
    >>> out = io.StringIO()
    >>> bar = Bar(out, clock=iter([0.0, 2.0]).__next__)
    >>> bar(50_000_000, 200_000_000, 1000, 0.25)
    >>> print(out.getvalue().strip())
    25%|#####               | 50.0 MB/200.0 MB [00:02<00:06, 25.0 MB/s, 1,000 examples, loss 0.250000]
    """

    WIDTH = 20

    def __init__(self, out: TextIO | None = None, clock: Any = time.monotonic):
        self.out = sys.stderr if out is None else out
        self.clock = clock
        self.began = clock()
        self.length = 0

    def __call__(self, done: int, total: int | None, examples: int, loss: float | None) -> None:
        spent = max(self.clock() - self.began, 1e-9)
        speed = f"{_size(done / spent)}/s, {examples:,} examples"
        if loss is not None:
            speed += f", loss {loss:.6f}"
        if total:
            part = min(done / total, 1.0)
            filled = ("#" * int(part * self.WIDTH)).ljust(self.WIDTH)
            left = _clock(spent * (1 - part) / part) if part > 0 else "?"
            line = f"{part:4.0%}|{filled}| {_size(done)}/{_size(total)} [{_clock(spent)}<{left}, {speed}]"
        else:
            line = f"{_size(done)} [{_clock(spent)}, {speed}]"
        self.out.write("\r" + line.ljust(self.length))
        self.out.flush()
        self.length = len(line)

    def close(self) -> None:
        if self.length:
            self.out.write("\n")
            self.out.flush()
