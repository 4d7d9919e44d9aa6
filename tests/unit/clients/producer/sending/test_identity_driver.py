"""The driver of an identity policy sends the policy's requests until one is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs

from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.producer.sending.identity import IdempotentIdentity, IdentityRequest
from pyk.clients.producer.sending.identity_driver import IdentityDriver
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.runtime.virtual_time import virtual_time
from support.engine_parts import running

LOADING = HeartbeatResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
DENIED = HeartbeatResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
DONE = HeartbeatResponse()


class AnyRequest(IdempotentIdentity):
    """A policy that needs something other than a producer id."""

    def __init__(self, answered: Callable[[Any], None]) -> None:
        super().__init__()
        self._request = IdentityRequest("send a heartbeat", HeartbeatRequest(), answered)

    def next_request(self) -> IdentityRequest | None:
        return self._request


@attrs.define
class Outcome:
    """The reports of a driver about its attempts."""

    responses: list[HeartbeatResponse] = attrs.Factory(list)
    refusals: list[KafkaError] = attrs.Factory(list)
    ends: int = 0

    def answered(self, response: HeartbeatResponse) -> None:
        self.responses.append(response)
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code)

    def ended(self) -> None:
        self.ends += 1


def make_driver(client: Client) -> tuple[IdentityDriver, Outcome]:
    outcome = Outcome()
    policy = AnyRequest(outcome.answered)
    return IdentityDriver(policy, client, outcome.refusals.append, outcome.ended), outcome


@virtual_time
async def test_any_request_of_a_policy_is_sent_and_its_response_taken() -> None:
    async with running(nodes=3) as (cluster, client):
        cluster.on(HeartbeatRequest, DONE)
        driver, outcome = make_driver(client)

        driver.ask_soon()
        driver.ask_soon()
        await asyncio.sleep(1)

        assert outcome == Outcome(responses=[DONE], ends=1)
        assert driver.error is None


@virtual_time
async def test_a_request_is_sent_again_after_an_error_that_passes() -> None:
    async with running(nodes=3) as (cluster, client):
        cluster.once(HeartbeatRequest, LOADING, LOADING)
        cluster.on(HeartbeatRequest, DONE)
        driver, outcome = make_driver(client)

        driver.ask_soon()
        await asyncio.sleep(10)

        assert outcome == Outcome(responses=[LOADING, LOADING, DONE], ends=1)
        assert driver.error is None


@virtual_time
async def test_a_refusal_is_reported_once_and_ends_the_attempt() -> None:
    async with running(nodes=3) as (cluster, client):
        cluster.on(HeartbeatRequest, DENIED)
        driver, outcome = make_driver(client)

        driver.ask_soon()
        await asyncio.sleep(10)

        assert outcome.responses == [DENIED]
        assert outcome.refusals == [driver.error]
        assert outcome.ends == 1
