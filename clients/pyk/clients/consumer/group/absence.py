"""Warn of an application that is busy for so long that its member leaves the group. Pure."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def warn_of_absence(group_id: str, seconds: float) -> None:
    """Log that a member leaves because its application has not polled for so many seconds."""
    log.warning(
        "Leaving group %s: the application has not asked for records for %.1f seconds, more "
        "than max_poll_interval_ms; it joins again when it does. Raise max_poll_interval_ms, "
        "or lower max_poll_records so that each poll is finished sooner",
        group_id,
        seconds,
    )
