"""``pyk produce`` and ``pyk consume`` from scripts and on a terminal."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyk.clients import Admin, Consumer, Producer, TopicPartition
from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal, start
from support.real_time import IN_TIME, eventually


class Command:
    """The two commands on one topic."""

    def __init__(self, kafka: Cluster, topic: str) -> None:
        self.kafka, self.topic = kafka, topic

    def produce(self, *words: object, stdin: str | bytes = b"") -> Ran:
        return run("produce", self.topic, *words, "-b", self.kafka.bootstrap, stdin=stdin)

    def consume(self, *words: object) -> Ran:
        return run("consume", self.topic, *words, "-b", self.kafka.bootstrap)


@pytest.fixture
def command(kafka: Cluster, kafka_topic: str) -> Command:
    return Command(kafka, kafka_topic)


def test_a_line_is_a_record(command: Command) -> None:
    sent = command.produce(stdin="one\ntwo\n\nlast")

    assert sent == Ran(0, "")
    assert command.consume().out == "one\ntwo\n\nlast\n"


def test_lines_have_keys_headers_and_nulls(command: Command) -> None:
    command.produce("-K", "\\t", "--null", "", "-H", "from=test", stdin="a\t1\nb\t\n")
    command.produce("--header-separator", "|", "-k", "fixed", "-D", ";", stdin="x=1,y=2|one;|two;")

    assert command.consume("-f", "%k=%s (%S) %h\\n").out.splitlines() == [
        "a=1 (1) from=test",
        "b= (-1) from=test",
        "fixed=one (3) x=1,y=2",
        "fixed=two (3) ",
    ]


def test_json_is_sent_as_it_was_printed(command: Command) -> None:
    with Producer(command.kafka.bootstrap) as producer:
        producer.send_and_wait(
            command.topic, b"\xff", b"k", headers=[("h", b"1")], timestamp_ms=1_000
        )
    first = command.consume("--json")

    command.produce("--format", "json", stdin=first.out)

    (one, other) = command.consume("--json").json
    assert one == {
        "topic": command.topic, "partition": 0, "offset": 0, "timestamp": 1_000, "key": "k",
        "value": {"base64": "/w=="}, "headers": [["h", "1"]],
    }  # fmt: skip
    assert other == {**one, "offset": 1}


def test_json_tells_where_each_record_is(command: Command) -> None:
    told = command.produce("--json", stdin="one\ntwo\n").json

    assert [(one["topic"], one["partition"], one["offset"]) for one in told] == [
        (command.topic, 0, 0),
        (command.topic, 0, 1),
    ]


def test_files_are_sent_by_what_they_hold(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.jsonl").write_text('{"key": "k", "value": {"n": 3}}\n\n')
    (tmp_path / "c.bin").write_bytes(b"all\nof it")

    command.produce(tmp_path / "a.txt", tmp_path / "b.jsonl")
    command.produce(tmp_path / "c.bin", "--format", "whole")

    assert command.consume("--raw").out == 'onetwo{"n":3}all\nof it'


def test_tables_are_written_and_sent(command: Command, tmp_path: Path) -> None:
    command.produce("-K", ":", "-H", "h=1", stdin="a:1\nb:2\nc:3\n")

    written = command.consume("--parquet", tmp_path / "x.parquet", "--grep", "[13]")
    sent = command.produce(tmp_path / "x.parquet")

    assert (written, sent) == (Ran(0, ""), Ran(0, ""))
    assert command.consume("--from", 3, "-f", "%k%s%h ").out == "a1h=1 c3h=1 "


def test_a_table_comes_from_a_pipe_in_each_form_of_arrow(command: Command) -> None:
    table = pa.table({"value": ["one", None], "key": ["k", "l"], "other": [1, 2]})
    as_file, as_stream, as_parquet = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(as_file, table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(as_stream, table.schema) as stream:
        stream.write_table(table)
    pq.write_table(table, as_parquet)

    sent = [
        command.produce("--format", kind, stdin=form.getvalue())
        for kind, form in (("arrow", as_file), ("arrow", as_stream), ("parquet", as_parquet))
    ]

    assert sent == [Ran(0, "")] * 3
    assert command.consume("-f", "%k%S ").out == "k3 l-1 " * 3


def test_rows_of_a_table_may_leave_their_partition_open(command: Command, tmp_path: Path) -> None:
    columns = {"value": ["one", "two"], "partition": pa.array([None, 0], pa.int32())}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")

    sent = command.produce(tmp_path / "x.parquet")

    assert sent == Ran(0, "")
    assert sorted(command.consume().lines) == ["one", "two"]


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ({"other": [1]}, ("there must be 'value', and may be key, headers, partition, timestamp")),
        ({"value": ["x"], "key": [1]}, "the column 'key' must hold bytes or str, not int64"),
        ({"value": ["x"], "partition": [7]}, "has no partition 7"),
    ],
)
def test_a_table_that_cannot_be_sent_is_told_at_once(
    command: Command, tmp_path: Path, columns: dict[str, list[object]], line: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")

    ran = command.produce(tmp_path / "x.parquet")

    assert ran.code == 1
    assert ran.err.endswith(f"{line}\n")
    assert "bug" not in ran.err


def test_a_misspelt_topic_leaves_an_old_table_alone(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("old")

    ran = run("consume", "nosuch", "--parquet", tmp_path / "x.parquet",
              "-b", command.kafka.bootstrap)  # fmt: skip

    assert ran.code == 1
    assert (tmp_path / "x.parquet").read_text() == "old"


def test_a_full_disk_is_told_of_the_table_that_is_written(command: Command) -> None:
    command.produce(stdin="one\n")

    ran = command.consume("--parquet", "/dev/full")

    assert ran == Ran(1, "", "error: /dev/full: No space left on device\n")


def test_a_topic_without_records_is_an_empty_table(command: Command, tmp_path: Path) -> None:
    command.consume("--parquet", tmp_path / "x.parquet")

    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0


def test_a_group_commits_a_table_once_it_can_be_read(command: Command, tmp_path: Path) -> None:
    table, topic = tmp_path / "x.parquet", command.topic

    def grows(size: int) -> None:
        eventually(lambda: table.exists() and table.stat().st_size > size)

    command.produce(stdin="one\n")
    words = ("-F", "-g", topic, "-b", command.kafka.bootstrap, "--parquet", table)
    with start("consume", topic, *words) as process, Admin(command.kafka.bootstrap) as admin:
        grows(4)  # which is what a table starts with
        before = table.stat().st_size
        command.produce(stdin="two\n")
        grows(before)
        while_it_is_written = admin.list_consumer_group_offsets(topic)
        process.send_signal(signal.SIGTERM)
        assert process.wait(IN_TIME) == 0
        at_the_end = admin.list_consumer_group_offsets(topic)

    assert while_it_is_written == {}
    assert [one.offset for one in at_the_end.values() if one] == [2]
    assert pq.read_table(table)["value"].to_pylist() == [b"one", b"two"]


def test_a_range_is_chosen_by_offsets_and_times(command: Command) -> None:
    with Producer(command.kafka.bootstrap) as producer:
        producer.send_batch(
            command.topic,
            [{"value": b"%d" % n, "timestamp_ms": 1_000_000 + n * 1_000} for n in range(6)],
        ).result()

    def chosen(*words: object) -> str:
        return command.consume("-f", "%s", *words).out

    assert chosen() == "012345"
    assert chosen("--from", 2, "--until", 4) == "23"
    assert chosen("--from", "-2") == "45"
    assert chosen("--from", "@1003000") == "345"
    assert chosen("--until", "@1003000") == "012"
    assert chosen("--from", "latest") == ""
    assert chosen("--from", "1970-01-01T00:16:45Z") == "5"
    assert chosen("-n", 2) == "01"
    assert chosen("-n", 0) == ""
    assert chosen("-n", 1, "--grep", "[4-9]") == "4"


def test_a_range_with_transactions_ends(command: Command) -> None:
    with Producer(command.kafka.bootstrap, transactional_id=command.topic) as producer:
        with producer.transaction():
            producer.send(command.topic, b"kept")
        producer.begin_transaction()
        producer.send_and_wait(command.topic, b"dropped")
        producer.abort_transaction()

    assert command.consume("-X", "isolation.level=read_committed").out == "kept\n"


def test_filters_choose_by_key_and_header(command: Command) -> None:
    command.produce("-K", ":", "-H", "kind=new", stdin="a:1\nb:2\n")
    command.produce("-K", ":", stdin="a:3\n")

    assert command.consume("--key", "^a").out == "1\n3\n"
    assert command.consume("--key", "^a", "--header", "kind=n").out == "1\n"


def test_partitions_are_chosen(command: Command) -> None:
    with Admin(command.kafka.bootstrap) as admin:
        admin.create_partitions({command.topic: 3})
    command.produce("-p", 2, stdin="two\n")
    command.produce("-p", 0, stdin="zero\n")

    assert command.consume("-p", 2).out == "two\n"
    assert command.consume("-p", 7).err == (f"error: topic '{command.topic}' has no partition 7\n")


def test_a_group_reads_each_record_once_and_commits_what_was_printed(command: Command) -> None:
    command.produce(stdin="one\ntwo\nthree\n")

    outputs = [command.consume("-g", command.topic, "-n", 2).out,
               command.consume("-g", command.topic).out,
               command.consume("-g", command.topic).out]  # fmt: skip

    assert outputs == ["one\ntwo\n", "three\n", ""]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_following_ends_cleanly_and_leaves_the_group(
    command: Command, sent: signal.Signals
) -> None:
    command.produce(stdin="one\n")
    words = ("consume", command.topic, "-F", "-g", command.topic, "-b", command.kafka.bootstrap)
    with start(*words) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        command.produce(stdin="two\n")
        second = process.stdout.readline()
        process.send_signal(sent)
        rest, err = process.communicate(timeout=IN_TIME)

    assert (first, second, rest, err) == (b"one\n", b"two\n", b"", b"")
    assert process.returncode == 0
    with Admin(command.kafka.bootstrap) as admin:
        (group,) = admin.describe_consumer_groups([command.topic]).values()
        offsets = admin.list_consumer_group_offsets(command.topic)
    assert (group.members, [one.offset for one in offsets.values() if one]) == ((), [2])


def test_following_ends_when_nobody_reads(command: Command) -> None:
    command.produce(stdin="one\n")
    with start("consume", command.topic, "-F", "-b", command.kafka.bootstrap) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()

        assert process.wait(IN_TIME) == 0
        assert process.stderr.read() == b""


def test_a_terminal_shows_where_records_are_and_hides_control_characters(
    command: Command,
) -> None:
    command.produce("-K", ":", "--null", "", stdin="a:one\x1b[2J\n:two\nb:\n")

    shown = run_on_terminal("consume", command.topic, "-b", command.kafka.bootstrap)

    assert shown.lines == ["0:0  a  one\\x1b[2J", "0:1  two", "0:2  b  null"]


def test_records_are_typed_on_a_terminal(command: Command) -> None:
    shown = run_on_terminal(
        "produce", command.topic, "-b", command.kafka.bootstrap, typed="one\ntwo\n\x04"
    )

    assert shown.code == 0
    assert "Type records, one a line; Ctrl-D ends." in shown.lines
    assert shown.lines[-1] == f"2 records sent to {command.topic}"
    assert command.consume().out == "one\ntwo\n"


@pytest.mark.parametrize("options", [[], ["--format", "whole"], ["-D", ";"]])
def test_a_line_that_is_left_open_ends_as_cat_would_have_it(
    command: Command, options: list[str]
) -> None:
    words = ["produce", command.topic, *options, "-b", command.kafka.bootstrap]

    shown = run_on_terminal(*words, typed="one\x04\x04")

    assert (shown.code, shown.lines[-1]) == (0, f"1 record sent to {command.topic}")
    assert command.consume().out == "one\n"


def test_bytes_to_decode_are_typed_on_a_terminal() -> None:
    ended = run_on_terminal("decode", "-", typed="\x04")
    typed = run_on_terminal("decode", "HeartbeatResponse", "0", "-", typed="0000\n\x04")

    assert ended.code == 1
    assert "the data ends early, after 0 bytes" in ended.lines[-1]
    assert "error_code: 0" in "".join(typed.lines)


def test_a_record_that_is_refused_fails_the_command(command: Command) -> None:
    ran = command.produce(stdin=b"x" * 2_000_000)

    assert ran.code == 1
    assert "exceeds max_request_size" in ran.err


@pytest.mark.parametrize(
    ("words", "stdin", "code", "line"),
    [
        (["-K", ":"], "a:1\nb\n", 1,
         "standard input, record 2: it has no separator ':' after the key; 1 record acknowledged"),
        (["--format", "json"], "[]\n", 1,
         ('standard input, record 1: a record must be a JSON object such as {"key": "a", "value": '
         '"b"}')),
        (["-D", ""], "", 2,
         "Invalid value for '-D' / '--delimiter': it must not be empty (see pyk produce --help)"),
        (["-K", ""], "", 2,
         ("Invalid value for '-K' / '--key-separator': it must not be empty (see pyk produce "
          "--help)")),
        (["--format", "json"], '{"timestamp": -5}', 1,
         "standard input, record 1: timestamp_ms is -5, before 1970"),
        (["--format", "json", "-K", ":"], "", 2,
         ("--key-separator has no meaning for standard input, which holds json (see pyk produce "
          "--help)")),
        (["/nowhere"], "", 1, "/nowhere: No such file or directory"),
        (["--format", "parquet", "/nowhere"], "", 1, "/nowhere: No such file or directory"),
    ],
)  # fmt: skip
def test_errors_name_the_record(
    command: Command, words: list[str], stdin: str, code: int, line: str
) -> None:
    assert command.produce(*words, stdin=stdin) == Ran(code, "", f"error: {line}\n")


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(["-p", "7"], "a\n"), (["--format", "json"], '{"value": "a", "partition": 7}\n')],
)
def test_a_partition_that_does_not_exist_is_not_waited_for(
    command: Command, words: list[str], stdin: str
) -> None:
    ran = command.produce(*words, stdin=stdin)

    assert ran == Ran(1, "", f"error: topic '{command.topic}' has no partition 7\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-F", "--until", "5"], "--follow and --until exclude each other"),
        (["-f", "%x"], ("Invalid value for '-f' / '--format': '%x' is unknown; there are %s, %S,"
         " %R, %k, %K, %T, %t, %p, %o, %h and %%")),
        (["--grep", "("], ("Invalid value for '--grep': '(' is not a regular expression: missing ),"
         " unterminated subpattern at position 0")),
        (["--raw", "--json"], "--json and --raw exclude each other"),
        (["-f", "%s", "--raw"], "--format and --raw exclude each other"),
        (["--parquet", "x", "-f", "%s"], "--format and --parquet exclude each other"),
        (["--from", "5", "--until", "2"], "--until is before --from, so there is nothing to read"),
        (["-g", "g", "--from", "1"],
         ("--group continues where the group is, in the partitions that it gets; without --from, "
         "--until and --partition")),
    ],
)  # fmt: skip
def test_wrong_usage_is_explained(command: Command, words: list[str], line: str) -> None:
    assert command.consume(*words) == Ran(2, "", f"error: {line} (see pyk consume --help)\n")


def test_consuming_creates_no_topic_and_suggests_the_one_that_was_meant() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders")

        ran = run("consume", "ordrs", "-b", cluster.bootstrap)

        assert ran == Ran(1, "", "error: topic 'ordrs' does not exist; did you mean 'orders'?\n")
        with Admin(cluster.bootstrap) as admin:
            assert list(admin.list_topics()) == ["orders"]


def test_producing_to_a_topic_that_is_not_created_by_use_says_how_to_create_it() -> None:
    with Cluster(config={"auto.create.topics.enable": "false"}) as cluster:
        ran = run("produce", "orders", "-b", cluster.bootstrap)

    assert ran == Ran(
        1, "", "error: topic 'orders' does not exist; create it with  pyk topic create orders\n"
    )


def test_a_rate_is_kept(command: Command) -> None:
    command.produce("--rate", "20", stdin="1\n2\n3\n4\n5\n")

    with Consumer(command.kafka.bootstrap, enable_auto_commit=False) as consumer:
        consumer.assign([TopicPartition(command.topic, 0)])
        consumer.seek_to_beginning()
        times: list[int] = []
        eventually(lambda: times.extend(r.timestamp for r in consumer.poll(1)) or len(times) == 5)
    assert times[-1] - times[0] >= 190


def test_a_closed_output_commits_nothing_that_was_not_read(command: Command) -> None:
    command.produce(stdin="one\n")
    reading, writing = os.pipe()
    os.close(reading)
    with start("consume", command.topic, "-g", command.topic, "-b", command.kafka.bootstrap,
               stdout=writing) as process:  # fmt: skip
        os.close(writing)
        _, err = process.communicate(timeout=IN_TIME)

    assert (process.returncode, err) == (0, b"")
    assert command.consume("-g", command.topic).out == "one\n"


def test_all_records_are_sent_though_nobody_reads_where_they_are(
    command: Command, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{number}\n" for number in range(20_000)))

    address = ("-b", command.kafka.bootstrap)
    with start("produce", command.topic, str(lines), "--json", *address) as producing:
        assert producing.stdout is not None
        producing.stdout.readline()
        producing.stdout.close()

        assert producing.wait(IN_TIME) == 0
    assert len(command.kafka.records(command.topic)) == 20_000


def test_a_group_begins_where_the_user_wants(command: Command) -> None:
    command.produce(stdin="old\n")

    latest = command.consume("--group", f"{command.topic}-a", "-X", "auto.offset.reset=latest")
    earliest = command.consume("--group", f"{command.topic}-b")

    assert (latest, earliest) == (Ran(0, ""), Ran(0, "old\n"))


def test_the_files_of_java_clients_name_serializers(command: Command, tmp_path: Path) -> None:
    path, kafkas = tmp_path / "app.properties", "org.apache.kafka.common.serialization"
    path.write_text(
        f"key.serializer={kafkas}.StringSerializer\nvalue.serializer=com.shop.OrderSerializer\n"
        f"key.deserializer={kafkas}.StringDeserializer\n"
        f"value.deserializer={kafkas}.IntegerDeserializer\n"
    )

    assert command.produce("-K", ":", "--properties", path, stdin="a:one\n") == Ran(0, "")
    read = command.consume("--properties", path, "-f", "%k=%s\\n")

    assert read == Ran(0, "a=one\n")
