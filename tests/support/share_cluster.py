"""A share group as brokers keep it, small enough to read: for share consumers in virtual time.

Every partition of the topic ``orders`` has the batches that :meth:`ShareCluster.produce` appended,
and a state for each offset. All members are assigned all partitions. Locks run out, leaders move
and forget their locks, sessions count their epochs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import share_acknowledge, share_fetch
from pyk.protocol.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from pyk.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from pyk.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock
from support.record_batches import sealed
from support.scripted_broker import ScriptedCluster

E = ErrorCode
LOOK_SECONDS = 0.02
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


@attrs.define
class OffsetState:
    """One offset in the share group."""

    owner: str | None = None
    locked_until: float = 0.0
    deliveries: int = 0
    outcome: int | None = None
    """How it was acknowledged for good, None while it was not."""


class ShareCluster(ScriptedCluster):
    """Brokers with one share group; ``lock_seconds`` is how long records stay acquired."""

    def __init__(
        self,
        network: MemoryNetwork,
        *,
        nodes: int = 1,
        partitions: int = 1,
        lock_seconds: float = 30.0,
    ) -> None:
        super().__init__(network, nodes)
        self.lock_seconds = lock_seconds
        self.topic = self.add_topic("orders", [1 + n % nodes for n in range(partitions)], epoch=1)
        self.batches: list[list[tuple[int, int, bytes]]] = [[] for _ in range(partitions)]
        self.states: list[dict[int, OffsetState]] = [{} for _ in range(partitions)]
        self.sessions: dict[tuple[int, str], int] = {}
        self.members: dict[str, int] = {}
        self.final = Counter[tuple[int, int]]()
        """How often each partition and offset was acknowledged for good."""
        self.assigned = list(range(partitions))
        self.refusals: dict[int, ErrorCode] = {}
        """The error of all acknowledgements of a partition."""
        self.may_renew = True
        self._epoch = 0
        self.on(ShareGroupHeartbeatRequest, self._heartbeat)
        self.on(ShareFetchRequest, self._share_fetch)
        self.on(ShareAcknowledgeRequest, self._share_acknowledge)

    # -- what a test does --------------------------------------------------------------------------

    def produce(self, *values: bytes, partition: int = 0, gap: int = 0) -> None:
        """Append one batch, after ``gap`` offsets that have no record."""
        states = self.states[partition]
        base = len(states) + gap
        self.batches[partition].append(
            (base, base + len(values) - 1, sealed(*values, base_offset=base))
        )
        for offset in range(len(states), base + len(values)):
            states[offset] = OffsetState()

    def append(self, data: bytes, count: int, partition: int = 0) -> None:
        """Append the bytes of a batch, whatever they are."""
        base = len(self.states[partition])
        self.batches[partition].append((base, base + count - 1, data))
        for offset in range(base, base + count):
            self.states[partition][offset] = OffsetState()

    def move(self, partition: int, node_id: int) -> None:
        """Let another node lead a partition: the locks of the one before are gone."""
        self.topic.leaders[partition] = node_id
        self.topic.epochs[partition] += 1
        for state in self.states[partition].values():
            state.owner = None

    def lose_sessions(self, *, keeps_locks: bool = False) -> None:
        """Forget all share sessions, with what they have acquired."""
        self.sessions.clear()
        for states in self.states if not keeps_locks else ():
            for state in states.values():
                state.owner = None

    def fence(self) -> None:
        """Forget all members."""
        self.members.clear()
        self.lose_sessions()

    def outcomes(self, partition: int = 0) -> list[int | None]:
        """Return how each offset was acknowledged for good."""
        return [state.outcome for state in self.states[partition].values()]

    def held(self, partition: int = 0) -> list[int]:
        """Return the offsets that are locked now."""
        now = current_clock().now()
        return [
            offset
            for offset, state in self.states[partition].items()
            if state.owner is not None and state.locked_until > now and state.outcome is None
        ]

    # -- the group ---------------------------------------------------------------------------------

    def _heartbeat(self, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
        member = request.member_id
        if request.member_epoch == -1:
            self.members.pop(member, None)
            return ShareGroupHeartbeatResponse(member_id=member, member_epoch=-1)
        if request.member_epoch and member not in self.members:
            return ShareGroupHeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID)
        self._epoch += not request.member_epoch
        self.members[member] = self._epoch
        return ShareGroupHeartbeatResponse(
            member_id=member,
            member_epoch=self._epoch,
            heartbeat_interval_ms=1000,
            assignment=Assignment(
                topic_partitions=[
                    TopicPartitions(topic_id=self.topic.topic_id, partitions=self.assigned)
                ]
            ),
        )

    # -- sessions ----------------------------------------------------------------------------------

    def _session_error(self, node_id: int, member: str, epoch: int) -> ErrorCode:
        known = self.sessions.get((node_id, member))
        if epoch == 0:
            self.sessions[node_id, member] = 1
            return E.NONE
        if known is None:
            return E.SHARE_SESSION_NOT_FOUND
        if epoch == -1:
            del self.sessions[node_id, member]
            return E.NONE
        if epoch != known:
            return E.INVALID_SHARE_SESSION_EPOCH
        self.sessions[node_id, member] = epoch + 1
        return E.NONE

    def _release_all(self, node_id: int, member: str) -> None:
        for partition, states in enumerate(self.states):
            for state in states.values():
                if state.owner == member and self.topic.leaders[partition] == node_id:
                    state.owner = None

    # -- records -----------------------------------------------------------------------------------

    def _share_fetch(self, request: ShareFetchRequest) -> Awaitable[ShareFetchResponse]:
        return self._fetch_at(self.received[-1].node_id, request)

    async def _fetch_at(self, node_id: int, request: ShareFetchRequest) -> ShareFetchResponse:
        member = str(request.member_id)
        error = self._session_error(node_id, member, request.share_session_epoch)
        if error is not E.NONE:
            return ShareFetchResponse(error_code=error)
        acknowledged = {
            one.partition_index: self._apply(node_id, member, one)
            for topic in request.topics
            for one in topic.partitions
            if one.acknowledgement_batches
        }
        forgotten = {n for topic in request.forgotten_topics_data for n in topic.partitions}
        mine = [n for n in self.assigned if n not in forgotten]
        until = current_clock().now() + request.max_wait_ms / 1000
        while not (found := self._acquire(node_id, member, mine, request.max_records)):
            if current_clock().now() >= until:
                break
            await asyncio.sleep(LOOK_SECONDS)
        partitions = {n: found.get(n) or _nothing(n) for n in {*found, *acknowledged}}
        for number, code in acknowledged.items():
            partitions[number].acknowledge_error_code = code
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=round(self.lock_seconds * 1000),
            responses=[
                share_fetch.ShareFetchableTopicResponse(
                    topic_id=self.topic.topic_id, partitions=list(partitions.values())
                )
            ],
        )

    def _acquire(
        self, node_id: int, member: str, partitions: list[int], max_records: int
    ) -> dict[int, share_fetch.PartitionData]:
        now, found = current_clock().now(), {}
        for number in partitions:
            if self.topic.leaders[number] != node_id:
                found[number] = _nothing(number, E.NOT_LEADER_OR_FOLLOWER)
                continue
            data, acquired = b"", list[tuple[int, OffsetState]]()
            for _, last, batch in self.batches[number]:
                free = [
                    (offset, state)
                    for offset, state in self._offsets_up_to(number, last, acquired)
                    if state.outcome is None and (state.owner is None or state.locked_until <= now)
                ]
                if free and len(acquired) < max_records:
                    data += batch
                    acquired += free
            for _, state in acquired:
                state.owner, state.locked_until = member, now + self.lock_seconds
                state.deliveries += 1
            if acquired:
                found[number] = _nothing(number)
                found[number].records = memoryview(data)
                found[number].acquired_records = [
                    share_fetch.AcquiredRecords(
                        first_offset=offset, last_offset=offset, delivery_count=state.deliveries
                    )
                    for offset, state in acquired
                ]
        return found

    def _offsets_up_to(
        self, number: int, last: int, acquired: Any
    ) -> list[tuple[int, OffsetState]]:
        taken = {offset for offset, _ in acquired}
        states = self.states[number]
        return [(o, states[o]) for o in states if o <= last and o not in taken]

    def _share_acknowledge(self, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
        node_id, member = self.received[-1].node_id, str(request.member_id)
        error = self._session_error(node_id, member, request.share_session_epoch)
        if error is not E.NONE:
            return ShareAcknowledgeResponse(error_code=error)
        answered = [
            share_acknowledge.PartitionData(
                partition_index=one.partition_index, error_code=self._apply(node_id, member, one)
            )
            for topic in request.topics
            for one in topic.partitions
        ]
        if request.share_session_epoch == -1:
            self._release_all(node_id, member)
        return ShareAcknowledgeResponse(
            acquisition_lock_timeout_ms=round(self.lock_seconds * 1000),
            responses=[
                share_acknowledge.ShareAcknowledgeTopicResponse(
                    topic_id=self.topic.topic_id, partitions=answered
                )
            ],
        )

    def _apply(self, node_id: int, member: str, one: Any) -> ErrorCode:
        """Acknowledge in one partition, all or nothing."""
        number, now = one.partition_index, current_clock().now()
        if self.topic.leaders[number] != node_id:
            return E.NOT_LEADER_OR_FOLLOWER
        if number in self.refusals:
            return self.refusals[number]
        kinds = {
            offset: batch.acknowledge_types[0]
            for batch in one.acknowledgement_batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        states = self.states[number]
        for offset, kind in kinds.items():
            state = states[offset]
            if kind == RENEW and not self.may_renew:
                return E.INVALID_RECORD_STATE
            if state.owner != member or state.locked_until <= now or state.outcome is not None:
                return E.INVALID_RECORD_STATE
        for offset, kind in kinds.items():
            if kind == RENEW:
                states[offset].locked_until = now + self.lock_seconds
                continue
            states[offset].owner = None
            if kind != RELEASE:
                states[offset].outcome = kind
                self.final[number, offset] += 1
        return E.NONE


def _nothing(number: int, code: ErrorCode = E.NONE) -> share_fetch.PartitionData:
    return share_fetch.PartitionData(
        partition_index=number,
        error_code=code,
        current_leader=share_fetch.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1),
    )
