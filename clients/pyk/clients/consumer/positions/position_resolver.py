"""Resolve unknown fetch positions."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection

from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.offset_lookup import OffsetLookup
from pyk.clients.consumer.positions.positions import FoundOffset, Positions
from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    KafkaError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

log = logging.getLogger(__name__)

# Used as a node id: the coordinator of the group, which may be any node.
COORDINATOR = -1

FetchCommitted = Callable[
    [Collection[TopicPartition], float],
    Awaitable[dict[TopicPartition, OffsetAndMetadata | None]],
]


class PositionResolver:
    """Asks the group, or the leaders, for unknown positions.

    ``fetch_committed`` asks the group, and leaves out partitions whose committed offset an open
    transaction may still change; it is None without a group. ``resets`` says whether positions
    that nothing is committed for are reset. Each kind of question to each
    node has a task of its own, so that none waits for another. ``on_answer`` is called after each
    answer.
    """

    def __init__(
        self,
        client: Client,
        partitions: AssignedPartitions,
        positions: Positions,
        writer: FetchWriter,
        lookup: OffsetLookup,
        *,
        fetch_committed: FetchCommitted | None,
        resets: bool,
    ) -> None:
        self.on_answer: Callable[[], None] = lambda: None
        self._client = client
        self._partitions = partitions
        self._positions = positions
        self._writer = writer
        self._lookup = lookup
        self._fetch_committed = fetch_committed
        self._resets = resets
        self._changed = asyncio.Event()
        self._asking: dict[tuple[PositionState, int], asyncio.Task[None]] = {}

    def ask(self) -> None:
        """Send the questions that are due, and request metadata if no node is known to ask."""
        self._ask(PositionState.COMMITTED, self._ask_group)
        self._ask(PositionState.RESET, self._ask_offsets)
        self._ask(PositionState.VALIDATE, self._ask_epochs)
        if self._partitions.lacks_leaders(self._client.metadata):
            self._client.metadata_keeper.request_update()

    def tell_waiters(self) -> None:
        """End the waits for a change."""
        self._changed.set()
        self._changed.clear()

    async def changed(self, deadline: float) -> None:
        """Wait for the next change of any position; raise ``TimeoutError`` at the deadline."""
        async with asyncio.timeout_at(deadline):
            await self._changed.wait()

    # -- questions ---------------------------------------------------------------------------------

    def _ask(
        self, state: PositionState, ask: Callable[[list[AssignedPartition]], Awaitable[None]]
    ) -> None:
        """Ask each node about its partitions in a state, unless it is being asked already.

        A silent node delays no other. Leaders can be asked only once metadata names them.
        """
        by_node: dict[int, list[AssignedPartition]] = defaultdict(list)
        for assigned in self._partitions.in_state(state, self._client.clock.now()):
            node = self._node_to_ask(state, assigned)
            if node is not None:
                by_node[node].append(assigned)
        for node, partitions in by_node.items():
            running = self._asking.get((state, node))
            if running is None or running.done():
                name = f"{state.value} ({len(partitions)} partitions)"
                resolving = self._resolve(state, ask, partitions)
                self._asking[state, node] = self._client.supervisor.spawn(name, resolving)

    def _node_to_ask(self, state: PositionState, assigned: AssignedPartition) -> int | None:
        """Return the node that knows the position, None while no such node is known."""
        if state is PositionState.COMMITTED:
            return COORDINATOR
        return self._client.metadata.leader(assigned.topic_partition)

    async def _resolve(
        self,
        state: PositionState,
        ask: Callable[[list[AssignedPartition]], Awaitable[None]],
        partitions: list[AssignedPartition],
    ) -> None:
        versions = [assigned.version for assigned in partitions]
        try:
            await ask(partitions)
        except KafkaError as error:
            for assigned, version in zip(partitions, versions, strict=True):
                self._failed(state, assigned, version, error)
        self.tell_waiters()
        self.on_answer()

    async def _ask_group(self, partitions: list[AssignedPartition]) -> None:
        assert self._fetch_committed is not None
        versions = {assigned.topic_partition: assigned.version for assigned in partitions}
        deadline = self._client.clock.now() + self._client.config.request_timeout_ms / 1000
        try:
            committed = await self._fetch_committed(list(versions), deadline)
        except TopicAuthorizationFailedError as error:
            await self._ask_group_for_others(partitions, error)
            return
        now = self._client.clock.now()
        for assigned in partitions:
            partition = assigned.topic_partition
            version = versions[partition]
            if partition not in committed:
                self._positions.found_unstable(assigned, version, now)
            elif committed[partition] is None and self._begins_new_topic(assigned, version):
                self._positions.seek_to(assigned, OffsetSpec.EARLIEST)
            else:
                self._positions.found_committed(assigned, version, committed[partition], now)

    def _begins_new_topic(self, assigned: AssignedPartition, version: int) -> bool:
        """Return whether all records are new to the consumer, whatever end the policy names: the
        topic was deleted and created again."""
        is_current = assigned.version == version and assigned.state is PositionState.COMMITTED
        return is_current and assigned.first_version > 0 and self._resets

    async def _ask_group_for_others(
        self, partitions: list[AssignedPartition], error: TopicAuthorizationFailedError
    ) -> None:
        """Keep a forbidden topic from stopping the others."""
        others = [
            assigned for assigned in partitions if assigned.topic_partition.topic != error.topic
        ]
        if error.topic is None or len(others) == len(partitions):
            raise error
        for assigned in partitions:
            if assigned not in others:
                self._failed(PositionState.COMMITTED, assigned, assigned.version, error)
        if others:
            await self._ask_group(others)

    async def _ask_offsets(self, partitions: list[AssignedPartition]) -> None:
        versions = {assigned.topic_partition: assigned.version for assigned in partitions}
        leader_epochs = self._leader_epochs(partitions)
        answers = await self._lookup.ask_ends({p.topic_partition: p.end for p in partitions})
        now = self._client.clock.now()
        for assigned in partitions:
            version, answer = versions[assigned.topic_partition], answers[assigned.topic_partition]
            if isinstance(answer, ListedOffset):
                leader_epoch = leader_epochs[assigned.topic_partition]
                found = FoundOffset(answer.offset, _or_unknown(answer.leader_epoch), leader_epoch)
                self._positions.found_offset(assigned, version, found, now)
            else:
                self._failed(PositionState.RESET, assigned, version, answer)

    async def _ask_epochs(self, partitions: list[AssignedPartition]) -> None:
        from pyk.clients.offsets import EpochQuestion  # asked after a change of leaders only

        versions = {assigned.topic_partition: assigned.version for assigned in partitions}
        leader_epochs = self._leader_epochs(partitions)
        questions = {
            p.topic_partition: EpochQuestion(p.fetched_epoch, leader_epochs[p.topic_partition])
            for p in partitions
        }
        answers = await self._lookup.ask_epoch_ends(questions)
        now = self._client.clock.now()
        for assigned in partitions:
            partition = assigned.topic_partition
            version, answer = versions[partition], answers[partition]
            leader_epoch = leader_epochs[partition]
            if isinstance(answer, KafkaError) and not isinstance(answer, UnsupportedVersionError):
                self._failed(PositionState.VALIDATE, assigned, version, answer)
            else:
                end = answer if isinstance(answer, int) else None
                self._positions.found_epoch_end(assigned, version, end, leader_epoch, now)
        if any(assigned.state is PositionState.VALIDATE for assigned in partitions):
            # Metadata may name a former leader that was cut off, and still believes that it leads.
            self._client.metadata_keeper.request_update()

    def _leader_epochs(self, partitions: list[AssignedPartition]) -> dict[TopicPartition, int]:
        image = self._client.metadata
        return {
            assigned.topic_partition: _or_unknown(image.leader_epoch(assigned.topic_partition))
            for assigned in partitions
        }

    def _failed(
        self, state: PositionState, assigned: AssignedPartition, version: int, error: KafkaError
    ) -> None:
        """Record that a position is still unknown, unless another node has answered since."""
        if assigned.state is not state or assigned.version != version:
            return
        self._positions.failed(assigned, version, error, self._client.clock.now())
        if not error.retriable:
            self._writer.fail(assigned.buffer, error)


def _or_unknown(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
