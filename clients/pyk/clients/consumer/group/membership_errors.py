"""When to raise what keeps a member out of its group."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.consumer.group.membership import Membership, is_final
from pyk.clients.errors import KafkaError


class MembershipErrors:
    """Raises the errors of a membership to its application; ``retry`` makes it join once more."""

    def __init__(
        self, membership: Membership, retry: Callable[[], None], now: Callable[[], float]
    ) -> None:
        self._membership = membership
        self._retry = retry
        self._now = now
        self._was_raised = False

    def raise_due(self) -> None:
        """Raise an error once, then try again; one that is final each time."""
        error = self._membership.error
        if error is None:
            self._was_raised = False
            self._raise_lasting_failure()
        elif self._was_raised and not is_final(error):
            self._was_raised = False
            self._retry()
        else:
            self._was_raised = True
            raise error.with_traceback(None)

    def _raise_lasting_failure(self) -> None:
        """Raise the error that keeps the member from joining, when it is time to tell the
        application."""
        if self._membership.standing.is_joining:
            lasting = self._membership.failures.take_error(self._now())
            if lasting is not None:
                raise lasting.with_traceback(None)

    def problem(self, now: float) -> KafkaError | None:
        """Return the error that has kept this member from its group for a while, None if there is
        none."""
        return self._membership.error or self._membership.failures.problem(now)
