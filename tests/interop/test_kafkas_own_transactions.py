"""Apache Kafka's Java producer and tools with the transactions of the reference broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyk.reference_broker.coordinator.shards import partition_for
from support import apache_kafka
from support.broker_process import BrokerProcess
from support.kafka_tools import dump_log_segments, run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

ID = "java-perf"


def tool(name: str, bootstrap: str, *arguments: str) -> str:
    """Run a tool and return its output; fail with that output if it reports an error."""
    printed = run_tool(name, "--bootstrap-server", bootstrap, *arguments)
    assert "Exception" not in printed, printed
    return printed


def test_the_java_producer_runs_transactions_that_the_tools_show(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        tool("TopicCommand", broker.bootstrap, "--create", "--topic", "java-tx")
        produced = tool(
            "ProducerPerformance",
            broker.bootstrap,
            *("--topic", "java-tx", "--num-records", "500", "--record-size", "100"),
            *("--throughput", "500", "--transactional-id", ID),
            *("--transaction-duration-ms", "200"),
        )
        assert "500 records sent" in produced

        listed = tool("TransactionsCommand", broker.bootstrap, "list")
        described = tool(
            "TransactionsCommand", broker.bootstrap, "describe", "--transactional-id", ID
        )
        features = tool("FeatureCommand", broker.bootstrap, "describe")
        broker.terminate()

    assert ID in listed
    assert "CompleteCommit" in described
    (line,) = [line for line in features.splitlines() if "transaction.version" in line]
    assert "SupportedMaxVersion: 2" in line
    assert "FinalizedVersionLevel: 2" in line
    directory = f"__transaction_state-{partition_for(ID, 5)}"
    log = tmp_path / "node0" / directory / "00000000000000000000.log"
    dumped = dump_log_segments([log], "--transaction-log-decoder")
    assert f'"transactionalId":"{ID}"' in dumped
    assert '"transactionStatus":2' in dumped, "no PrepareCommit"
    assert '"transactionStatus":4' in dumped, "no CompleteCommit"
