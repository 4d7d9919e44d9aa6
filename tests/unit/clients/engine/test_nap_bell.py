"""A thread that naps while callers drive the loop, and the threads that ring."""

from __future__ import annotations

import threading

from pyk.clients.engine.handover import Handover
from pyk.clients.engine.nap_bell import NapBell
from support.real_time import IN_TIME

SHORT = 0.001


def test_a_ring_ends_the_next_nap() -> None:
    bell = NapBell()

    bell.ring()
    bell.ring()

    bell.nap(None, Handover(SHORT))


def test_rings_end_one_nap_only() -> None:
    bell, napped = NapBell(), threading.Event()
    for _ in range(3):
        bell.ring()
    bell.nap(None, Handover(SHORT))
    sleeper = threading.Thread(target=lambda: (bell.nap(None, Handover(SHORT)), napped.set()))
    sleeper.start()

    is_over = napped.wait(10 * SHORT)
    bell.ring()
    sleeper.join(IN_TIME)

    assert not is_over
    assert napped.is_set()


def test_a_nap_ends_by_itself() -> None:
    bell, handover = NapBell(), Handover(SHORT)
    handover.background_looks(0, float("inf"))

    bell.nap(SHORT, handover)
