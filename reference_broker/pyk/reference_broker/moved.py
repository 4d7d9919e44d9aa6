"""Partitions that moved, until the requests that wait for them are checked. Pure.

A partition may move in the middle of a decision, so waiting requests are not answered at that
point. They are checked when the requests at hand are handled and answered, in the same turn of the
event loop; in its next turn if something other than a request moved a partition.
"""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.topics import TopicPartition


class MovedPartitions:
    """Gathers partitions and gives them to ``check``, all at once."""

    def __init__(
        self,
        check: Callable[[list[TopicPartition]], None],
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self._check = check
        self._call_soon = call_soon
        self._names: dict[TopicPartition, None] = {}
        self._is_held = False

    def add(self, name: TopicPartition) -> None:
        """Check the requests that wait for a partition, soon."""
        if not self._names and not self._is_held:
            self._call_soon(self._check_all)
        self._names[name] = None

    def hold(self) -> None:
        """Gather until :meth:`release`, which must follow before the loop goes on."""
        self._is_held = True

    def release(self) -> None:
        """Check now what was gathered."""
        self._is_held = False
        if self._names:
            self._check_all()

    def _check_all(self) -> None:
        names, self._names = self._names, {}
        self._check(list(names))
