"""What the sessions of ``process()`` need of a driver."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from pyk.clients.processing.jobs import Job


class Runner(Protocol):
    """The driver that runs jobs, in tasks or in threads."""

    def wake(self) -> None:
        """Run what is ready now; called on the consumer's event loop."""
        ...

    def cancel(self, jobs: Collection[Job]) -> None:
        """Make jobs stop as soon as possible; they are not finished."""
        ...

    def fail(self, error: BaseException) -> None:
        """End the call with an error."""
        ...
