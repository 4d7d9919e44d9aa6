"""Validate what a test asks of a cluster and its fault rules. Pure.

A rule that never matches would test nothing, and what a broker stumbles over later is hard to find.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyk.runtime.checked_arguments import checked_count, checked_text

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


def check_criteria(names: dict[str, object], numbers: dict[str, object]) -> None:
    """Raise for what no request has: ``names`` are str, ``numbers`` ints, None if not given."""
    for what, name in names.items():
        if name is not None:
            checked_text(name, what)
    for what, number in numbers.items():
        if number is not None:
            checked_count(number, what)
