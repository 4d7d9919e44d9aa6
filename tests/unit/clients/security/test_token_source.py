"""Tokens are fetched once for all that need one, before they end, and kept if that fails."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
from collections.abc import Callable

import attrs
import pytest

from pyk.clients.errors import ConfigurationError
from pyk.clients.security import Secret
from pyk.clients.security.exchange import CredentialsError
from pyk.clients.security.token_answers import Token, TokenError
from pyk.clients.security.token_life import RefreshWindow, Retries
from pyk.clients.security.token_source import TokenSource
from support.forks import status_of_fork

HOUR = 3600.0


@attrs.define
class FakeClock:
    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def time_ms(self) -> int:
        return int(self.seconds * 1000)

    def wait(self, seconds: float) -> None:
        self.seconds += seconds


@attrs.define
class Provider:
    """Gives token1, token2, … ; first the failures, which may have an effect."""

    failures: list[TokenError] = attrs.Factory(list)
    lifetime: float = HOUR
    given: int = 0
    asked: int = 0
    when_asked: Callable[[], object] = lambda: None

    def fetch(self) -> Token:
        self.asked += 1
        self.when_asked()
        if self.failures:
            raise self.failures.pop(0)
        self.given += 1
        return Token(Secret(f"token{self.given}"), self.lifetime)


def source_of(provider: Provider, clock: FakeClock, *, patience: float = 30.0) -> TokenSource:
    return TokenSource(
        provider.fetch,
        RefreshWindow(jitter=0),
        Retries(),
        clock=clock,
        random=random.Random(1),
        wait=clock.wait,
        patience=patience,
    )


def test_a_token_is_used_for_four_fifths_of_its_life() -> None:
    provider, clock = Provider(), FakeClock()
    source = source_of(provider, clock)

    tokens = []
    for at in (0, 0.79, 0.8, 1.59):
        clock.seconds = 1000 + at * HOUR
        tokens.append(source.token().reveal())

    assert tokens == ["token1", "token1", "token2", "token2"]


@pytest.mark.parametrize(
    ("lifetime", "chance", "refresh_in"),
    [
        (HOUR, 0.0, 2880),
        (HOUR, 1.0, 3060),
        (1000.0, 0.0, 700),  # 300 s before its end
        (370.0, 0.0, 70),
        (361.0, 0.0, 61),
        (360.0, 0.0, 60),
        (359.0, 0.0, 287.2),  # too short for both limits, so neither counts
        (10.0, 1.0, 8.5),
    ],
)
def test_the_next_token_is_fetched_when_kafkas_client_would(
    lifetime: float, chance: float, refresh_in: float
) -> None:
    assert RefreshWindow().refresh_in(lifetime, chance) == pytest.approx(refresh_in)


def test_a_token_is_used_for_its_shortest_period_at_least() -> None:
    window = RefreshWindow(factor=0.5, jitter=0.0, min_period_seconds=300, buffer_seconds=10)

    assert window.refresh_in(320, 0.0) == 300
    assert window.refresh_in(309, 0.0) == pytest.approx(154.5)


@pytest.mark.parametrize("options", [{"factor": 0.4}, {"factor": 1.1}, {"jitter": 0.3}])
def test_a_window_out_of_kafkas_range_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        RefreshWindow(**options)


def test_a_token_that_cannot_be_replaced_is_used_until_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider, clock = Provider(), FakeClock()
    source = source_of(provider, clock)
    source.token()
    provider.failures = [TokenError("provider is down", is_retriable=True)] * 3

    clock.seconds += 0.9 * HOUR
    assert source.token().reveal() == "token1"
    assert source.token().reveal() == "token1"  # not asked again so soon
    assert provider.asked == 2
    assert "valid for 360 s more: provider is down" in caplog.text
    clock.seconds += 10
    assert source.token().reveal() == "token1"
    assert provider.asked == 3
    clock.seconds += 360
    assert source.token().reveal() == "token2"


def test_a_failure_that_may_pass_is_retried_for_ten_seconds() -> None:
    clock, down = FakeClock(), TokenError("provider is down", is_retriable=True)
    provider = Provider([down] * 5)

    assert source_of(provider, clock).token().reveal() == "token1"
    assert clock.seconds == pytest.approx(1000 + 0.1 + 0.2 + 0.4 + 0.8 + 1.6)

    provider, clock = Provider([down] * 100), FakeClock()
    with pytest.raises(CredentialsError, match="provider is down"):
        source_of(provider, clock).token()
    assert clock.seconds == pytest.approx(1010)


def test_the_first_failure_is_warned_about_and_the_others_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    down = TokenError("provider is down", is_retriable=True)
    provider = Provider(failures=[down] * 3)
    caplog.set_level(logging.WARNING)

    source_of(provider, FakeClock()).token()

    assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
        "No token in attempt 1"
    ]


def test_a_failure_is_named_while_another_attempt_is_to_follow() -> None:
    clock, down = FakeClock(), TokenError("provider is down", is_retriable=True)
    provider, named = Provider([down, down]), []
    source = source_of(provider, clock)
    provider.when_asked = lambda: named.append(source.problem)

    source.token()

    assert named == ["", "provider is down", "provider is down"]
    assert source.problem == ""


def test_a_refusal_is_not_retried() -> None:
    provider = Provider([TokenError("invalid_client")])

    with pytest.raises(CredentialsError, match="invalid_client"):
        source_of(provider, FakeClock()).token()

    assert provider.asked == 1


def test_all_that_need_a_token_share_one_fetch() -> None:
    provider, tokens = Provider(), list[str]()
    source = source_of(provider, FakeClock())
    threads = [
        threading.Thread(target=lambda: tokens.append(source.token().reveal())) for _ in range(5)
    ]

    def others_come() -> None:
        for thread in threads:
            thread.start()

    provider.when_asked = others_come
    tokens.append(source.token().reveal())
    for thread in threads:
        thread.join(30)

    assert tokens == ["token1"] * 6
    assert provider.asked == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_of_its_parent() -> None:
    provider, is_asked, may_answer = Provider(), threading.Event(), threading.Event()
    source = source_of(provider, FakeClock())
    provider.when_asked = lambda: (is_asked.set(), may_answer.wait(30))
    thread = threading.Thread(target=source.token)
    thread.start()
    is_asked.wait(30)

    def gets_no_token() -> int:
        provider.when_asked = lambda: None
        return source.token().reveal() != "token1"

    status = status_of_fork(gets_no_token)
    may_answer.set()
    thread.join(30)

    assert status == 0


async def test_logins_on_an_event_loop_share_one_fetch_and_one_thread() -> None:
    provider, clock = Provider(), FakeClock()
    source = source_of(provider, clock)
    threads = set[int]()
    provider.when_asked = lambda: threads.add(threading.get_ident())

    tokens = await asyncio.gather(*(source.token_on_loop() for _ in range(5)))

    assert [one.reveal() for one in tokens] == ["token1"] * 5
    assert provider.asked == 1
    assert threading.get_ident() not in threads


async def test_a_login_that_gives_up_takes_the_token_from_nobody() -> None:
    provider, may_answer = Provider(), threading.Event()
    provider.when_asked = lambda: may_answer.wait(30)
    source = source_of(provider, FakeClock())
    first = asyncio.create_task(source.token_on_loop())
    second = asyncio.create_task(source.token_on_loop())
    await asyncio.sleep(0)

    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    may_answer.set()

    assert (await second).reveal() == "token1"
    assert provider.asked == 1


async def test_a_login_does_not_wait_long_while_the_old_token_is_valid() -> None:
    provider, clock, may_answer = Provider(), FakeClock(), threading.Event()
    source = source_of(provider, clock, patience=0.01)
    await source.token_on_loop()
    clock.seconds += 0.9 * HOUR
    provider.when_asked = lambda: may_answer.wait(30)

    tokens = [(await source.token_on_loop()).reveal() for _ in range(2)]
    may_answer.set()
    while source.is_fetching:
        await asyncio.sleep(0)

    assert tokens == ["token1", "token1"]
    assert (await source.token_on_loop()).reveal() == "token2"
    assert provider.asked == 2


def test_a_loop_that_was_closed_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    provider, may_answer = Provider(), threading.Event()
    provider.when_asked = lambda: may_answer.wait(30)
    source = source_of(provider, FakeClock())

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await source.token_on_loop()

    asyncio.run(give_up())
    may_answer.set()

    assert source.token().reveal() == "token1"
    assert caplog.records == []


async def test_a_refusal_reaches_logins_on_an_event_loop() -> None:
    source = source_of(Provider([TokenError("invalid_client")]), FakeClock())

    with pytest.raises(CredentialsError, match="invalid_client"):
        await source.token_on_loop()


def test_a_token_that_a_broker_refused_is_not_used_again() -> None:
    provider, clock = Provider(), FakeClock()
    source = source_of(provider, clock)

    source.forget(Secret("another"))
    first = source.token()
    source.forget(first)
    assert source.token() == first, "the provider is not asked with each login"
    clock.wait(10)

    assert source.token().reveal() == "token2"
    source.forget(Secret("token1"))
    assert source.token().reveal() == "token2"


def test_a_mistake_in_a_fetch_reaches_all_that_wait() -> None:
    provider = Provider()
    provider.when_asked = lambda: {}["no such name"]
    source = source_of(provider, FakeClock())

    with pytest.raises(KeyError):
        source.token()
    provider.when_asked = lambda: None

    assert source.token().reveal() == "token1"
