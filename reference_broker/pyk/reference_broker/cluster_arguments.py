"""Validate what a test asks of a cluster and its fault rules. Pure.

A rule that never matches would test nothing, and what a broker stumbles over later is hard to find.
"""

from __future__ import annotations

from pyk.runtime.checked_arguments import checked_count, checked_text


def check_criteria(names: dict[str, object], numbers: dict[str, object]) -> None:
    """Raise for what no request has: ``names`` are str, ``numbers`` ints, None if not given."""
    for what, name in names.items():
        if name is not None:
            checked_text(name, what)
    for what, number in numbers.items():
        if number is not None:
            checked_count(number, what)
