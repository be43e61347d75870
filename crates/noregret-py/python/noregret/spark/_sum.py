"""Sums that remember what was rounded away."""

from __future__ import annotations

Sum = tuple[float, float]


def add(a: Sum, b: Sum) -> Sum:
    """The sum of two sums: the rounding of the first parts, which is known exactly (Knuth), joins the second ones."""
    high = a[0] + b[0]
    t = high - a[0]
    return high, a[1] + b[1] + ((a[0] - (high - t)) + (b[0] - t))


def at_most(total: Sum) -> float:
    """A number that the sum does not exceed."""
    value = total[0] + total[1]
    return value + 8 * 2.0**-53 * (abs(value) + abs(total[1]))
