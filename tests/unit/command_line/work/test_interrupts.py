"""Signals that wait until a step is done."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from pyk.command_line.work.interrupts import SIGNALS, Interrupts, interrupts


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of signals before and after a test."""
    before = {one: signal.getsignal(one) for one in SIGNALS}
    yield
    assert {one: signal.getsignal(one) for one in SIGNALS} == before
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize("sent", SIGNALS)
def test_a_signal_interrupts_at_once(sent: signal.Signals) -> None:
    with interrupts(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(sent)


def hold(signals: Interrupts, sent: list[signal.Signals], steps: list[str]) -> None:
    """Hold signals back while these are sent, and note each that waits."""
    with signals.held():
        for one in sent:
            signal.raise_signal(one)
            steps.append("waits")


@pytest.mark.parametrize("sent", SIGNALS)
def test_a_signal_waits_until_the_end_of_what_is_held(sent: signal.Signals) -> None:
    steps: list[str] = []
    with interrupts() as signals:
        with pytest.raises(KeyboardInterrupt):
            hold(signals, [sent], steps)
        hold(signals, [], steps)  # nothing waits any more
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(sent)

    assert steps == ["waits"]


def test_a_second_signal_does_not_wait() -> None:
    steps: list[str] = []
    with interrupts() as signals, pytest.raises(KeyboardInterrupt):
        hold(signals, [signal.SIGINT, signal.SIGTERM], steps)

    assert steps == ["waits"]


def test_what_is_held_after_a_second_signal_is_not_interrupted_by_the_first() -> None:
    steps: list[str] = []
    with interrupts() as signals:
        with pytest.raises(KeyboardInterrupt):
            hold(signals, [signal.SIGINT, signal.SIGINT], steps)
        hold(signals, [], steps)

    assert steps == ["waits"]


def fail(signals: Interrupts) -> None:
    with signals.held():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("broken")


def test_the_error_of_what_is_held_is_raised() -> None:
    with interrupts() as signals, pytest.raises(ValueError, match="broken"):
        fail(signals)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
