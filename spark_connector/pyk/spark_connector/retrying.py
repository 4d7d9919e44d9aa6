"""Ask a cluster again while it cannot answer. Pure: how to wait is an argument."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import attrs

from pyk.clients.errors import KafkaError
from pyk.spark_connector.client_properties import describe_error

log = logging.getLogger(__name__)

T = TypeVar("T")


@attrs.frozen
class RetryPolicy:
    """How often to ask and how many seconds to wait in between.

    An attempt is one call of a client, which has a timeout of its own (``default.api.timeout.ms``)
    and tries again within it. So a client that knows the cluster lives through an outage of
    ``attempts`` times that timeout; one that has never reached it, of ``attempts`` times
    ``interval``.
    """

    attempts: int
    interval: float

    @classmethod
    def lasting(cls, seconds: float, *, interval: float = 1.0) -> RetryPolicy:
        """Return the policy that goes on for so many seconds if every attempt fails at once."""
        return cls(1 + int(seconds / interval), interval)

    def ask(self, what: str, ask: Callable[[], T], wait: Callable[[float], object]) -> T:
        """Return the first answer; raise what the last attempt raised.

        An error that asking again does not cure is raised at once.
        """
        for attempt in range(1, self.attempts):
            try:
                return ask()
            except KafkaError as error:
                if not error.retriable:
                    raise
                log.warning(
                    "Cannot learn %s (attempt %d of %d), asking again in %g s: %s",
                    what,
                    attempt,
                    self.attempts,
                    self.interval,
                    describe_error(error),
                )
                wait(self.interval)
        return ask()
