"""Measure decoding and encoding of messages in microseconds, beside kafka-python and aiokafka.

All clients decode the same bytes, in versions that they share: the classic encoding for all three,
the compact one for pyk and kafka-python. Clients take turns; the figure is the median CPU time of
the rounds. The last column is pyk's time divided by that of the faster peer; the goal is 0.50.
Run with ``python -m benchmarks.message_codecs``.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from pyk.protocol import message_class

ROUNDS = 15
ROUND_SECONDS = 0.04


class Case(NamedTuple):
    """A message that all clients decode and encode."""

    title: str
    name: str
    classic: int
    """The highest version in the classic encoding that aiokafka has."""
    compact: int
    modules: tuple[str, str]
    """The module of the message in kafka-python and aiokafka."""
    value: dict[str, Any]


def metadata_response() -> dict[str, Any]:
    replicas = {"replicaNodes": [1, 2, 3], "isrNodes": [1, 2, 3], "offlineReplicas": []}
    partitions = [{"partitionIndex": i, "leaderId": 1 + i % 3, **replicas} for i in range(1000)]
    brokers = [{"nodeId": i, "host": f"broker-{i}.example.org", "port": 9092} for i in range(3)]
    topic = {"errorCode": 0, "name": "orders", "partitions": partitions}
    return {"brokers": brokers, "clusterId": "abc", "controllerId": 1, "topics": [topic]}


def fetch_response(record_bytes: int) -> dict[str, Any]:
    partitions = [
        {
            "partitionIndex": i,
            "highWatermark": 1_000_000,
            "lastStableOffset": 1_000_000,
            "logStartOffset": 0,
            "abortedTransactions": [],
            "records": bytes(record_bytes).hex(),
        }
        for i in range(100)
    ]
    return {"sessionId": 5, "responses": [{"partitions": partitions}]}


def produce_request(record_bytes: int) -> dict[str, Any]:
    partitions = [{"index": i, "records": bytes(record_bytes).hex()} for i in range(6)]
    topics = [{"name": "orders", "partitionData": partitions}]
    return {"acks": -1, "timeoutMs": 30_000, "topicData": topics}


def join_group_response() -> dict[str, Any]:
    members = [
        {"memberId": f"consumer-{i}-3f2504e0-4f89-11d3-9a0c", "metadata": bytes(60).hex()}
        for i in range(100)
    ]
    leader = members[0]["memberId"]
    group = {"generationId": 7, "protocolName": "range", "leader": leader, "memberId": leader}
    return {**group, "members": members}


CASES = (
    Case(
        "Metadata response, 1,000 partitions",
        "MetadataResponse",
        5,
        9,
        ("kafka.protocol.metadata", "aiokafka.protocol.metadata"),
        metadata_response(),
    ),
    Case(
        "Fetch response, 100 partitions, no data",
        "FetchResponse",
        11,
        12,
        ("kafka.protocol.consumer", "aiokafka.protocol.fetch"),
        fetch_response(record_bytes=0),
    ),
    Case(
        "Fetch response, 100 partitions, 1 kB each",
        "FetchResponse",
        11,
        12,
        ("kafka.protocol.consumer", "aiokafka.protocol.fetch"),
        fetch_response(record_bytes=1000),
    ),
    Case(
        "Produce request, 6 partitions, 1 kB each",
        "ProduceRequest",
        8,
        9,
        ("kafka.protocol.producer", "aiokafka.protocol.produce"),
        produce_request(record_bytes=1000),
    ),
    Case(
        "Produce request, 6 partitions, 16 kB each",
        "ProduceRequest",
        8,
        9,
        ("kafka.protocol.producer", "aiokafka.protocol.produce"),
        produce_request(record_bytes=16_000),
    ),
    Case(
        "JoinGroup response, 100 members",
        "JoinGroupResponse",
        5,
        9,
        ("kafka.protocol.consumer", "aiokafka.protocol.group"),
        join_group_response(),
    ),
)


class Codec(NamedTuple):
    """The steps of a client with one message."""

    decode: Callable[[], Any]
    encode: Callable[[], Any]


def pyk(case: Case, version: int, data: bytes) -> Codec:
    cls = message_class(case.name)
    message = cls.decode(data, version)
    return Codec(lambda: cls.decode(data, version), lambda: message.encode(version))


def kafka_python(case: Case, version: int, data: bytes) -> Codec:
    cls = getattr(importlib.import_module(case.modules[0]), case.name)
    message = cls.decode(data, version=version)
    message._header = None  # decoding leaves it unset, encoding reads it
    return Codec(lambda: cls.decode(data, version=version), lambda: message.encode(version=version))


def aiokafka(case: Case, version: int, data: bytes) -> Codec:
    module = importlib.import_module(case.modules[1])
    cls = getattr(module, f"{case.name}_v{version}")
    message = cls.decode(data)
    return Codec(lambda: cls.decode(data), message.encode)


def microseconds(codecs: dict[str, Codec], step: str) -> dict[str, float]:
    """Return the cost of one step for each client."""
    steps = {client: getattr(codec, step) for client, codec in codecs.items()}
    repeats = {client: _repeats(call) for client, call in steps.items()}
    costs: dict[str, list[float]] = {client: [] for client in steps}
    for _ in range(ROUNDS):
        for client, call in steps.items():
            costs[client].append(_seconds(call, repeats[client]) / repeats[client] * 1e6)
    return {client: median(rounds) for client, rounds in costs.items()}


def _repeats(call: Callable[[], Any]) -> int:
    return max(1, int(ROUND_SECONDS / max(_seconds(call, 1), 1e-7)))


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return time.process_time() - start


def main() -> None:
    print(f"{'µs each':45} {'step':7} {'pyk':>8} {'kafka-python':>13} {'aiokafka':>9}  to the best")
    for case in CASES:
        for version, peers in (
            (case.classic, (pyk, kafka_python, aiokafka)),
            (case.compact, (pyk, kafka_python)),
        ):
            data = message_class(case.name).from_json(case.value, version).encode(version)
            codecs = {client.__name__: client(case, version, data) for client in peers}
            gc.freeze()  # no client pays for collecting the garbage of the others
            for step in ("decode", "encode"):
                _report(f"{case.title} v{version}", step, microseconds(codecs, step))


def _report(title: str, step: str, costs: dict[str, float]) -> None:
    ours, best = costs["pyk"], min(cost for client, cost in costs.items() if client != "pyk")
    theirs = [costs.get(client, float("nan")) for client in ("kafka_python", "aiokafka")]
    print(f"{title:45} {step:7} {ours:8.1f} {theirs[0]:13.1f} {theirs[1]:9.1f}  {ours / best:.2f}")


if __name__ == "__main__":
    main()
