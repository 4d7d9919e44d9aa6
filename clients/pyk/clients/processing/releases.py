"""Stop handlers when the group takes partitions away, and when the consumer closes.

On the consumer's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection
from contextlib import AbstractContextManager

from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Lose
from pyk.clients.processing.calls import described
from pyk.clients.processing.jobs import Jobs, PartitionJobs
from pyk.clients.processing.recovery import Recovery
from pyk.clients.processing.runner import Runner
from pyk.clients.processing.transactions import ResultTransactions
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted

log = logging.getLogger(__name__)

# The part of its time in a rebalance that a member gives handlers of revoked partitions to finish.
# The group waits for it for max_poll_interval_ms, of which a heartbeat interval may have passed
# before it knows. After that the group goes on without it, and nothing can be committed.
PATIENCE = 0.8
# Seconds that the group waits for handlers before a warning names them.
TOLD_AFTER_SECONDS = 10.0
# How many records that warning names.
MOST_NAMED = 5
# Seconds between two looks whether a partition that is waited for was lost.
LOOK_INTERVAL = 0.1


class Releases:
    """What the consumer tells the handlers of one ``process()``. ``lock`` guards ``jobs``."""

    def __init__(
        self,
        core: ConsumerCore,
        jobs: Jobs,
        runner: Runner,
        lock: AbstractContextManager[object],
        *,
        recovery: Recovery,
        transactions: ResultTransactions | None,
    ) -> None:
        self._core = core
        self._jobs = jobs
        self._runner = runner
        self._lock = lock
        self._recovery = recovery
        self._transactions = transactions
        self._stopped = asyncio.Event()
        longest_ms = core.config.max_poll_interval_ms - core.config.heartbeat_interval_ms
        self.patience = PATIENCE * max(longest_ms, 0) / 1000
        """Seconds that handlers of revoked partitions have to finish."""

    async def release(self, event: ApplicationEvent) -> None:
        """Stop the handlers of partitions that go.

        Those of revoked partitions may finish, as long as the group waits for this member; what
        they finish is committed. Those of lost partitions are cancelled.
        """
        if isinstance(event, Assign):
            return
        with self._lock:
            closing = self._jobs.close(event.partitions)
        if not isinstance(event, Lose):
            deadline = self._core.client.clock.now() + self.patience
            await self._finish(closing, event.partitions, deadline)
        self._cancel(closing)

    async def _finish(
        self, closing: list[PartitionJobs], partitions: Collection[TopicPartition], deadline: float
    ) -> None:
        """Wait for the handlers of partitions, and commit what they finish.

        They may have finished records also while the commit before this event was under way.
        """
        await self._wait(closing, deadline)
        if self._transactions is not None:
            await self._transactions.flush(partitions, deadline)
        elif self._core.group is not None:
            await self._core.group.commits.commit_finished(partitions)

    async def _wait(self, closing: list[PartitionJobs], deadline: float) -> None:
        now = self._core.client.clock.now
        told_at = now() + TOLD_AFTER_SECONDS
        while any(p.running and not p.assignment.is_lost for p in closing):
            left = deadline - now()
            if left <= 0 or self._core.is_closed:
                return
            if now() >= told_at:
                self._tell_what_holds_up_the_group(closing, left)
                told_at = float("inf")
            self._stopped.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_INTERVAL)):
                    await self._stopped.wait()

    def _tell_what_holds_up_the_group(self, closing: list[PartitionJobs], left: float) -> None:
        with self._lock:
            running = [job for partition in closing for job in partition.running]
        log.warning(
            "The group waits for %s of partitions that it takes away, for at most %.0f s more: %s",
            counted(len(running), "handler"),
            left,
            ", ".join(described(job) for job in running[:MOST_NAMED]),
        )

    def _cancel(self, closing: list[PartitionJobs]) -> None:
        with self._lock:
            self._jobs.forget(closing)
            running = [job for partition in closing for job in partition.running]
        if running:
            names = ", ".join(sorted({str(job.partition.topic_partition) for job in running}))
            log.warning("Cancelled %d handlers of %s, which went away", len(running), names)
            self._runner.cancel(running)

    def job_stopped(self) -> None:
        """Note that a job of a partition that closes does not run any more."""
        self._stopped.set()

    async def consumer_closes(self, deadline: float) -> None:
        """Write what is done before the consumer is closed; handlers are not waited for."""
        with self._lock:
            self._jobs.is_stopping = True
        if self._transactions is not None:
            await self._transactions.close(deadline)
        await self._recovery.close()
