"""A share partition at its leader, whose coordinator answers when a test says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.read_share_group_state import PartitionResult
from pyk.protocol.messages.write_share_group_state import PartitionData
from pyk.protocol.messages.write_share_group_state import PartitionResult as WriteResult
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.share.acknowledgement import Acknowledgement, AcknowledgeType
from pyk.reference_broker.share.acquisition import AcquireRequest
from pyk.reference_broker.share.led_partition import LedSharePartition, Outcome
from pyk.reference_broker.share.settings import ShareGroupSettings
from pyk.reference_broker.storage import LogError
from pyk.runtime.timers import Moment, TimerQueue

KEY = SharePartitionKey("g", UUID(int=7), 0)
LOCK = 30.0
WITHOUT_MESSAGE = (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH)
SETTINGS = ShareGroupSettings(lock_duration_ms=30_000, deliveries=5, records_in_flight=2000)


class Led:
    """The partition, as its leader knows it."""

    def __init__(self) -> None:
        self.is_leader = True
        self.leader_epoch = 3
        self.listeners: list[Any] = []
        self.reader = self
        self.offset: int | LogError | None = 0
        """What is found for any timestamp."""
        self.add_listener = self.listeners.append
        self.remove_listener = self.listeners.remove

    def list_offset(self, timestamp: int) -> Any:
        if isinstance(self.offset, LogError):
            raise self.offset
        return None if self.offset is None else SimpleNamespace(offset=self.offset)

    def move(self, *, is_leader: bool = False, epoch: int = 4) -> None:
        self.is_leader, self.leader_epoch = is_leader, epoch
        for listener in list(self.listeners):
            listener(self)


class Leader:
    """One share partition, with a clock, and a coordinator that answers by hand."""

    def __init__(self, result: PartitionResult | None = None) -> None:
        self.now = 0.0
        self.events = 0
        """How often it was looked for locks that are over."""
        self.moves = 0
        self.written: list[PartitionData] = []
        self.unanswered: list[Deferred[Any]] = []
        self.dropped: list[LedSharePartition] = []
        self.led = Led()
        self.loading: Deferred[PartitionResult] = Deferred()
        self.timers = TimerQueue(lambda _: None)
        self.persister = self
        self.settings = SETTINGS
        self.partition = LedSharePartition(
            KEY, cast(Any, self.led), cast(Any, self), self.dropped.append
        )
        if result is not None:
            self.loading.complete(result)

    # -- what a share partition uses of its broker -------------------------------------------------

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Deferred[PartitionResult]:
        assert (key, leader_epoch) == (KEY, 3)
        return self.loading

    def write(self, key: SharePartitionKey, change: PartitionData) -> Deferred[Any]:
        self.written.append(change)
        self.unanswered.append(Deferred())
        return self.unanswered[-1]

    def moment(self) -> Moment:
        return Moment(self.now, int(self.now * 1000))

    def settings_of(self, group_id: str) -> ShareGroupSettings:
        return self.settings

    def moved(self, partition: Any) -> None:
        self.moves += 1

    # -- what a test does --------------------------------------------------------------------------

    def take(self, last: int = 9) -> list[tuple[int, int, int]]:
        """Acquire the records of one batch for member ``a``."""
        assert self.partition.state is not None
        request = AcquireRequest(
            member_id="a",
            fetch_offset=self.partition.state.next_fetch_offset(),
            max_records=500,
            batch_size=500,
            locked_until=self.now + LOCK,
        )
        found = self.partition.acquire(request, [(0, last)])
        return [(each.first_offset, each.last_offset, each.delivery_count) for each in found]

    def say(self, kind: AcknowledgeType, first: int = 0, last: int = 9) -> list[Outcome]:
        """Acknowledge for member ``a``; return where the outcome comes."""
        return self.say_all((kind, first, last))

    def say_all(self, *said: tuple[AcknowledgeType, int, int]) -> list[Outcome]:
        """Acknowledge several ranges with one request."""
        outcomes: list[Outcome] = []
        asked = [Acknowledgement(first, last, (int(kind),)) for kind, first, last in said]
        self.partition.acknowledge("a", asked).when_done(outcomes.append)
        return outcomes

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Let the coordinator answer the oldest write."""
        message = None if code in WITHOUT_MESSAGE else "no"
        self.unanswered.pop(0).complete(WriteResult(error_code=code, error_message=message))

    def advance(self, now: float) -> None:
        """Let time pass, with all timers that are due meanwhile."""
        while (deadline := self.timers.next_deadline()) is not None and deadline <= now:
            self.events += 1
            self.now = max(self.now, deadline)
            self.timers.advance(self.now)
        self.now = now


def leader(start_offset: int = 0) -> Leader:
    """Return a share partition that is loaded and has no record in flight."""
    return Leader(PartitionResult(partition=0, state_epoch=2, start_offset=start_offset))
