"""Check histories of Kafka clients for what must not happen.

This package stands alone: it imports nothing of pyk, and nothing but the standard library, so that
a bug in pyk cannot hide itself. ``README.md`` says what a history is, and what each check means.
"""

from __future__ import annotations

from .anomaly import Anomaly
from .checks import ANOMALIES
from .history import History, HistoryError, history_of, read_history
from .recorder import Recorder
from .report import Report, check

__all__ = [
    "ANOMALIES",
    "Anomaly",
    "History",
    "HistoryError",
    "Recorder",
    "Report",
    "check",
    "history_of",
    "read_history",
]
