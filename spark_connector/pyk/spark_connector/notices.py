"""Log what a user should know of a query, once per process.

Spark creates readers and writers many times, a writer for every micro-batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)

_logged: set[str] = set()


def log_once(notices: Iterable[str]) -> None:
    """Log the sentences that this process has not logged yet, as one warning."""
    new = [notice for notice in notices if notice not in _logged]
    if new:
        _logged.update(new)
        log.warning("format('pyk'): %s", "; ".join(new))
