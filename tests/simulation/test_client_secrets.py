"""No secret of a client is in a log, error, repr, traceback or pickle, in any writing."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import pickle
from typing import Any

import pytest

from pyk.clients import AsyncProducer, Oauth, Plain, SaslAuthenticationFailedError, Scram
from pyk.clients.security import AwsCredentials, MskIam
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support import canaries
from support.producing_cluster import ProducingCluster, make_producer
from support.sasl_broker import SaslBroker

CANARY = "k4n/ri3n+v0gel-g3heim"


async def token() -> str:
    return CANARY


CREDENTIALS = [
    Plain("alice", CANARY),
    Scram("alice", CANARY, "SCRAM-SHA-256"),
    Scram("alice", CANARY),
    Oauth(token),
]


def check(text: str) -> None:
    canaries.check(text, CANARY)


@pytest.mark.parametrize("auth", CREDENTIALS, ids=lambda one: one.mechanism)
@pytest.mark.parametrize("is_let_in", [True, False])
def test_nothing_shows_a_secret(
    auth: Any, is_let_in: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []

    @virtual_time
    async def run() -> None:
        async with ProducingCluster(MemoryNetwork(latency=0.001)) as cluster:
            cluster.add_topic("orders", [1])
            mechanisms = [one.mechanism for one in CREDENTIALS]
            password = CANARY if is_let_in else "another"
            broker = SaslBroker(
                {"alice": password}, mechanisms=mechanisms, session_lifetime_ms=5_000
            )
            broker.serve(cluster)
            producer = make_producer(cluster, auth=auth, security_protocol="SASL_PLAINTEXT")
            try:
                async with producer:
                    await producer.send_and_wait("orders", b"one")
                    shown.append(f"{producer!r} {producer.stats()!r} {vars(producer)!r}")
            except SaslAuthenticationFailedError as error:
                shown.extend(canaries.shown_by_error(error))
            else:
                assert is_let_in
            shown.append(repr(auth))

    run()

    assert caplog.records
    for text in (*shown, caplog.text, *(repr(record.args) for record in caplog.records)):
        check(text)
    with contextlib.suppress(TypeError):  # all but Oauth, whose function goes by its name
        check(str(pickle.dumps(auth)))


@pytest.mark.parametrize("mechanism", ["OAUTHBEARER", "AWS_MSK_IAM"])
def test_a_login_to_amazon_msk_that_is_refused_shows_no_key(
    mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = AwsCredentials("AKIDEXAMPLE", CANARY, CANARY)
    auth = MskIam(region="eu-west-1", credentials=lambda: keys, mechanism=mechanism)
    shown = [repr(auth), repr(keys)]

    async def run() -> None:
        async with ProducingCluster(MemoryNetwork()) as cluster:
            refusal = SaslAuthenticateResponse(error_code=58, error_message="no")
            SaslBroker({}, [mechanism], answers=lambda _: refusal).serve(cluster)
            options: Any = {"auth": auth, "security_protocol": "SASL_PLAINTEXT"}
            producer = AsyncProducer[Any, Any](
                cluster.bootstrap, network=cluster.network, **options
            )
            with pytest.raises(SaslAuthenticationFailedError) as caught:
                await producer.start()
            shown.extend(canaries.shown_by_error(caught.value))
            shown.append(canaries.shown_by_object(producer))
            await producer.close()

    asyncio.run(run())  # in real time: keys are looked up in a thread

    for text in (*shown, caplog.text, *(repr(record.args) for record in caplog.records)):
        check(text)


def test_the_writings_are_found() -> None:
    for text in (f"x{CANARY}", base64.b64encode(f"\0alice\0{CANARY}".encode()).decode()):
        with pytest.raises(AssertionError):
            check(text)
