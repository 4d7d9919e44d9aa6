"""Functions of logins run in threads that hold nothing else up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from pyk.clients.engine.login_threads import LoginThreads
from pyk.clients.security.exchange import CredentialsError
from support.real_time import IN_TIME


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_a_function_returns_or_raises() -> None:
    threads = LoginThreads()

    assert await threads.call(lambda: "token") == "token"
    with pytest.raises(ZeroDivisionError):
        await threads.call(lambda: 1 // 0)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
async def test_an_exit_ends_the_login_and_not_the_loop(kind: type[BaseException]) -> None:
    def leave() -> None:
        raise kind("canary")

    with pytest.raises(CredentialsError, match=f"raised {kind.__name__}$"):
        await LoginThreads().call(leave)


async def test_functions_that_do_not_return_leave_the_threads_of_the_loop_free(
    released: threading.Event,
) -> None:
    threads = LoginThreads(most=100)
    calls = [asyncio.ensure_future(threads.call(released.wait)) for _ in range(100)]
    await asyncio.sleep(0)

    async with asyncio.timeout(IN_TIME):
        assert await asyncio.to_thread(lambda: "resolved") == "resolved"
    for call in calls:
        call.cancel()


async def test_a_login_waits_for_a_thread_once_too_many_have_not_returned(
    released: threading.Event,
) -> None:
    threads = LoginThreads(most=2)
    for _ in range(2):
        given_up = asyncio.ensure_future(threads.call(released.wait))
        await asyncio.sleep(0)
        given_up.cancel()
    next_call = asyncio.ensure_future(threads.call(lambda: "token"))
    await asyncio.sleep(0)
    assert not next_call.done()

    released.set()

    async with asyncio.timeout(IN_TIME):
        assert await next_call == "token"


async def test_a_thread_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    threads = LoginThreads(most=1)

    for _ in range(2):
        with pytest.raises(CredentialsError, match="no thread"):
            await threads.call(lambda: "token")
