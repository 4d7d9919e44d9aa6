"""A client is started when entered, and closed when left or when starting fails."""

from __future__ import annotations

import pytest

from pyk.clients.engine.context import AsyncContext, BlockingContext


class RefusedError(Exception):
    """The client could not start."""


class Blocking(BlockingContext):
    """A client that notes what happens to it."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self._failure = failure

    def start(self) -> None:
        self.calls.append("start")
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self.calls.append("close")


class Awaited(AsyncContext):
    """The same, awaited."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self._failure = failure

    async def start(self) -> None:
        self.calls.append("start")
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        self.calls.append("close")


async def test_a_client_is_started_and_closed() -> None:
    with Blocking() as blocking:
        assert blocking.calls == ["start"]
    async with Awaited() as awaited:
        assert awaited.calls == ["start"]

    assert blocking.calls == awaited.calls == ["start", "close"]


@pytest.mark.parametrize("failure", [RefusedError(), KeyboardInterrupt()])
async def test_a_client_that_cannot_start_is_closed(failure: BaseException) -> None:
    blocking, awaited = Blocking(failure), Awaited(failure)

    with pytest.raises(type(failure)), blocking:
        raise AssertionError("it was entered")
    with pytest.raises(type(failure)):
        async with awaited:
            raise AssertionError("it was entered")

    assert blocking.calls == awaited.calls == ["start", "close"]


async def test_an_error_inside_closes_the_client_and_goes_on() -> None:
    blocking, awaited = Blocking(), Awaited()

    with pytest.raises(RefusedError), blocking:
        raise RefusedError
    with pytest.raises(RefusedError):
        async with awaited:
            raise RefusedError

    assert blocking.calls == awaited.calls == ["start", "close"]
