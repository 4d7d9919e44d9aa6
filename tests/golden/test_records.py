from __future__ import annotations

from typing import Any

import pytest

from golden.record_vectors import name_of, primitives, record_vectors
from pyk.protocol.records import (
    CorruptRecordError,
    FetchedRecords,
    LegacyBatch,
    Record,
    RecordBatch,
    RecordBatchBuilder,
    RecordIterator,
    UnsupportedMagicError,
    parse_batch,
    partition_for_key,
    read_batches,
    set_base_offset_and_epoch,
    set_max_timestamp,
)
from pyk.protocol.records.compression import Compression
from pyk.protocol.records.murmur2 import murmur2
from pyk.protocol.records.varint import decode_varint, decode_varlong, encode_varint, encode_varlong

VECTORS = record_vectors()
MAGIC_2 = [vector for vector in VECTORS if vector["magic"] == 2]
VALID = [vector for vector in MAGIC_2 if vector["name"] != "corrupt-crc"]
WRITABLE = [vector for vector in VALID if vector["bitExact"]]
OLDER = [
    vector for vector in VECTORS if vector["magic"] in (0, 1) and vector["name"] != "corrupt-crc"
]
MIXED = [vector for vector in VECTORS if vector["magic"] == -1]


def from_hex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def as_json(record: Record, base_offset: int, base_sequence: int) -> dict[str, Any]:
    sequence = -1
    if base_sequence >= 0:
        sequence = (base_sequence + record.offset - base_offset) & 0x7FFFFFFF
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else record.key.hex(),
        "value": None if record.value is None else record.value.hex(),
        "sequence": sequence,
        "headers": [
            {"key": name, "value": None if value is None else value.hex()}
            for name, value in record.headers
        ],
    }


def batch_as_json(batch: RecordBatch) -> dict[str, Any]:
    return {
        "magic": batch.magic,
        "sizeInBytes": batch.size_in_bytes,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "nextOffset": batch.next_offset,
        "compression": batch.compression_type.value,
        "timestampType": ("CreateTime", "LogAppendTime")[batch.timestamp_type],
        "maxTimestamp": batch.max_timestamp,
        "valid": True,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "baseTimestamp": batch.base_timestamp,
        "count": batch.count,
        "deleteHorizonMs": batch.delete_horizon_ms,
        "crc32c": batch.crc,
        "records": [as_json(record, batch.base_offset, batch.base_sequence) for record in batch],
    }


@pytest.mark.parametrize("vector", VALID, ids=name_of)
def test_batches_are_read_as_kafka_wrote_them(vector):
    assert [batch_as_json(batch) for batch in read_batches(bytes.fromhex(vector["hex"]))] == vector[
        "batches"
    ]


def legacy_batch_as_json(batch: LegacyBatch) -> dict[str, Any]:
    return {
        "magic": batch.magic,
        "sizeInBytes": batch.size_in_bytes,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "nextOffset": batch.next_offset,
        "compression": batch.compression_type.value,
        "timestampType": batch.timestamp_type.name.title().replace("_", ""),
        "maxTimestamp": batch.max_timestamp,
        "valid": True,
        "records": [
            {
                "offset": record.offset,
                "timestamp": record.timestamp,
                "key": None if record.key is None else record.key.hex(),
                "value": None if record.value is None else record.value.hex(),
            }
            for record in batch
        ],
    }


@pytest.mark.parametrize("vector", OLDER + MIXED, ids=name_of)
def test_batches_of_before_kafka_0_11_are_read_as_kafka_wrote_them(vector):
    found = [
        legacy_batch_as_json(batch) if isinstance(batch, LegacyBatch) else batch_as_json(batch)
        for batch in read_batches(bytes.fromhex(vector["hex"]))
    ]

    assert found == vector["batches"]


@pytest.mark.parametrize("vector", OLDER + MIXED, ids=name_of)
def test_a_consumer_gets_the_records_of_before_kafka_0_11(vector):
    expected = [record for batch in vector["batches"] for record in batch["records"]]
    fetched = FetchedRecords("orders", 0, bytes.fromhex(vector["hex"]), expected[0]["offset"])

    spans = list(iter(lambda: fetched.next_span(3), None))

    found = [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": None if record.key is None else record.key.hex(),
            "value": None if record.value is None else record.value.hex(),
        }
        for record in RecordIterator(spans)
    ]
    keys = ("offset", "timestamp", "key", "value")
    assert found == [{key: record[key] for key in keys} for record in expected]
    assert fetched.next_offset == vector["batches"][-1]["nextOffset"]


@pytest.mark.parametrize("vector", WRITABLE, ids=name_of)
def test_batches_are_written_byte_for_byte_as_kafka_writes_them(vector):
    (batch,) = vector["batches"]
    builder = RecordBatchBuilder(max_bytes=1 << 20, delete_horizon_ms=batch["deleteHorizonMs"])
    for record in batch["records"]:
        headers = [(header["key"], from_hex(header["value"])) for header in record["headers"]]
        delta = record["offset"] - batch["baseOffset"]
        builder.append_at(
            delta,
            record["timestamp"],
            from_hex(record["key"]),
            from_hex(record["value"]),
            headers=headers,
        )

    data = builder.seal(
        producer_id=batch["producerId"],
        producer_epoch=batch["producerEpoch"],
        base_sequence=batch["baseSequence"],
        is_transactional=batch["isTransactional"],
        is_control=batch["isControl"],
        last_offset_delta=batch["lastOffset"] - batch["baseOffset"],
    )
    set_base_offset_and_epoch(data, batch["baseOffset"], batch["partitionLeaderEpoch"])
    set_max_timestamp(data, batch["maxTimestamp"])

    assert data.hex() == vector["hex"]


def test_the_error_for_a_wrong_crc_names_the_offset():
    vector = next(vector for vector in MAGIC_2 if vector["name"] == "corrupt-crc")

    with pytest.raises(CorruptRecordError, match=r"offsets 0 to 0: .*CRC is 0xe89b8dd8") as caught:
        list(read_batches(bytes.fromhex(vector["hex"])))

    assert (caught.value.base_offset, caught.value.next_offset) == (0, 1)


@pytest.mark.parametrize("vector", OLDER, ids=name_of)
def test_parse_batch_refuses_formats_of_before_kafka_0_11(vector):
    with pytest.raises(UnsupportedMagicError, match=f"message format {vector['magic']}"):
        parse_batch(memoryview(bytes.fromhex(vector["hex"])))


def test_the_error_for_a_wrong_crc_of_before_kafka_0_11_names_the_offset():
    vector = next(v for v in VECTORS if v["name"] == "corrupt-crc" and v["magic"] == 1)

    with pytest.raises(CorruptRecordError, match=r"offsets 0 to 0: its stored CRC") as caught:
        list(read_batches(bytes.fromhex(vector["hex"])))

    assert (caught.value.base_offset, caught.value.next_offset) == (0, 1)


@pytest.mark.parametrize("vector", primitives("varint"), ids=lambda vector: str(vector["value"]))
def test_varints_agree_with_kafka(vector):
    data = bytes.fromhex(vector["hex"])

    assert encode_varint(vector["value"]) == data
    assert decode_varint(data, 0, len(data)) == (vector["value"], len(data))


@pytest.mark.parametrize("vector", primitives("varlong"), ids=lambda vector: str(vector["value"]))
def test_varlongs_agree_with_kafka(vector):
    data = bytes.fromhex(vector["hex"])

    assert encode_varlong(vector["value"]) == data
    assert decode_varlong(data, 0, len(data)) == (vector["value"], len(data))


@pytest.mark.parametrize(
    "vector", primitives("murmur2"), ids=lambda vector: vector["hex"] or "empty"
)
def test_murmur2_agrees_with_kafka(vector):
    key = bytes.fromhex(vector["hex"])

    assert murmur2(key) == vector["murmur2"]
    assert partition_for_key(key, 12) == vector["partitionOf12"]


def test_every_codec_is_covered():
    assert {batch["compression"] for vector in VALID for batch in vector["batches"]} == set(
        Compression
    )
