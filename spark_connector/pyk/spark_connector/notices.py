"""What a user should know of a query, said once per process.

Spark makes readers and writers again and again, a writer for every micro-batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)

_told: set[str] = set()


def tell_once(notices: Iterable[str]) -> None:
    """Log those sentences as a warning that this process has not logged yet."""
    new = [notice for notice in notices if notice not in _told]
    if new:
        _told.update(new)
        log.warning("format('pyk'): %s", "; ".join(new))
