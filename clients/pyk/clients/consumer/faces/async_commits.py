"""The commits of ``commit_async``, which nobody waits for: their outcomes are told in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, KafkaTimeoutError, StateError
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.runtime import slotted

log = logging.getLogger(__name__)

CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], KafkaError | None], object]


@slotted.define(eq=False)
class PendingCommit:
    """One commit, until its outcome is told."""

    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    callback: CommitCallback | None
    error: KafkaError | None = None
    is_done: bool = False

    def end(self, error: KafkaError | None) -> None:
        """Record the outcome; log a failure that no callback hears of."""
        self.error = error
        self.is_done = True
        if error is not None and self.callback is None:
            log.warning("commit_async failed: %s", error)

    def tell(self) -> object:
        """Call the callback, and return what it returned."""
        return None if self.callback is None else self.callback(self.offsets, self.error)


class AsyncCommits:
    """Runs commits in the background. The application takes their outcomes when it polls."""

    def __init__(self, client: Client, buffer: FetchBuffer) -> None:
        self._client = client
        self._buffer = buffer
        self._pending: deque[PendingCommit] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_empty(self) -> bool:
        """Return whether every outcome is told."""
        return not self._pending

    def begin(
        self,
        wanted: OffsetsToCommit,
        callback: CommitCallback | None,
        commit: Callable[[], Awaitable[None]],
    ) -> None:
        """Commit in the background; commits reach the group in the order of the calls."""
        pending = PendingCommit(wanted.offsets, callback)

        async def run() -> None:
            try:
                await commit()
            except KafkaError as error:
                pending.end(error)
            except Exception as bug:  # which ends the client; the others are told all the same
                pending.end(
                    StateError(
                        f"commit_async failed because of a bug in pyk: {bug!r}", definite=False
                    )
                )
                raise
            else:
                pending.end(None)
            finally:
                self._buffer.call_attention(EVENT)

        task = self._client.supervisor.spawn("commit without waiting", run())
        self._pending.append(pending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def take(self) -> PendingCommit | None:
        """Return the next commit to tell of: the oldest one, if its outcome is known."""
        return self._pending.popleft() if self._pending and self._pending[0].is_done else None

    async def settle(self, deadline: float) -> None:
        """Wait until the commits of calls before this one have ended, or for the deadline.

        A task begins only after the caller has gone on, who would overtake it otherwise.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(0.0, deadline - self._client.clock.now()))

    async def finish(self, deadline: float) -> list[PendingCommit]:
        """Wait for all commits, and return them; at the deadline some outcomes are unknown."""
        await self.settle(deadline)
        for pending in self._pending:
            if not pending.is_done:
                pending.end(
                    KafkaTimeoutError(
                        "the consumer was closed before the coordinator answered", definite=False
                    )
                )
        ended = list(self._pending)
        self._pending.clear()
        return ended
