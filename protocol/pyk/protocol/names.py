"""Kafka spells names in camel case, Python in snake case."""

from __future__ import annotations

import re
from functools import cache


def snake_case(name: str) -> str:
    """Return ``OffsetForLeaderEpoch`` as ``offset_for_leader_epoch``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@cache  # asked for each field of each message in JSON; there are only so many names
def camel_case(name: str) -> str:
    """Return ``offset_for_leader_epoch`` as ``OffsetForLeaderEpoch``."""
    return "".join(word.capitalize() for word in name.split("_"))
