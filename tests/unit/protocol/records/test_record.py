from __future__ import annotations

import copy
import gc
import pickle

import pytest

from pyk.protocol.records import ConsumerRecord, Record, RecordIterator, TimestampType, parse_batch
from pyk.protocol.records import record as record_module
from support.record_batches import ORIGIN, sealed

RECORD = Record(5, 6, b"k", None, (("h", b"x"),))
CONSUMER_RECORD = ConsumerRecord(
    "orders", 3, 5, 6, TimestampType.LOG_APPEND_TIME, b"k", None, (("h", b"x"),), 9
)
IS_COMPILED = not record_module.__file__.endswith(".py")


@pytest.mark.parametrize("record", [RECORD, CONSUMER_RECORD])
def test_records_survive_pickling_and_copying(record: Record | ConsumerRecord) -> None:
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record
    assert hash(copy.copy(record)) == hash(record)


def test_records_differ_by_any_field() -> None:
    assert Record(5, 6, b"k", b"", (("h", b"x"),)) != RECORD
    assert Record(4, 6, b"k", None, (("h", b"x"),)) != RECORD
    assert ConsumerRecord("orders", 4, 5, 6) != CONSUMER_RECORD
    assert CONSUMER_RECORD != RECORD


def test_a_record_shows_its_fields() -> None:
    assert repr(RECORD) == (
        "Record(offset=5, timestamp=6, key=b'k', value=None, headers=(('h', b'x'),))"
    )
    assert repr(CONSUMER_RECORD) == (
        "ConsumerRecord(topic='orders', partition=3, offset=5, timestamp=6, "
        "timestamp_type=<TimestampType.LOG_APPEND_TIME: 1>, key=b'k', value=None, "
        "headers=(('h', b'x'),), leader_epoch=9)"
    )


def test_a_record_of_a_share_group_has_the_count_of_its_deliveries() -> None:
    delivered = ConsumerRecord("orders", 3, 5, 6, delivery_count=2)

    assert (delivered.delivery_count, CONSUMER_RECORD.delivery_count) == (2, 0)
    assert repr(delivered).endswith("leader_epoch=-1, delivery_count=2)")
    assert pickle.loads(pickle.dumps(delivered)) == delivered != ConsumerRecord("orders", 3, 5, 6)


def test_an_origin_shows_its_fields() -> None:
    assert repr(ORIGIN).startswith("RecordOrigin(topic='orders', partition=3, leader_epoch=7")


def test_a_record_may_be_made_of_its_place_alone() -> None:
    record = ConsumerRecord("orders", 3, 5)

    assert (record.timestamp, record.timestamp_type, record.leader_epoch) == (-1, 0, -1)
    assert (record.key, record.value, record.headers) == (None, None, ())


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled: run `make native`")
def test_compiled_records_stay_out_of_the_cyclic_collector() -> None:
    batch = parse_batch(memoryview(sealed(b"a")))
    assert batch is not None
    span = batch.open().span(ORIGIN)
    (record,) = RecordIterator([span])

    assert not any(gc.is_tracked(one) for one in (record, record.timestamp, span, *batch))
