"""Validate what a test asks of a cluster and its fault rules. Pure.

A rule that never matches would test nothing, and what a broker stumbles over later is hard to find.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyk.runtime.checked_arguments import checked_count, checked_finite, checked_text

LAST_SECOND = 253_402_300_799
"""The end of the year 9999, in seconds since 1970."""

_ENVIRONMENT = {
    "clock": ("Clock", "time_ms"),
    "network": ("Network", "listen"),
    "filesystem": ("FileSystem", "make_directory"),
    "random": ("Random", "getrandbits"),
}
"""The type of each argument, and a method that it has."""


def check_brokers(brokers: object) -> None:
    """Raise for a number of brokers that a cluster cannot have."""
    if checked_count(brokers, "brokers", lowest=0) != 1:
        raise ValueError(
            f"brokers={brokers}: this release runs clusters of one broker; use brokers=1"
        )


def checked_configs(given: object, what: str) -> Mapping[str, object]:
    """Return configurations by name; raise ``TypeError`` for anything else."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be {{name: value}}, not {given!r}")
    for name in given:
        checked_text(name, f"{what}: the name of a configuration")
    return given


def check_environment(clock: object, network: object, filesystem: object, random: object) -> None:
    """Raise ``TypeError`` for what a broker cannot run with; None means the default."""
    given = {"clock": clock, "network": network, "filesystem": filesystem, "random": random}
    for name, value in given.items():
        kind, method = _ENVIRONMENT[name]
        if value is not None and not hasattr(value, method):
            raise TypeError(f"{name} must be a {kind}, not {value!r}")


def check_node(node: object, nodes: int) -> None:
    """Raise unless a cluster of so many nodes has this one."""
    if checked_count(node, "node") >= nodes:
        known = ", ".join(map(str, range(nodes)))
        raise ValueError(f"no node {node}; nodes: {known}")


def check_skew(seconds: float, time_ms: int) -> None:
    """Raise unless a clock that shows ``time_ms`` may be set forward by so much: back if negative.

    Timestamps of records begin in 1970, and dates end with the year 9999.
    """
    shown = time_ms / 1000
    lowest, highest = -shown, LAST_SECOND - shown
    if not lowest <= checked_finite(seconds, "seconds") <= highest:
        raise ValueError(
            f"seconds must be from {lowest:.0f} to {highest:.0f}, so that the clock shows a time "
            f"from 1970 to 9999, not {seconds}"
        )


def check_criteria(names: dict[str, object], numbers: dict[str, object]) -> None:
    """Raise for what no request has: ``names`` are str, ``numbers`` ints, None if not given."""
    for what, name in names.items():
        if name is not None:
            checked_text(name, what)
    for what, number in numbers.items():
        if number is not None:
            checked_count(number, what)
