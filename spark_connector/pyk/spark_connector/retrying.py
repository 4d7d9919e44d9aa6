"""Retry calls of a cluster that does not answer. Pure: ``wait`` is an argument."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import attrs

from pyk.clients.errors import KafkaError
from pyk.spark_connector.errors import describe_error

log = logging.getLogger(__name__)

T = TypeVar("T")


@attrs.frozen
class RetryPolicy:
    """The number of attempts to make, and the seconds to wait between two of them.

    An attempt is one call of a client, which has a timeout of its own (``default.api.timeout.ms``)
    and retries until then. So a client that knows the cluster survives an outage of ``attempts``
    times that timeout; a client that has never connected, of ``attempts`` times ``interval``.
    """

    attempts: int
    interval: float

    @classmethod
    def lasting(cls, seconds: float, *, interval: float = 1.0) -> RetryPolicy:
        """Return the policy that retries for ``seconds`` if every attempt fails at once."""
        return cls(1 + int(seconds / interval), interval)

    def ask(self, what: str, ask: Callable[[], T], wait: Callable[[float], object]) -> T:
        """Return the result of the first attempt that succeeds; raise the error of the last one.

        An error that is not retriable is raised at once.
        """
        for attempt in range(1, self.attempts):
            try:
                return ask()
            except KafkaError as error:
                if not error.retriable:
                    raise
                log.warning(
                    "Cannot learn %s (attempt %d of %d), retrying in %g s: %s",
                    what,
                    attempt,
                    self.attempts,
                    self.interval,
                    describe_error(error),
                )
                wait(self.interval)
        return ask()
