"""The checks, one idea a module; each takes facts and yields anomalies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pykcheck.anomaly import Anomaly, Facts

from .aborted_read import aborted_read
from .dirty_write import dirty_write
from .duplicated import duplicated
from .information_cycle import information_cycle
from .intermediate_read import intermediate_read
from .invented import invented
from .lost import lost
from .reading_order import reading_order
from .real_time_order import real_time_order
from .reordered import reordered
from .shared_offset import shared_offset
from .stale_commit import stale_commit
from .torn import torn
from .unstable_read import unstable_read

Check = Callable[[Facts], Iterator[Anomaly]]

CHECKS: tuple[Check, ...] = (
    lost,
    torn,
    duplicated,
    reordered,
    real_time_order,
    shared_offset,
    invented,
    aborted_read,
    intermediate_read,
    information_cycle,
    dirty_write,
    unstable_read,
    reading_order,
    stale_commit,
)

ANOMALIES = (
    "lost",
    "torn",
    "duplicated",
    "reordered",
    "real-time order",
    "shared offset",
    "invented",
    "G0 dirty write",
    "G1a aborted read",
    "G1b intermediate read",
    "G1c cycle",
    "unstable read",
    "skipped",
    "reread",
    "stale commit",
)
"""The classes of anomalies, as reports count them."""

__all__ = ["ANOMALIES", "CHECKS", "Check"]
