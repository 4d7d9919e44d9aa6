"""What an application asks of ``process()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyk.clients.config import ConsumerConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.processing.handler_checks import check_dead_letter, check_handler, check_seconds
from pyk.clients.processing.jobs import Ordering
from pyk.clients.processing.result_producer import ProducerKind, ResultProducer, result_producer
from pyk.clients.processing.retries import NO_RETRIES, RetryPolicy
from pyk.runtime import slotted
from pyk.runtime.checked_arguments import checked_count

DeadLetter = str | Callable[[Any, Exception], object]
"""A topic, or what is called with a record and the error of its handler."""


@slotted.frozen(kw_only=True)
class HandlerOptions:
    """The handler of ``process()``, and how it is called. Raises for what is out of range."""

    handler: Callable[[Any], Any]
    concurrency: int
    ordering: Ordering
    deadline: float | None
    """Seconds that a call of the handler may take."""
    retry: RetryPolicy = NO_RETRIES
    dead_letter: DeadLetter | None = None
    producer: ResultProducer | None = None
    batch_size: int | None = None
    """How many records a call gets at most; None for one, which is not in a batch."""

    def longest_call(self, max_poll_interval_ms: int) -> float:
        """Return after how many seconds a call counts as one that does not return."""
        return self.deadline or max_poll_interval_ms / 1000

    @property
    def recovers(self) -> bool:
        """Whether a failure of a handler may be anything but the end."""
        return self.retry is not NO_RETRIES or self.dead_letter is not None

    @property
    def is_simple(self) -> bool:
        """Whether all there is to do with a record is one call of the handler."""
        return not self.recovers and self.producer is None

    @classmethod
    def checked(
        cls,
        handler: Callable[[Any], Any],
        *,
        concurrency: int,
        ordering: str,
        deadline: float | None,
        retry: RetryPolicy | None = None,
        dead_letter: DeadLetter | None = None,
        producer: Any = None,
        max_records: int | None = None,
        kind: ProducerKind,
        config: ConsumerConfig,
    ) -> HandlerOptions:
        check_handler(handler, is_batch=max_records is not None, returns=producer is not None)
        orders = [one.value for one in Ordering]
        if ordering not in orders:
            raise ValueError(f"ordering must be one of {', '.join(orders)}, not {ordering!r}")
        check_seconds(deadline)
        if retry is not None and not isinstance(retry, RetryPolicy):
            raise TypeError(f"retry must be a RetryPolicy, not {type(retry).__name__}")
        check_dead_letter(dead_letter, retry.topics if retry else ())
        if config.group_id is None:
            raise ConfigurationError(
                "process() commits what handlers have finished, which a consumer without group_id "
                "cannot do: give it a group_id, or read with poll()"
            )
        return cls(
            handler=handler,
            concurrency=checked_count(concurrency, "concurrency", lowest=1),
            ordering=Ordering(ordering),
            deadline=deadline,
            retry=retry or NO_RETRIES,
            dead_letter=dead_letter,
            producer=result_producer(producer, kind, config),
            batch_size=(
                None if max_records is None else checked_count(max_records, "max_records", lowest=1)
            ),
        )
