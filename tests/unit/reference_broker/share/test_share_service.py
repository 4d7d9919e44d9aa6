"""The share groups at one broker: which share partitions are served, and how sessions end."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.read_share_group_state import PartitionResult
from pyk.protocol.messages.write_share_group_state import PartitionData
from pyk.protocol.messages.write_share_group_state import PartitionResult as WriteResult
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.share.acquisition import AcquireRequest
from pyk.reference_broker.share.led_partition import LedSharePartition
from pyk.reference_broker.share.sessions import PartitionOfTopic, SessionName
from pyk.reference_broker.share.share_service import ShareService
from pyk.runtime.timers import Moment, TimerQueue
from support.led_share_partition import Led

ORDERS = UUID(int=7)
A, B = SessionName("g", "a"), SessionName("g", "b")


class Connection:
    """A connection that can be lost."""

    def __init__(self, connection_id: int) -> None:
        self.connection_id = connection_id
        self.listeners: list[Callable[[], object]] = []
        self.when_lost = self.listeners.append

    def lose(self) -> None:
        for listener in self.listeners:
            listener()


class Service(ShareService):
    """A broker that leads both partitions of a topic; a coordinator answers at once, unless
    ``is_held``."""

    def __init__(self) -> None:
        self.code = ErrorCode.NONE
        self.is_held = False
        self.unanswered: list[Deferred[Any]] = []
        self.led: dict[int, Any] = {number: self._new_led(number) for number in range(2)}
        image = SimpleNamespace(
            topics_by_id={ORDERS: SimpleNamespace(name="orders")}, config=lambda *_: {}
        )
        waiting = SimpleNamespace(timers=TimerQueue(lambda _: None), moved=set())
        super().__init__(
            image=cast(Any, image),
            configs=cast(Any, SimpleNamespace(broker=BrokerConfig())),
            replicas=cast(Any, SimpleNamespace(get=lambda _, number: self.led[number])),
            waiting=cast(Any, waiting),
            persister=cast(Any, SimpleNamespace(read=self._read, write=self._write)),
            moment=lambda: Moment(0.0, 0),
        )

    def _new_led(self, number: int) -> Led:
        led: Any = Led()
        led.topic_partition = ("orders", number)
        led.leadership = SimpleNamespace(check=lambda: None)
        return cast(Led, led)

    def _read(self, key: Any, leader_epoch: int) -> Deferred[PartitionResult]:
        loaded: Deferred[PartitionResult] = Deferred()
        loaded.complete(PartitionResult(state_epoch=1, start_offset=0, error_code=self.code))
        return loaded

    def _write(self, key: Any, change: PartitionData) -> Deferred[Any]:
        self.unanswered.append(Deferred())
        if not self.is_held:
            self.answer()
        return self.unanswered[-1] if self.is_held else self.answered

    def answer(self) -> None:
        self.answered = self.unanswered.pop(0)
        self.answered.complete(WriteResult())

    def share(self, group_id: str = "g", number: int = 0) -> LedSharePartition:
        return self.get(group_id, ORDERS, number)

    def join(self, name: SessionName, connection: Connection) -> None:
        """Begin a session on a connection."""
        partition = PartitionOfTopic(ORDERS, 0)
        self.sessions.begin(
            name,
            0,
            named=[partition],
            forgotten=[],
            acknowledges=False,
            connection_id=connection.connection_id,
        )
        self.watch(connection, name.group_id)


def take(led: LedSharePartition, member_id: str) -> list[tuple[int, int]]:
    """Acquire ten records for a member."""
    assert led.state is not None
    request = AcquireRequest(
        member_id=member_id, fetch_offset=0, max_records=500, batch_size=500, locked_until=30.0
    )
    return [(each.first_offset, each.last_offset) for each in led.acquire(request, [(0, 9)])]


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_share_partition_is_loaded_once(service: Service):
    one = service.share()

    assert service.share() is one
    assert service.find("g", ORDERS, 0) is one
    assert service.share("h") is not one
    assert service.share("g", 1) is not one


def test_a_share_partition_that_could_not_be_loaded_is_loaded_again(service: Service):
    service.code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert service.share().failure is not None

    service.code = ErrorCode.NONE
    assert service.share().failure is None


def test_a_share_partition_that_moved_is_forgotten(service: Service):
    one = service.share()
    service.led[0].move(is_leader=True)

    assert service.find("g", ORDERS, 0) is None
    again = service.share()
    one.drop()
    assert service.find("g", ORDERS, 0) is again


def test_a_session_that_ends_releases_the_records_of_its_member_in_its_group(service: Service):
    connection = Connection(1)
    mine, others = service.share(), service.share("h")
    for name in (A, SessionName("h", "a")):
        service.join(name, connection)
    assert take(mine, "a") == take(others, "a") == [(0, 9)]

    service.close_session(A)
    service.close_session(A)

    assert take(mine, "b") == [(0, 9)]
    assert take(others, "b") == []


def test_a_connection_that_is_lost_ends_its_sessions_and_no_others(service: Service):
    first, second = Connection(1), Connection(2)
    led, other_group = service.share(), service.share("h")
    service.join(A, first)
    service.join(B, second)
    service.join(SessionName("h", "a"), second)
    take(led, "a")

    first.lose()

    assert take(led, "b") == [(0, 9)]
    assert service.find("g", ORDERS, 0) is led
    second.lose()
    assert service.find("g", ORDERS, 0) is None
    assert service.find("h", ORDERS, 0) is None
    assert other_group.is_dropped


def test_all_groups_of_a_connection_end_with_it_once(service: Service):
    connection = Connection(1)
    service.share(), service.share("h")
    service.join(A, connection)
    service.join(SessionName("h", "a"), connection)

    assert len(connection.listeners) == 1
    connection.lose()

    assert service.find("g", ORDERS, 0) is None
    assert service.find("h", ORDERS, 0) is None


def test_what_a_group_without_members_has_is_stored_before_it_is_forgotten(service: Service):
    connection = Connection(1)
    led = service.share()
    service.join(A, connection)
    take(led, "a")
    service.is_held = True

    connection.lose()
    assert service.find("g", ORDERS, 0) is led
    service.answer()

    assert service.find("g", ORDERS, 0) is None


def test_a_member_that_comes_back_meanwhile_keeps_its_group(service: Service):
    connection = Connection(1)
    led = service.share()
    service.join(A, connection)
    take(led, "a")
    service.is_held = True
    connection.lose()

    service.join(A, Connection(2))
    service.answer()

    assert service.find("g", ORDERS, 0) is led
