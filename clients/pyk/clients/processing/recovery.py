"""Carry out what follows after a handler has failed. On the consumer's event loop."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from pyk.clients.config import ClientConfig, ProducerConfig
from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.errors import (
    ClosedError,
    InvalidTimestampError,
    KafkaError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.processing.calls import described
from pyk.clients.processing.dead_letters import MOVING, attempts_before, due_at_ms, moved_headers
from pyk.clients.processing.failure_warnings import FailureWarnings
from pyk.clients.processing.jobs import Job
from pyk.clients.processing.options import DeadLetter
from pyk.clients.processing.results import ProducerRecord
from pyk.clients.processing.retries import CallAgain, MoveTo, RetryPolicy, after_failure
from pyk.clients.producer import AsyncProducer
from pyk.runtime import slotted

log = logging.getLogger(__name__)

# Seconds to find the topics of records that fail. Brokers that create topics may take some.
SECONDS_TO_FIND_TOPICS = 10.0
# Seconds between two warnings that records cannot be moved.
OUTAGE_WARNING_SECONDS = 60.0
WRONG_CLOCK = (
    "; is the clock of this host right, and message.timestamp.before.max.ms and .after.max.ms of "
    "the topic?"
)


class Recovery:
    """Moves records that have failed to retry topics and to the dead letters.

    The producer for that is made when it is first needed, with the connection and security options
    of the consumer.
    """

    def __init__(
        self,
        core: ReadingCore,
        policy: RetryPolicy,
        dead_letter: DeadLetter | None,
        *,
        is_ending: Callable[[], bool],
        writes_later: bool = False,
    ) -> None:
        self._core = core
        self._policy = policy
        self._dead_letter = dead_letter
        self._is_ending = is_ending
        """Tells whether the call is to end, so that nothing is tried again."""
        self._writes_later = writes_later
        """Whether moved records are results, which a transaction writes."""
        self._producer: AsyncProducer[Any, Any] | None = None
        self._warnings = FailureWarnings()
        self._outages = FailureWarnings(OUTAGE_WARNING_SECONDS)

    async def check_topics(self) -> None:
        """Raise if a topic of records that fail does not exist: now, not when the first one fails.

        Where brokers create topics that clients ask for, this creates it.
        """
        client = self._core.client
        deadline = client.clock.now() + SECONDS_TO_FIND_TOPICS
        for topic, purpose in self._topics().items():
            try:
                await client.topics.find(topic, deadline)
            except KafkaTimeoutError as late:
                if isinstance(late.__cause__, UnknownTopicOrPartitionError):
                    raise _missing(topic, purpose) from late
                log.warning("Not known whether the %s exists: %s", purpose, late)
            except ClosedError:  # the next poll tells
                return

    def _topics(self) -> dict[str, str]:
        """Return what each topic is for to which records are moved."""
        topics = {topic: f"retry topic {topic!r}" for topic in self._policy.topics}
        if isinstance(self._dead_letter, str):
            topics[self._dead_letter] = f"dead letter topic {self._dead_letter!r}"
        return topics

    def seconds_until_due(self, job: Job) -> float:
        """Return how long a record of a retry topic has to wait still; 0.0 for other records."""
        if job.attempts or job.record.topic not in self._policy.topics:
            return 0.0
        due_ms = max(due_at_ms(member.record) for member in job.members)
        return max(0, due_ms - self._core.client.clock.time_ms()) / 1000

    async def recover(self, job: Job, error: Exception) -> float | None:
        """Do what follows after a failure: return the seconds until the handler is to be called
        again, None if the record was moved.

        Raises ``error`` if the record has nowhere to go, and what keeps it from being moved.
        """
        record, client = job.record, self._core.client
        chance = client.random.random()
        action = after_failure(self._policy, record.topic, job.attempts, error, chance)
        if isinstance(action, CallAgain):
            self._warn(job, error, f"called again in {action.seconds:.1f} s")
            return action.seconds
        if job.mates:  # until it is known which of its records fail
            job.split()
            return 0.0
        if isinstance(action, MoveTo):
            due_ms = client.clock.time_ms() + int(action.seconds * 1000)
            await self._move(job, action.topic, error, due_ms)
            self._warn(job, error, f"moved to retry topic {action.topic!r}")
        else:
            await self.put_aside(job, error)
        return None

    async def put_aside(self, job: Job, error: Exception) -> None:
        """Move the records of a job to the dead letters; raise ``error`` if there are none.

        If it is one of them, or was moved before and cannot be written there, raise ``error``, too.
        """
        if self._dead_letter is None or job.is_moved:
            raise error
        if self._dead_letter == job.record.topic:  # it would come back for ever
            error.add_note(f"not moved: {job.record.topic!r} itself is the dead letter topic")
            raise error
        job.results = ()
        if callable(self._dead_letter):
            # A batch has mates here if its handler has returned, and brokers refuse its results.
            for member in job.members:
                await _called(self._dead_letter, member.record, error)
        else:
            await self._move(job, self._dead_letter, error)
        self._warn(job, error, self._where_put_aside(job))

    def _where_put_aside(self, job: Job) -> str:
        """Say what has become of a record that was put aside."""
        if isinstance(self._dead_letter, str):
            return f"moved to dead letter topic {self._dead_letter!r}"
        return "given to dead_letter"

    def _warn(self, job: Job, error: Exception, following: str) -> None:
        """Log a failure, and what follows, if it is time for another warning."""
        others = self._warnings.take_warning(self._core.client.clock.now())
        if others is None:
            return
        more = f" ({others} more failed since the last warning)" if others else ""
        # Its text only: handlers of logs may keep what they get, and the error keeps the consumer.
        text = repr(error)
        log.warning("A handler failed for %s; %s%s: %s", described(job), following, more, text)

    async def _move(
        self, job: Job, topic: str, error: Exception, due_ms: int | None = None
    ) -> None:
        """Write the records of a job to another topic, now or as its results."""
        moved = []
        for member in job.members:
            record = member.record
            attempts = job.attempts + attempts_before(record)
            headers = moved_headers(record, error, attempts, due_ms)
            moved.append(ProducerRecord(topic, record.value, record.key, headers=headers))
        if self._writes_later:
            job.results, job.is_moved = moved, True
            return
        if self._producer is None:
            self._producer = _producer_for(self._core)
        for one in moved:
            await self._write(self._producer, one, job)
        log.debug("Moved %s to %s", described(job), topic)

    async def _write(
        self, producer: AsyncProducer[Any, Any], record: ProducerRecord, job: Job
    ) -> None:
        """Write a record of a job to another topic, however long brokers are away."""
        client, failures = self._core.client, 0
        while True:
            try:
                await producer.send_and_wait(
                    record.topic, record.value, record.key, headers=record.headers
                )
            except KafkaError as error:
                if self._is_ending() or job.partition.is_cancelled or not _may_pass(error):
                    raise
                if self._outages.take_warning(client.clock.now()) is not None:
                    what = described(job).capitalize()
                    is_about_clock = isinstance(error, InvalidTimestampError)
                    why = f"{error}{WRONG_CLOCK}" if is_about_clock else error
                    log.warning("%s is not moved to %r yet: %s", what, record.topic, why)
                failures += 1
                await asyncio.sleep(client.retry_backoff.delay(failures, client.random.random()))
            else:
                return

    async def close(self) -> None:
        """Close the producer, if there is one."""
        others = self._warnings.take_rest()
        if others:
            log.warning("Handlers failed %d more times since the last warning", others)
        if self._producer is not None:
            await self._producer.close()


def _missing(topic: str, purpose: str) -> UnknownTopicOrPartitionError:
    return UnknownTopicOrPartitionError(
        f"the {purpose} of process() does not exist, and brokers did not create it: create it "
        "first",
        topic=topic,
    )


def _may_pass(error: KafkaError) -> bool:
    """Return whether a record that could not be moved may be moved later."""
    if isinstance(error, InvalidTimestampError):  # it gets the time at which it is moved
        return True
    causes = (error, error.__cause__)
    is_missing = any(isinstance(cause, UnknownTopicOrPartitionError) for cause in causes)
    return error.retriable and not error.fatal and not is_missing


def _producer_for(core: ReadingCore) -> AsyncProducer[Any, Any]:
    """Return a producer for the cluster of a consumer."""
    shared = (field.name for field in slotted.fields(ClientConfig))
    options = {name: getattr(core.config, name) for name in shared}
    config = ProducerConfig(**options, **MOVING)
    producer: AsyncProducer[Any, Any] = AsyncProducer.__new__(AsyncProducer)
    client = core.client
    producer._set_up(config, clock=client.clock, network=client.network, random=client.random)
    return producer


async def _called(
    function: Callable[[Any, Exception], object], record: Any, error: Exception
) -> None:
    waiting = function(record, error)
    if inspect.isawaitable(waiting):
        await waiting
