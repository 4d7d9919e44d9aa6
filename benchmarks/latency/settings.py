"""The settings of each client for low latency.

All clients wait for all replicas, are idempotent, and do not linger. The rest are defaults, except
those that cost latency:

* librdkafka: ``socket.nagle.disable`` is the default only since 2.10. ``fetch.queue.backoff.ms``
  is 1,000: for so long a partition is not fetched once its queue is full.
* aiokafka and kafka-python: by default linger is 0, and a fetch waits at the broker for the first
  byte. Both turn Nagle's algorithm off.

A broker that leaves Nagle's algorithm on costs more than any setting: with several requests in
flight, a response waits up to 40 ms until the client's kernel has acknowledged the one before. If
a client shows a p99 of about that, check this first.
"""

from __future__ import annotations

from typing import Any

PYK_PRODUCER: dict[str, Any] = {"linger_ms": 0}
PYK_CONSUMER: dict[str, Any] = {"auto_offset_reset": "latest"}

CONFLUENT_PRODUCER: dict[str, Any] = {
    "linger.ms": 0,
    "enable.idempotence": True,
    "socket.nagle.disable": True,
}
CONFLUENT_CONSUMER: dict[str, Any] = {
    "group.id": "latency",
    "enable.auto.commit": False,
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 500,
    "fetch.queue.backoff.ms": 1,
    "queued.min.messages": 100_000,
    "socket.nagle.disable": True,
}

AIOKAFKA_PRODUCER: dict[str, Any] = {"linger_ms": 0, "enable_idempotence": True}
AIOKAFKA_CONSUMER: dict[str, Any] = {
    "auto_offset_reset": "latest",
    "fetch_min_bytes": 1,
    "fetch_max_wait_ms": 500,
}

KAFKA_PYTHON_PRODUCER: dict[str, Any] = {
    "linger_ms": 0,
    "enable_idempotence": True,
    "acks": "all",
}
KAFKA_PYTHON_CONSUMER: dict[str, Any] = {
    "auto_offset_reset": "latest",
    "enable_auto_commit": False,
    "fetch_min_bytes": 1,
    "fetch_max_wait_ms": 500,
}
