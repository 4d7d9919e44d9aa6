"""Records of a share group go away, or wait too long, while a member has acquired them."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from pyk.clients import Admin, ShareConsumer
from pyk.clients.errors import KafkaError
from support.shared_topic import BROKERS, Shared, broker_with_short_locks, poll


@pytest.fixture(scope="module", params=BROKERS)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    with broker_with_short_locks(request.param) as address:
        yield address


def poll_until(consumer: ShareConsumer[bytes, bytes], value: bytes) -> list[bytes]:
    """Poll until a record with a value comes, whatever is raised before; return all values.

    Apache Kafka answers UNKNOWN_SERVER_ERROR for a while where a topic was deleted.
    """
    values: list[bytes] = []
    until = time.monotonic() + 60
    while value not in values:
        assert time.monotonic() < until, values
        with contextlib.suppress(KafkaError):
            values += [record.value or b"" for record in consumer.poll(1.0)]
    return values


def test_records_that_are_deleted_while_acquired_need_no_acknowledgement(bootstrap: str) -> None:
    shared = Shared(bootstrap, "deleted")
    shared.produce(*[b"%d" % number for number in range(10)])
    with shared.consumer() as consumer, Admin(bootstrap) as admin:
        poll(consumer, 10)
        admin.delete_records({shared.p0: 5})
        shared.produce(b"next")

        assert consumer.commit() == {shared.p0: (range(10),)}
        assert poll_until(consumer, b"next") == [b"next"]
        consumer.commit()
        assert consumer.stats().failed_acknowledgements == 0


def test_all_records_may_be_deleted_while_acquired(bootstrap: str) -> None:
    shared = Shared(bootstrap, "emptied")
    shared.produce(b"a", b"b")
    with shared.consumer() as consumer, Admin(bootstrap) as admin:
        poll(consumer, 2)
        admin.delete_records({shared.p0: -1})
        shared.produce(b"next")

        assert poll_until(consumer, b"next") == [b"next"]
        assert consumer.commit() == {shared.p0: (range(2, 3),)}


def test_a_topic_that_is_created_again_is_read_from_its_beginning(bootstrap: str) -> None:
    shared = Shared(bootstrap, "again")
    shared.produce(b"old", b"old")
    with shared.consumer() as consumer, Admin(bootstrap) as admin:
        poll(consumer, 2)
        admin.delete_topics([shared.topic])
        with pytest.raises(KafkaError) as failure:
            consumer.commit()
        assert failure.value.topic == shared.topic
        shared.create()
        shared.produce(b"new", b"last")

        assert poll_until(consumer, b"last") == [b"new", b"last"]
        assert consumer.commit() == {shared.p0: (range(2),)}


def test_single_polls_hand_out_all_of_a_batch_that_takes_longer_than_its_locks(
    bootstrap: str,
) -> None:
    shared = Shared(bootstrap, "slow", share_record_lock_duration_ms="1000")
    values = {b"%d" % number for number in range(40)}
    shared.produce(*values)
    got = Counter[bytes]()
    deliveries = 0
    with shared.consumer(max_poll_records=1) as consumer:
        until = time.monotonic() + 60
        while set(got) != values:
            assert time.monotonic() < until, sorted(values - set(got))
            for record in consumer.poll(1.0):
                got[record.value] += 1
                deliveries = max(deliveries, record.delivery_count or 0)
                time.sleep(0.1)

        assert consumer.stats().expired > 0
    assert 1 < deliveries <= 5
    assert max(got.values()) <= 2
