"""Signals that wait until a step is done."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from pyk.command_line.interrupts import Interrupts
from pyk.command_line.work.interruptible import SIGNALS, interrupts


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of signals before and after a test; that of Ctrl-C is Python's own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module during whose import a signal comes."""
    name = "interrupted_module"
    source = "import signal; signal.raise_signal(signal.SIGINT); done = True"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_a_signal_waits_until_the_end_of_an_import(module: str) -> None:
    with interrupts(), pytest.raises(KeyboardInterrupt):
        import_module(module)

    assert sys.modules[module].done
    assert sys.getprofile() is None


def test_a_signal_does_not_wait_for_an_import_while_a_profiler_runs(module: str) -> None:
    def profile(*_: object) -> None:
        pass

    sys.setprofile(profile)
    try:
        with interrupts(), pytest.raises(KeyboardInterrupt):
            import_module(module)

        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)

    assert module not in sys.modules


class Finalized:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_a_finalizer_has_lost_is_raised_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    signals = Interrupts()
    signals.install()
    try:
        with pytest.raises(KeyboardInterrupt):
            end(Finalized())
    finally:
        signals.uninstall()

    assert sys.getprofile() is None
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    signal.signal(signal.SIGINT, signal.default_int_handler)


def end(finalized: Finalized) -> None:
    """Drop an object, and go on."""
    del finalized
    len("")


class Failing:
    def __del__(self) -> None:
        raise ValueError("broken")


def test_what_else_a_finalizer_raises_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", Interrupts()._notice)

    Failing()

    assert "ValueError: broken" in capsys.readouterr().err
