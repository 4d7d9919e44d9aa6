"""Apache Kafka's command-line tools, and so its Java clients, with the reference broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import apache_kafka
from support.broker_process import BrokerProcess
from support.kafka_tools import dump_log_segments, run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]


GROUP_COMMAND = "consumer.group.ConsumerGroupCommand"


def tool(name: str, bootstrap: str, *arguments: str, **options: object) -> str:
    """Run a tool and return its output; fail with that output if it reports an error."""
    printed = run_tool(name, "--bootstrap-server", bootstrap, *arguments, **options)
    assert "Exception" not in printed, printed
    return printed


def test_the_topic_tool_creates_alters_describes_and_deletes_a_topic(bootstrap: str) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", "java-topics", "--partitions", "3")
    tool("TopicCommand", bootstrap, "--alter", "--topic", "java-topics", "--partitions", "5")

    described = tool("TopicCommand", bootstrap, "--describe", "--topic", "java-topics")
    assert "PartitionCount: 5" in described
    tool("TopicCommand", bootstrap, "--delete", "--topic", "java-topics")

    assert "java-topics" not in tool("TopicCommand", bootstrap, "--list")


@pytest.mark.parametrize("topics", [["--topic", "java-assigned"], ["--include", "java-assig.*"]])
def test_the_console_consumer_reads_in_a_group_that_the_coordinator_assigns(
    bootstrap: str, topics: list[str]
) -> None:
    lines = "".join(f"{number}\n" for number in range(100))
    group = f"java{topics[0]}"
    tool("TopicCommand", bootstrap, "--create", "--if-not-exists", "--topic", "java-assigned")
    tool("ConsoleProducer", bootstrap, "--topic", "java-assigned", input=lines)

    read = tool(
        "consumer.ConsoleConsumer",
        bootstrap,
        *topics,
        *("--group", group, "--from-beginning", "--max-messages", "100"),
        *("--command-property", "group.protocol=consumer"),
    )

    assert sorted(set(read.split())) == sorted(lines.split())
    listed = tool(GROUP_COMMAND, bootstrap, "--list", "--type")
    assert [group, "Consumer"] in [line.split() for line in listed.splitlines()]


def test_the_console_tools_produce_and_consume_and_the_group_is_described(
    broker: BrokerProcess, bootstrap: str, tmp_path: Path
) -> None:
    lines = "".join(f"{number}\n" for number in range(100))
    group = ["--group", "java-group", "--topic", "java-records"]
    tool("TopicCommand", bootstrap, "--create", "--topic", "java-records", "--partitions", "3")

    tool("ConsoleProducer", bootstrap, "--topic", "java-records", input=lines)
    read = tool(
        "consumer.ConsoleConsumer", bootstrap, *group, "--from-beginning", "--max-messages", "100"
    )
    assert sorted(read.split()) == sorted(lines.split())

    commands = GROUP_COMMAND
    described = tool(commands, bootstrap, "--describe", "--group", "java-group")
    assert (
        sum(int(line.split()[3]) for line in described.splitlines() if "java-records" in line)
        == 100
    )
    assert "Empty" in tool(commands, bootstrap, "--list", "--state")
    tool(commands, bootstrap, "--reset-offsets", *group, "--to-earliest", "--execute")
    tool(commands, bootstrap, "--delete", "--group", "java-group")
    assert "java-group" not in tool(commands, bootstrap, "--list")


def test_dump_log_segments_reads_the_files_of_the_reference_broker(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        tool("TopicCommand", broker.bootstrap, "--create", "--topic", "files")
        tool("ConsoleProducer", broker.bootstrap, "--topic", "files", input="one\ntwo\n")
        broker.terminate()

    def dump(directory: str, *options: str) -> str:
        log = tmp_path / "node0" / directory / "00000000000000000000.log"
        return dump_log_segments([log], *options)

    assert "payload: two" in dump("files-0", "--print-data-log")
    metadata = dump("__cluster_metadata-0", "--cluster-metadata-decoder")
    assert '"type":"TOPIC_RECORD","version":0,"data":{"name":"files"' in metadata


def test_the_transaction_tool_lists_describes_and_aborts_a_transaction(bootstrap: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    commands, topic = "TransactionsCommand", "java-transactions"
    place = ["--topic", topic, "--partition", "1"]
    tool("TopicCommand", bootstrap, "--create", "--topic", topic, "--partitions", "2")
    options = {"bootstrap.servers": bootstrap, "transactional.id": "java-id"}
    producer = confluent_kafka.Producer(options)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=1)
    assert producer.flush(30) == 0

    listed = row_of(tool(commands, bootstrap, "list"), "TransactionalId", "java-id")
    assert listed["TransactionState"] == "Ongoing"
    described = tool(commands, bootstrap, "describe", "--transactional-id", "java-id")
    assert row_of(described, "TransactionalId", "java-id")["TopicPartitions"] == f"{topic}-1"
    producer_id, shown = listed["ProducerId"], "CurrentTransactionStartOffset"
    known = tool(commands, bootstrap, "describe-producers", *place)
    assert row_of(known, "ProducerId", producer_id)[shown] == "0"
    tool(commands, bootstrap, "find-hanging", "--broker-id", "0")
    tool(commands, bootstrap, "abort", *place, "--start-offset", "0")

    known = tool(commands, bootstrap, "describe-producers", *place)
    assert row_of(known, "ProducerId", producer_id)[shown] == "None"


def row_of(printed: str, column: str, value: str) -> dict[str, str]:
    """Return the row of a printed table that has a value in a column."""
    names, *rows = (line.split() for line in printed.splitlines() if line.strip())
    found = (dict(zip(names, row, strict=False)) for row in rows)
    return next(row for row in found if row[column] == value)
