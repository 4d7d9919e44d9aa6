"""Why a socket cannot reach a network in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from pyk.runtime.network.memory_addresses import OF_WORLD, note_opened, refusal_hint
from support.real_time import called_by_many_threads


class OneNetwork:
    """A network in memory."""


@pytest.fixture
def switching_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("switching_often")
def test_a_connection_may_be_refused_while_other_threads_begin_and_end_networks() -> None:
    kept = [OneNetwork() for _ in range(50)]
    for network in kept:
        note_opened(network, "kept:1")
    refused = ConnectionRefusedError()

    calls = [
        lambda: note_opened(OneNetwork(), "other:1"),
        lambda: refusal_hint(refused, "nowhere:1"),
    ]
    with called_by_many_threads(calls, turns=2_000) as surprises:
        pass

    assert surprises == []
    assert refusal_hint(refused, "kept:1") == OF_WORLD
