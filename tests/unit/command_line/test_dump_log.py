"""``pyk dump-log`` as its users see it, on files that the reference broker's log wrote."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyk.command_line.main import main
from pyk.protocol import Message
from pyk.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from pyk.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from pyk.protocol.messages.metadata_records import ConfigRecord, TopicRecord
from pyk.protocol.persisted import (
    encode_coordinator_key,
    encode_metadata_record,
    encode_versioned,
)
from pyk.protocol.records import Compression, RecordBatchBuilder
from pyk.runtime.filesystem import OsFileSystem
from support.groups import write_transactional_offsets
from support.legacy_batches import compressed, legacy
from support.logs import batch, open_log
from support.record_batches import NOW_MS, control_batch, sealed

FIRST = "00000000000000000000"


def dump(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["dump-log", *map(str, words)])


def lines(result: Result) -> list[str]:
    return result.stdout.splitlines()[1:]


def segment(folder: Path, *batches: bytes | bytearray) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{FIRST}.log"
    path.write_bytes(b"".join(batches))
    return path


def records(*pairs: tuple[bytes | None, bytes | None]) -> bytes:
    builder = RecordBatchBuilder()
    for key, value in pairs:
        builder.append(NOW_MS, key, value)
    return bytes(builder.seal())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A closed log with all of its files."""
    directory = tmp_path / "orders-0"
    opened = open_log(
        OsFileSystem(), directory=str(directory), segment_bytes=2000, index_interval_bytes=300
    )
    for number in range(60):
        sent = batch(
            b"value %d" % number,
            producer_id=7,
            producer_epoch=1,
            base_sequence=number,
            compression=list(Compression)[number % 5],
        )
        opened.append_as_leader(sent, leader_epoch=number // 20)
    opened.close()
    return directory


def test_a_batch_is_a_line_in_the_format_of_kafkas_tool(tmp_path: Path) -> None:
    data = sealed(b"one", b"two", base_offset=3, leader_epoch=5, producer_id=9, producer_epoch=1,
                  base_sequence=4, is_transactional=True)  # fmt: skip
    crc = int.from_bytes(data[17:21])

    done = dump(segment(tmp_path, data))

    assert done.exit_code == 0
    [line] = lines(done)
    assert line == (
        "baseOffset: 3 lastOffset: 4 count: 2 baseSequence: 4 lastSequence: 5 producerId: 9 "
        "producerEpoch: 1 partitionLeaderEpoch: 5 isTransactional: true isControl: false "
        "deleteHorizonMs: none position: 0 CreateTime: 1700000000001 "
        f"size: {len(data)} magic: 2 compresscodec: none crc: {crc} isvalid: true"
    )


def test_records_are_shown_on_request(tmp_path: Path) -> None:
    path = segment(tmp_path, sealed(b"one", None))

    metadata = "CreateTime: 1700000000000 keySize: 1 valueSize: 3 sequence: -1 headerKeys: []"
    of_null = "CreateTime: 1700000000001 keySize: 1 valueSize: -1 sequence: -1 headerKeys: []"
    assert lines(dump("--deep-iteration", path))[1] == f"| offset: 0 {metadata}"
    assert lines(dump("--print-data-log", path))[1:] == [
        f"| offset: 0 {metadata} key: k payload: one",
        f"| offset: 1 {of_null} key: k",
    ]


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    done = dump("--print-data-log", segment(tmp_path, sealed(b"\xff\x1b[2J\n")))

    assert lines(done)[1].endswith("payload: \\xff\\x1b[2J\\n")


def test_json_has_one_object_per_line(tmp_path: Path) -> None:
    path = segment(tmp_path, sealed(b"one"))

    header, record = map(json.loads, dump("--json", "--print-data-log", path).stdout.splitlines())

    assert header["file"] == record["file"] == str(path)
    assert (header["isvalid"], header["deleteHorizonMs"]) == (True, None)
    assert (record["key"], record["payload"], record["headerKeys"]) == ("k", "one", [])


def test_markers_show_how_a_transaction_ended(tmp_path: Path) -> None:
    path = segment(tmp_path, control_batch(1, base_offset=0), control_batch(0, base_offset=1))

    shown = lines(dump("--deep-iteration", path))

    assert "endTxnMarker: COMMIT coordinatorEpoch: 1" in shown[1]
    assert "endTxnMarker: ABORT coordinatorEpoch: 1" in shown[3]


def test_every_undamaged_file_of_a_log_is_dumped_without_an_error(log: Path) -> None:
    done = dump("--print-data-log", *sorted(log.iterdir()))

    assert done.exit_code == 0
    assert done.stdout.count("payload: value ") == 60
    assert "isvalid: false" not in done.stdout
    assert "offset: 4 position: " in done.stdout
    assert "producerId: 7 producerEpoch: 1 coordinatorEpoch: -1" in done.stdout
    assert done.stderr.splitlines() == [f"{log}/leader-epoch-checkpoint: skipped, it is text"]


def test_an_unknown_kind_of_file_is_an_error_that_names_the_known_ones(
    log: Path, tmp_path: Path
) -> None:
    misspelt = tmp_path / "00000000000000000000.lgo"
    misspelt.touch()
    segment_file = log / "00000000000000000000.log"

    done = dump(misspelt, segment_file)

    assert done.exit_code == 1
    assert done.stderr.startswith(
        f"error: {misspelt}: unknown kind of file; known: .checkpoint, .index, "
    )
    assert f"Dumping {segment_file}" in done.stdout


def test_a_folder_and_a_file_that_does_not_exist_are_errors(tmp_path: Path) -> None:
    missing = tmp_path / "00000000000000000000.log"

    done = dump(tmp_path, missing)

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"error: {tmp_path}: it is a folder; name the files in it: {tmp_path}/*",
        f"error: {missing}: No such file or directory",
    ]


def test_a_damaged_batch_is_reported_with_its_position_and_the_dump_continues(
    tmp_path: Path,
) -> None:
    batches = [sealed(b"v%d" % n, base_offset=n) for n in range(3)]
    damaged = bytearray(batches[1])
    damaged[-1] ^= 1

    done = dump("--print-data-log", path := segment(tmp_path, batches[0], damaged, batches[2]))

    assert done.exit_code == 1
    assert done.stderr.startswith(
        f"error: {path}: position {len(batches[0])}: record batch of offsets 1 to 1: "
        "its stored CRC is"
    )
    assert "isvalid: false" in lines(done)[2]
    assert "payload: v2" in lines(done)[-1]


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (sealed(b"torn")[:-1], "the last 72 bytes are not a whole batch: torn or damaged"),
        (b"\0\0\0", "the last 3 bytes are zeros, allocated in advance"),
        (bytes(100), "the last 100 bytes are zeros, allocated in advance"),
        (b"\xff" * 100, "the last 100 bytes are not a whole batch: torn or damaged"),
    ],
)
def test_a_torn_end_is_reported_with_its_position(tmp_path: Path, end: bytes, problem: str) -> None:
    whole = sealed(b"whole")

    done = dump(segment(tmp_path, whole, end))

    assert done.exit_code == 1
    assert len(lines(done)) == 1
    assert done.stderr.endswith(f"position {len(whole)}: {problem}\n")


def test_a_damaged_message_of_an_old_format_is_reported_and_skipped(tmp_path: Path) -> None:
    old = struct.pack(">qiIbb", 0, 22, 0, 1, 0) + bytes(16)

    done = dump(segment(tmp_path, old, sealed(b"new", base_offset=1)))

    assert "position 0: record batch of offsets 0 to 0: its stored CRC is" in done.stderr
    assert "baseOffset: 1" in lines(done)[0]


def test_decreasing_offsets_are_reported(tmp_path: Path) -> None:
    done = dump(segment(tmp_path, sealed(b"a", b"b"), sealed(b"c", base_offset=1)))

    assert "begins at offset 1, not at 2" in done.stderr


def test_max_bytes_limits_the_bytes_read(tmp_path: Path) -> None:
    one = sealed(b"one")

    done = dump("--max-bytes", str(len(one) + 5), segment(tmp_path, one, one))

    assert done.exit_code == 0
    assert len(lines(done)) == 1


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ((0, 7), "offset 0: no batch begins at position 7"),
        ((5, 0), "offset 5: the batch at 0 ends with offset 0"),
    ],
)
def test_an_offset_index_that_does_not_match_its_segment_is_reported(
    tmp_path: Path, entry: tuple[int, int], problem: str
) -> None:
    index = segment(tmp_path, sealed(b"a")).with_suffix(".index")
    index.write_bytes(struct.pack(">ii", *entry))

    done = dump("--verify-index-only", index)

    assert done.exit_code == 1
    assert lines(done) == []
    assert done.stderr == f"error: {index}: {problem}\n"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ((NOW_MS, 9), f"timestamp {NOW_MS}: no batch ends with offset 9"),
        ((5, 0), f"timestamp 5: the newest up to offset 0 is {NOW_MS}"),
    ],
)
def test_a_time_index_that_does_not_match_its_segment_is_reported(
    tmp_path: Path, entry: tuple[int, int], problem: str
) -> None:
    index = segment(tmp_path, sealed(b"a")).with_suffix(".timeindex")
    index.write_bytes(struct.pack(">qi", *entry))

    assert dump(index).stderr == f"error: {index}: {problem}\n"


def test_preallocated_space_of_an_index_is_not_shown_as_entries(tmp_path: Path) -> None:
    index = segment(tmp_path, sealed(b"a", b"b")).with_suffix(".index")
    index.write_bytes(struct.pack(">ii", 1, 0) + bytes(80))

    done = dump(index)

    assert done.exit_code == 0
    assert lines(done) == ["offset: 1 position: 0"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [(bytes(9), "its 9 bytes are not a multiple of its entries of 8 bytes"),
     (struct.pack(">iiii", 5, 50, 3, 30), "the last entry, (3, 30), is before the first")],
)  # fmt: skip
def test_index_damage_is_reported_with_the_rebuild_that_follows(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    (index := tmp_path / f"{FIRST}.index").write_bytes(data)

    done = dump("--index-sanity-check", index)

    assert done.exit_code == 1
    assert f"a broker rebuilds this index when it starts: {problem}" in done.stderr


def test_aborted_transactions_are_shown(tmp_path: Path) -> None:
    (index := tmp_path / f"{FIRST}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 7, 1, 4, 5) * 2)

    assert (
        lines(dump(index))
        == ["version: 0 producerId: 7 firstOffset: 1 lastOffset: 4 lastStableOffset: 5"] * 2
    )


@pytest.mark.parametrize("name", [f"{FIRST}.txnindex", f"{FIRST}.snapshot"])
def test_truncated_files_are_reported(tmp_path: Path, name: str) -> None:
    (path := tmp_path / name).write_bytes(b"\0\1cut")

    done = dump(path)

    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: {path}: ")


def test_a_damaged_producer_snapshot_is_reported(log: Path) -> None:
    path = max(log.glob("*.snapshot"))
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")

    assert "the stored CRC is" in dump(path).stderr


def offset_commit() -> bytes:
    key = encode_coordinator_key(OffsetCommitKey(group="billing", topic="orders", partition=2))
    return records((key, encode_versioned(OffsetCommitValue(offset=5), 3)), (key, None))


def test_commits_are_decoded_in_a_folder_of_the_offsets_topic(tmp_path: Path) -> None:
    path = segment(tmp_path / "__consumer_offsets-7", offset_commit())

    shown = [
        json.loads(line)
        for line in dump("--json", "--print-data-log", path).stdout.split("\n")[1:3]
    ]

    assert shown[0]["key"] == {
        "type": "1", "data": {"group": "billing", "topic": "orders", "partition": 2},
    }  # fmt: skip
    assert shown[0]["payload"]["version"] == "3"
    assert shown[0]["payload"]["data"]["offset"] == 5
    assert shown[1]["payload"] == "<DELETE>"


def test_offsets_of_a_transaction_are_shown_with_its_producer_and_its_marker(
    tmp_path: Path,
) -> None:
    path = write_transactional_offsets(tmp_path / "__consumer_offsets-7")

    shown = [json.loads(line) for line in lines(dump("--json", "--print-data-log", path))]

    header, commit, marker_header, marker = shown[-4:]
    assert (header["producerId"], header["baseSequence"], header["isTransactional"]) == (
        7,
        -1,
        True,
    )
    assert commit["key"]["data"] == {"group": "readers", "topic": "orders", "partition": 0}
    assert commit["payload"]["data"]["offset"] == 5
    assert (marker_header["producerId"], marker_header["isControl"]) == (7, True)
    assert marker["endTxnMarker"] == "COMMIT"


def test_the_offsets_decoder_option_works_in_any_folder_and_raw_disables_it(tmp_path: Path) -> None:
    elsewhere = segment(tmp_path / "copy", offset_commit())
    at_home = segment(tmp_path / "__consumer_offsets-7", offset_commit())

    assert '"group":"billing"' in lines(dump("--offsets-decoder", elsewhere))[1]
    assert (
        "key: \\x00\\x01\\x00\\x07billing" in lines(dump("--print-data-log", "--raw", at_home))[1]
    )


def test_the_members_of_a_group_record_are_decoded(tmp_path: Path) -> None:
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=["orders"]), 1)
    members = [MemberMetadata(member_id="m", subscription=subscription, assignment=b"?")]
    value = GroupMetadataValue(protocol_type="consumer", members=members)
    key = encode_coordinator_key(GroupMetadataKey(group="billing"))
    path = segment(tmp_path, records((key, encode_versioned(value, 3))))

    [_, line] = lines(dump("--offsets-decoder", path))

    assert '"subscription":{"topics":["orders"],' in line
    assert '"assignment":"3f"' in line


def metadata(record: Message) -> tuple[None, bytes]:
    return None, encode_metadata_record(record, 0)


def test_metadata_records_are_decoded_and_their_secrets_hidden(tmp_path: Path) -> None:
    config = ConfigRecord(name="ssl.key.password", value="hunter2")
    data = records(metadata(TopicRecord(name="orders")), metadata(config))
    path = segment(tmp_path / "__cluster_metadata-0", data)

    hidden = dump("--print-data-log", path).stdout

    assert 'payload: {"type":"TOPIC_RECORD","version":0,"data":{"name":"orders",' in hidden
    assert "hunter2" not in hidden
    assert "hunter2" in dump("--print-data-log", "--show-secrets", path).stdout


@pytest.mark.parametrize(
    ("topic", "key", "value", "problem"),
    [
        ("__consumer_offsets", b"\x70\x00", b"", "no record of type 28672"),
        ("__consumer_offsets", None, b"", "coordinator key: 0 bytes"),
        ("__transaction_state", b"\0\0", b"", "TransactionLogKey"),
        ("__cluster_metadata", None, b"\1\xff\x7f\0", "no record of type 16383"),
        ("__cluster_metadata", None, None, "metadata record: bad frame"),
    ],
)
def test_unknown_records_are_shown_undecoded(
    tmp_path: Path, topic: str, key: bytes | None, value: bytes | None, problem: str
) -> None:
    path = segment(tmp_path / f"{topic}-0", records((key, value)))

    done = dump("--print-data-log", path)

    assert done.exit_code == 0
    assert f"undecoded: {problem}" in lines(done)[1]


@pytest.mark.parametrize(
    ("name", "problem"),
    [(f"{FIRST}.log", "No such file or directory"), (f"{FIRST}.index", "No such file"),
     ("copy.index", "its name does not begin with an offset")],
)  # fmt: skip
def test_invalid_input_is_explained_in_one_sentence(
    tmp_path: Path, name: str, problem: str
) -> None:
    (tmp_path / "copy.index").write_bytes(b"")
    (tmp_path / "copy.log").write_bytes(b"")

    done = dump(tmp_path / name)

    assert done.exit_code == 1
    assert problem in done.stderr
    assert isinstance(done.exception, SystemExit)


def test_messages_of_old_formats_are_dumped_beside_batches(tmp_path: Path) -> None:
    inner = [legacy(b"%d" % n, offset=n) for n in range(2)]
    path = segment(
        tmp_path / "orders-0",
        legacy(b"0", magic=0, offset=7),
        compressed(*inner, offset=9),
        compressed(b"not a message", offset=10),
    )

    done = dump("--print-data-log", path)

    first, record, second, *rest = lines(done)
    assert "baseOffset: 7 lastOffset: 7 count: 1" in first
    assert "NoTimestampType: -1" in first
    assert "magic: 0" in first
    assert record.endswith("key: k payload: 0")
    assert "baseOffset: 8 lastOffset: 9 count: 2" in second
    assert "magic: 1 compresscodec: gzip" in second
    assert [line.rpartition(" ")[2] for line in rest[:2]] == ["0", "1"]
    assert done.exit_code == 1
    assert f"position {path.stat().st_size - len(compressed(b'not a message'))}" in done.output
