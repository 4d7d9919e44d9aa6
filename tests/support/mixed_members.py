"""Members of both protocols that follow them to the letter, against one coordinator in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from pyk.protocol.persisted import decode_versioned, encode_versioned
from support.consumer_members import ConsumerGroups
from support.groups import Waiting

TOPIC = "orders"


@attrs.define(eq=False)
class ModernMember:
    """A member with the consumer protocol; what the application holds it gives up at once."""

    groups: ConsumerGroups
    name: str
    instance: str | None = None
    epoch: int = 0
    owned: set[int] = attrs.field(factory=set)
    is_alive: bool = True

    def step(self, *, loses_answer: bool = False) -> None:
        """Send a heartbeat, which says everything, and follow the answer unless it is lost."""
        owned = {TOPIC: sorted(self.owned)} if self.owned else {}
        answer = self.groups.beat(
            self.name,
            self.epoch,
            owned,
            instance_id=self.instance,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[TOPIC],
        )
        if loses_answer:
            return
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            self.owned, self.epoch = set(), 0
            self.is_alive = code not in _FINAL
            return
        assert answer.member_epoch >= self.epoch, "an epoch goes back"
        self.epoch = answer.member_epoch
        told = self.groups.told(answer)
        if told is not None:
            self.owned = set(told.get(TOPIC, []))

    def leave(self) -> None:
        self.groups.leave_as(
            self.name, -1 if self.instance is None else -2, instance_id=self.instance
        )
        self.owned, self.is_alive = set(), False


@attrs.define(eq=False)
class ClassicMember:
    """A member with the classic protocol, which shares partitions evenly where it leads."""

    groups: ConsumerGroups
    name: str = ""
    instance: str | None = None
    is_cooperative: bool = True
    generation: int = -1
    owned: set[int] = attrs.field(factory=set)
    is_alive: bool = True
    joining: Waiting | None = None
    syncing: Waiting | None = None

    def step(self, *, loses_answer: bool = False) -> None:
        """Do what is next: join, take the answer, sync, or send a heartbeat."""
        if self.joining is not None:
            self._take_join()
        elif self.syncing is not None:
            self._take_sync()
        elif self.generation < 0:
            self._join()
        else:
            self._beat()

    def _join(self) -> None:
        if not self.is_cooperative:
            self.owned = set()
        owned = [TopicPartition(topic=TOPIC, partitions=sorted(self.owned))] if self.owned else []
        subscription = ConsumerProtocolSubscription(topics=[TOPIC], owned_partitions=owned)
        self.joining = self.groups.join(
            self.name,
            instance=self.instance,
            metadata=encode_versioned(subscription, 3),
            session_s=30,
        )
        self._take_join()

    def _take_join(self) -> None:
        assert self.joining is not None
        if not self.joining.is_answered:
            return
        answer, self.joining = self.joining.response, None
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.name = answer.member_id
        elif code is not ErrorCode.NONE:
            self._failed(code)
        else:
            self.name, self.generation = answer.member_id, answer.generation_id
            self.syncing = self.groups.sync(
                self.name,
                self.generation,
                self._shares(answer) if answer.leader == self.name else None,
                group_instance_id=self.instance,
                protocol_type="consumer",
                protocol_name="range",
            )
            self._take_sync()

    def _shares(self, answer: Any) -> dict[str, bytes]:
        """Share evenly; what a member has to give up first is given to nobody yet."""
        members = sorted(each.member_id for each in answer.members)
        wanted = {each: set(range(i, 4, len(members))) for i, each in enumerate(members)}
        held = {
            each.member_id: {
                number
                for one in decode_versioned(
                    ConsumerProtocolSubscription, each.metadata
                ).owned_partitions
                for number in one.partitions
            }
            for each in answer.members
        }
        return {
            each: _encoded(
                wanted[each] - {n for other in members if other != each for n in held[other]}
            )
            for each in members
        }

    def _take_sync(self) -> None:
        assert self.syncing is not None
        if not self.syncing.is_answered:
            return
        answer, self.syncing = self.syncing.response, None
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            self._failed(code)
            return
        assigned = {
            number
            for each in decode_versioned(
                ConsumerProtocolAssignment, answer.assignment
            ).assigned_partitions
            for number in each.partitions
        }
        has_revoked = bool(self.owned - assigned)
        self.owned = assigned
        if has_revoked:
            self.generation = -1  # a cooperative member joins again, to say so

    def _beat(self) -> None:
        code = self.groups.heartbeat(self.name, self.generation, instance=self.instance)
        if code is not ErrorCode.NONE:
            self._failed(code)

    def _failed(self, code: ErrorCode) -> None:
        self.generation = -1
        if code is not ErrorCode.REBALANCE_IN_PROGRESS:
            self.owned = set()
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.name = ""
        self.is_alive = code not in _FINAL

    def disconnected(self) -> None:
        """Learn that what it waits for will not be answered."""
        if self.joining is not None or self.syncing is not None:
            self.joining = self.syncing = None
            self.generation = -1

    def leave(self) -> None:
        if self.instance is None and self.name:
            self.groups.leave((self.name, None))
        self.owned, self.is_alive = set(), False


Member = ModernMember | ClassicMember
_FINAL = (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID)


def check_owners(members: Collection[Member]) -> None:
    """No partition has two members that may read it."""
    owners: dict[int, str] = {}
    for member in members:
        for number in member.owned if member.is_alive else ():
            assert number not in owners, f"{number} is owned by {owners[number]} and {member.name}"
            owners[number] = member.name


def settle(
    members: Collection[Member], groups: ConsumerGroups, is_done: Callable[[], bool]
) -> None:
    """Let members go on for a minute, or until all is done."""
    for _ in range(240):
        for member in members:
            if member.is_alive:
                member.step()
            check_owners(members)
        if is_done():
            return
        groups.advance(0.25)
    raise AssertionError(
        f"not settled: {[(one.name, sorted(one.owned)) for one in members if one.is_alive]}"
    )


def _encoded(numbers: set[int]) -> bytes:
    topics = [TopicPartition(topic=TOPIC, partitions=sorted(numbers))] if numbers else []
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=topics), 1)
