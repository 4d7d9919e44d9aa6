"""Decide when the next heartbeat is due, and when the session of a member is over. Pure."""

from __future__ import annotations


class Session:
    """The session of a member: every response of its coordinator extends it. Times in seconds."""

    def __init__(self, heartbeat_interval: float, timeout: float, now: float) -> None:
        self.next_heartbeat = now
        self.ends_at = now
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout

    def begin(self, now: float) -> None:
        """Begin: the coordinator has taken the member into a generation."""
        self.extend(now)
        self.heartbeat_sent(now)

    def extend(self, now: float) -> None:
        """Extend the session after a response of the coordinator."""
        self.ends_at = now + self._timeout

    def heartbeat_sent(self, now: float) -> None:
        """Wait for an interval until the next heartbeat."""
        self.next_heartbeat = now + self._heartbeat_interval
