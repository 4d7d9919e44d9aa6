"""One thing that was checked. Pure."""

from __future__ import annotations

import enum
from typing import Any

from pyk.runtime import slotted


class Status(enum.Enum):
    """The outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    """It works, and may not always."""
    FAILED = "failed"


@slotted.frozen
class Finding:
    """What was checked, what was seen, what that means, and what to do about it."""

    check: str
    """``DNS``, ``TLS``, ``topic`` …"""
    subject: str
    """The address, topic or group."""
    status: Status
    seen: str
    meaning: str = ""
    advice: str = ""

    def form(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "check": self.check,
            "subject": self.subject,
            "status": self.status.value,
            "seen": self.seen,
            "meaning": self.meaning or None,
            "advice": self.advice or None,
        }

    def lines(self) -> list[str]:
        """Return it as text; what follows the first line is indented."""
        head = f"{self.check} {self.subject}: {self.seen}"
        notes = [("means", self.meaning), ("do", self.advice)]
        return [head, *(f"{word}: {text}" for word, text in notes if text)]


def ok(check: str, subject: str, seen: str) -> Finding:
    return Finding(check, subject, Status.OK, seen)


def warning(check: str, subject: str, seen: str, meaning: str, advice: str) -> Finding:
    return Finding(check, subject, Status.WARNING, seen, meaning, advice)


def failed(check: str, subject: str, seen: str, meaning: str, advice: str) -> Finding:
    return Finding(check, subject, Status.FAILED, seen, meaning, advice)
