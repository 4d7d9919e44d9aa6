"""When the next fetch leaves: before a blocking application has its records, or after."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients.consumer.faces.read_path import QUICK_SECONDS, ApplicationPace
from pyk.clients.engine.thread import LoopThread
from support.loop_threads import ident
from support.real_time import IN_TIME, eventually

GRACE_SECONDS = 10.0  # however slowly this test runs


class SetClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def time_ms(self) -> int:
        return int(self.seconds * 1000)


class Application:
    """One that waits for records, and works on them for a time."""

    def __init__(self, thread: LoopThread) -> None:
        self.clock = SetClock()
        self.pace = ApplicationPace(thread, self.clock)
        self.steps: list[str] = []
        self._thread = thread

    def works_for(self, seconds: float) -> None:
        self.pace.application_goes()
        self.clock.seconds += seconds
        self.pace.application_comes()

    def gets_records(self) -> list[str]:
        """Wait for records; return what had happened by then."""
        self._thread.call(ident())  # work that was left before is done
        self.steps.clear()
        self.pace.waiter.clear()
        self._thread.post(lambda: self.pace.take_records(lambda: self.steps.append("fetch")))
        assert self.pace.waiter.wait(IN_TIME)
        return list(self.steps)


@pytest.fixture
def application() -> Iterator[Application]:
    thread = LoopThread("consumer")
    thread.call(ident())
    thread._drivers.handover.grace = GRACE_SECONDS
    yield Application(thread)
    thread.close()


def test_a_quick_application_has_its_records_before_the_next_fetch_leaves(
    application: Application,
) -> None:
    application.works_for(QUICK_SECONDS / 2)

    # The background thread may drive at first; it naps once it finds a caller.
    eventually(lambda: application.gets_records() == [])


def test_the_application_sends_the_fetch_when_it_comes_back(application: Application) -> None:
    eventually(lambda: application.gets_records() == [])

    application._thread.call(ident())

    assert application.steps == ["fetch"]


def test_the_next_fetch_leaves_first_while_an_application_works_for_long(
    application: Application,
) -> None:
    eventually(lambda: application.gets_records() == [])

    application.works_for(QUICK_SECONDS * 2)

    assert application.gets_records() == ["fetch"]


def test_it_leaves_first_where_the_application_does_not_drive(application: Application) -> None:
    fetched: list[str] = []

    application._thread.post(
        lambda: application.pace.take_records(lambda: fetched.append("without a caller"))
    )

    eventually(lambda: fetched == ["without a caller"])
