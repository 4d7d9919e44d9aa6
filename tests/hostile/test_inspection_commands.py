"""``pyk decode`` and ``pyk dump-log`` report damaged input and do not fail otherwise."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyk.command_line.main import main
from pyk.command_line.wire.conversation import decode_request, decode_response
from pyk.protocol import ApiKey
from pyk.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from pyk.protocol.messages.metadata_records import TopicRecord
from pyk.protocol.persisted import (
    encode_coordinator_key,
    encode_metadata_record,
    encode_versioned,
)
from pyk.protocol.records import RecordBatchBuilder
from support.record_batches import NOW_MS, control_batch, sealed

WHOLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
OFFSETS = (
    encode_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=1)),
    encode_versioned(OffsetCommitValue(offset=1), 3),
)
TOPIC = (b"", encode_metadata_record(TopicRecord(name="t"), 0))


def with_record(key: bytes, value: bytes) -> bytes:
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, key, value)
    return bytes(builder.seal())


FILES = {
    "orders-0/00000000000000000000.log": sealed(b"one", b"two") + control_batch(1, base_offset=2),
    "orders-0/00000000000000000000.index": struct.pack(">iiii", 1, 0, 2, 80),
    "orders-0/00000000000000000000.timeindex": struct.pack(">qiqi", NOW_MS, 1, NOW_MS + 1, 2),
    "orders-0/00000000000000000000.txnindex": struct.pack(">hqqqq", 0, 1, 2, 3, 4),
    "orders-0/00000000000000000000.snapshot": struct.pack(">hIi", 1, 0, 1) + bytes(50),
}


@WHOLE
@given(st.sampled_from(sorted(FILES)), st.data())
def test_dump_log_reports_a_damaged_file_by_its_exit_status(
    tmp_path: Path, name: str, draw: st.DataObject
) -> None:
    damaged = bytearray(FILES[name])
    for _ in range(draw.draw(st.integers(1, 3))):
        damaged[draw.draw(st.integers(0, len(damaged) - 1))] = draw.draw(st.integers(0, 255))
    for each, data in (FILES | {name: damaged}).items():
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).write_bytes(data[: draw.draw(st.sampled_from([None, -1, 9]))])

    done = CliRunner().invoke(main, ["dump-log", "--print-data-log", str(tmp_path / name)])

    assert done.exception is None or isinstance(done.exception, SystemExit)


@WHOLE
@given(st.sampled_from([("__consumer_offsets", OFFSETS), ("__cluster_metadata", TOPIC)]), st.data())
def test_damaged_records_of_internal_topics_are_shown_as_they_are(
    tmp_path: Path, case: tuple[str, tuple[bytes, bytes]], draw: st.DataObject
) -> None:
    topic, pair = case
    parts = [bytearray(part) for part in pair]
    for part in filter(None, parts):
        part[draw.draw(st.integers(0, len(part) - 1))] = draw.draw(st.integers(0, 255))
    path = tmp_path / f"{topic}-0" / "00000000000000000000.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(with_record(bytes(parts[0]), bytes(parts[1])))

    done = CliRunner().invoke(main, ["dump-log", "--print-data-log", str(path)])

    assert done.exit_code == 0
    assert "payload: " in done.stdout


@given(st.binary(max_size=200), st.sampled_from(list(ApiKey)), st.integers(-1, 20))
def test_any_bytes_are_decoded_or_described_as_a_problem(
    data: bytes, api: ApiKey, version: int
) -> None:
    header = struct.pack(">hhi", api, version, 7) + data

    for message in (
        decode_request(data),
        decode_request(header),
        decode_response(data, api, version),
    ):
        assert message.body is not None or message.problem


@WHOLE
@given(st.binary(max_size=60))
def test_the_decode_command_decodes_or_refuses_any_input(data: bytes) -> None:
    done = CliRunner().invoke(main, ["decode", "-"], input=data)

    assert done.exit_code in (0, 1)
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("size", [1 << 20, 5 << 20])
def test_dump_log_reports_trailing_zeros_of_any_length(tmp_path: Path, size: int) -> None:
    (path := tmp_path / "00000000000000000000.log").write_bytes(bytes(size))

    done = CliRunner().invoke(main, ["dump-log", str(path)])

    assert f"the last {size} bytes are zeros" in done.stderr
