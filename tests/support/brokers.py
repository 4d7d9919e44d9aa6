"""Ours and Apache Kafka behind one face, so that a scenario is written once."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pyk.clients import Admin, NewTopic
from pyk.protocol import ApiKey
from pyk.reference_broker import Cluster
from support.apache_kafka import ApacheKafka
from support.proxy import Proxy

_numbers = itertools.count()


class Kafka(Protocol):
    """A running broker, as a scenario sees it."""

    bootstrap: str

    def kill_and_restart(self) -> None:
        """End the broker's process without a word, and start it again on the same data."""

    def losing_reply(self, api_key: ApiKey) -> contextlib.AbstractContextManager[str]:
        """Apply the next such request but lose its reply; gives the bootstrap address to use."""


class ReferenceBroker:
    """pyk's own broker, on disk."""

    def __init__(self, folder: Path) -> None:
        self._cluster = Cluster(data_dir=folder)

    def __enter__(self) -> ReferenceBroker:
        self._cluster.__enter__()
        self.bootstrap = self._cluster.bootstrap
        return self

    def __exit__(self, *exc: object) -> None:
        self._cluster.__exit__(None, None, None)

    def kill_and_restart(self) -> None:
        self._cluster.kill(0)
        self._cluster.start(0)

    @contextlib.contextmanager
    def losing_reply(self, api_key: ApiKey) -> Iterator[str]:
        with self._cluster.faults.on(api_key.name).once().apply_then_lose_response() as rule:
            yield self.bootstrap
            assert rule.hits == 1


class RealKafka:
    """Apache Kafka, with a proxy in front of its second listener."""

    def __init__(self) -> None:
        self._kafka = ApacheKafka()
        self._proxy = Proxy(self._kafka.proxy_port, self._kafka.proxied_port)

    def __enter__(self) -> RealKafka:
        self._kafka.__enter__()
        self._proxy.__enter__()
        self.bootstrap = self._kafka.bootstrap
        return self

    def __exit__(self, *exc: object) -> None:
        self._proxy.__exit__()
        self._kafka.__exit__()

    def kill_and_restart(self) -> None:
        self._kafka.kill()
        self._kafka.start()

    @contextlib.contextmanager
    def losing_reply(self, api_key: ApiKey) -> Iterator[str]:
        before = self._proxy.lost
        with self._proxy.losing_reply(api_key):
            yield f"127.0.0.1:{self._kafka.proxy_port}"
        assert self._proxy.lost == before + 1


def make_topic(kafka: Kafka, name: str, *, partitions: int = 1, **configs: str) -> str:
    """Create a topic and return its name, made unique.

    It keeps records of any age: those that tests write with old timestamps would else be deleted
    by the first check of retention.
    """
    unique = f"{name}-{next(_numbers)}"
    with Admin(kafka.bootstrap) as admin:
        admin.create_topics(
            [NewTopic(unique, partitions=partitions, configs={"retention.ms": "-1", **configs})]
        )
    return unique
