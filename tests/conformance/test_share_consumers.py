"""What the acknowledgements of share consumers come to, at our broker and at Apache Kafka."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import AcknowledgeType
from pyk.clients.errors import DeserializationError, InvalidRecordStateError, StateError
from support.shared_topic import BROKERS, LOCK_SECONDS, Shared, broker_with_short_locks, poll

EXPLICIT: dict[str, Any] = {"share_acknowledgement_mode": "explicit"}


@pytest.fixture(scope="module", params=BROKERS)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    with broker_with_short_locks(request.param) as address:
        yield address


@pytest.fixture
def shared(bootstrap: str, request: pytest.FixtureRequest) -> Shared:
    return Shared(bootstrap, request.node.originalname)


def test_accepted_records_are_not_delivered_again(shared: Shared) -> None:
    shared.produce(*[b"%d" % number for number in range(50)])
    with shared.consumer() as consumer:
        records = poll(consumer, 50)
        assert [record.offset for record in records] == list(range(50))
        assert {record.delivery_count for record in records} == {1}
        assert consumer.acquisition_lock_timeout_ms() == LOCK_SECONDS * 1000
        assert consumer.commit() == {shared.p0: (range(50),)}
    shared.produce(b"next")
    with shared.consumer() as consumer:
        assert [record.value for record in poll(consumer)] == [b"next"]


def test_each_record_is_acknowledged_in_its_own_way(shared: Shared) -> None:
    shared.produce(b"accept", b"release", b"reject", b"accept")
    kinds = {kind.name.lower().encode(): kind for kind in AcknowledgeType}
    with shared.consumer(**EXPLICIT) as consumer:
        records = poll(consumer, 4)
        with pytest.raises(StateError, match="4 records must be acknowledged"):
            consumer.poll(1)
        for record in records:
            consumer.acknowledge(record, kinds[record.value])
        assert consumer.commit() == {shared.p0: (range(4),)}

        (again,) = poll(consumer)
        assert (again.value, again.offset, again.delivery_count) == (b"release", 1, 2)
        consumer.acknowledge(again)


def test_closing_gives_records_back_at_once(shared: Shared) -> None:
    shared.produce(b"a", b"b")
    first = shared.consumer()
    poll(first, 2)
    first.close()
    with shared.consumer() as consumer:
        began = time.monotonic()
        assert [record.delivery_count for record in poll(consumer, 2)] == [2, 2]
        assert time.monotonic() - began < LOCK_SECONDS + 8


def test_an_acknowledgement_after_the_lock_is_an_error(shared: Shared) -> None:
    shared.produce(b"a")
    with shared.consumer() as consumer:
        poll(consumer)
        time.sleep(LOCK_SECONDS + 1)
        with pytest.raises(InvalidRecordStateError) as failure:
            consumer.commit()
        assert failure.value.topic_partition == shared.p0
        assert [record.delivery_count for record in poll(consumer)] == [2]


def test_a_renewed_lock_outlasts_the_first_one(shared: Shared) -> None:
    shared.produce(b"slow", b"quick")
    with shared.consumer(**EXPLICIT) as consumer:
        slow, quick = poll(consumer, 2)
        consumer.acknowledge(quick)
        for _ in range(3):
            consumer.acknowledge(slow, AcknowledgeType.RENEW)
            (slow,) = poll(consumer)
            assert (slow.value, slow.delivery_count) == (b"slow", 1)
            time.sleep(LOCK_SECONDS * 0.6)
        consumer.acknowledge(slow)
        assert consumer.commit() == {shared.p0: (range(1),)}


def test_a_record_that_cannot_be_deserialized_is_released_or_rejected(shared: Shared) -> None:
    shared.produce(b"1", b"{", b"3")
    with shared.consumer(value_deserializer=json.loads, **EXPLICIT) as consumer:
        (first,) = poll(consumer)
        consumer.acknowledge(first)
        with pytest.raises(DeserializationError) as refused:
            poll(consumer)
        consumer.acknowledge(refused.value.record, AcknowledgeType.REJECT)
        (last,) = poll(consumer)
        consumer.acknowledge(last)
        assert last.value == 3
        consumer.commit()
    shared.produce(b"4")
    with shared.consumer() as consumer:
        assert [record.value for record in poll(consumer)] == [b"4"]


def test_a_limit_acquires_no_more_records_than_it_says(shared: Shared) -> None:
    shared.produce(*[b"%d" % number for number in range(20)])
    with (
        shared.consumer(share_acquire_mode="record_limit", max_poll_records=3) as one,
        shared.consumer(share_acquire_mode="record_limit", max_poll_records=3) as other,
    ):
        assert [record.offset for record in poll(one, 3)] == [0, 1, 2]
        assert len(poll(other, 3)) == 3


def test_members_share_one_partition(shared: Shared) -> None:
    with shared.consumer() as one, shared.consumer() as other:
        one.poll(1)
        other.poll(1)
        got: list[bytes] = []
        for number in range(40):
            shared.produce(b"%d" % number)
            got += [record.value for record in (one, other)[number % 2].poll(1)]
        while len(got) < 40:
            got += [record.value for member in (one, other) for record in member.poll(0.2)]

        assert sorted(got) == sorted(b"%d" % number for number in range(40))
        assert min(one.stats().records, other.stats().records) > 0


def test_iteration_accepts_as_it_goes(shared: Shared) -> None:
    shared.produce(b"a", b"b", b"c")
    with shared.consumer() as consumer:
        for record in consumer:
            if record.value == b"c":
                break
    shared.produce(b"d")
    with shared.consumer() as consumer:
        assert next(iter(consumer)).value == b"d"


def test_the_callback_hears_of_acknowledgements(shared: Shared) -> None:
    told: list[Any] = []
    shared.produce(b"a")
    with shared.consumer() as consumer:
        consumer.set_acknowledgement_commit_callback(lambda *of: told.append(of))
        poll(consumer)

    assert told == [({shared.p0: (range(1),)}, None)]
