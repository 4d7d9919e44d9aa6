"""Clients that live as long as a Python worker."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping

import attrs
import pytest

from pyk.clients.errors import BootstrapError, KafkaError
from pyk.runtime.virtual_time import VirtualClock
from pyk.spark_connector import workers
from pyk.spark_connector.workers import ClientPool


@attrs.define(eq=False)
class FakeClient:
    properties: Mapping[str, str]
    closed: bool = False

    def close(self, timeout: float | None = None) -> None:
        self.closed = True


A, B = {"bootstrap.servers": "a:1"}, {"bootstrap.servers": "b:1"}


def test_the_next_task_gets_the_same_client() -> None:
    pool = ClientPool()
    with pool.borrow(FakeClient, A) as first:
        pass

    with pool.borrow(FakeClient, dict(A)) as second:
        assert second is first
        assert not second.closed


def test_another_configuration_gets_another_client() -> None:
    pool = ClientPool()
    with pool.borrow(FakeClient, A) as first:
        pass

    with pool.borrow(FakeClient, B) as second:
        assert second is not first


def test_a_client_serves_one_task_at_a_time() -> None:
    pool = ClientPool()

    with pool.borrow(FakeClient, A) as first, pool.borrow(FakeClient, A) as second:
        assert second is not first


def test_a_client_that_failed_is_closed() -> None:
    pool = ClientPool()
    with pytest.raises(RuntimeError), pool.borrow(FakeClient, A) as failed:
        raise RuntimeError

    assert failed.closed
    with pool.borrow(FakeClient, A) as other:
        assert other is not failed


def test_a_task_that_stops_early_returns_its_client_to_the_pool() -> None:
    pool = ClientPool()

    def read() -> Iterator[FakeClient]:
        with pool.borrow(FakeClient, A) as client:
            yield client
            yield client

    reader = read()
    first = next(reader)
    reader.close()  # type: ignore[attr-defined]

    with pool.borrow(FakeClient, A) as second:
        assert second is first
        assert not first.closed


def test_an_unreachable_cluster_is_retried() -> None:
    clock = VirtualClock()
    failures: list[KafkaError] = [BootstrapError("no bootstrap server answers")] * 60

    def make(properties: Mapping[str, str]) -> FakeClient:
        if failures:
            raise failures.pop()
        return FakeClient(properties)

    with ClientPool(clock.advance).borrow(make, A, connect_timeout=120) as client:
        assert client.properties == A

    assert clock.now() == 60


def test_an_unreachable_cluster_fails_after_the_timeout_of_a_task() -> None:
    clock = VirtualClock()

    def make(properties: Mapping[str, str]) -> FakeClient:
        raise BootstrapError("no bootstrap server answers")

    with (
        pytest.raises(BootstrapError),
        ClientPool(clock.advance).borrow(make, A, connect_timeout=120),
    ):
        pass

    assert clock.now() == 120


def test_the_number_of_idle_clients_is_limited() -> None:
    pool = ClientPool()
    with (
        pool.borrow(FakeClient, A) as first,
        pool.borrow(FakeClient, A) as second,
        pool.borrow(FakeClient, A) as third,
    ):
        pass

    assert [first.closed, second.closed, third.closed] == [True, False, False]


def test_a_forked_process_does_not_use_the_clients_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = ClientPool()
    with pool.borrow(FakeClient, A) as parents:
        pass
    monkeypatch.setattr(os, "getpid", lambda: -1)

    with pool.borrow(FakeClient, A) as own:
        assert own is not parents
        assert not parents.closed


def test_garbage_is_frozen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    freezes: list[None] = []
    monkeypatch.setattr(workers, "_is_frozen", False)
    monkeypatch.setattr(gc, "freeze", lambda: freezes.append(None))

    workers.freeze_imports()
    workers.freeze_imports()

    assert len(freezes) == 1
