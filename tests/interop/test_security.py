"""Clients of other projects with the reference broker under TLS and SASL."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyk.clients import Consumer, TopicPartition
from support import apache_kafka
from support.bearer_tokens import unsecured
from support.kafka_tools import PACKAGE, run_tool
from support.secure_kafka import SecureBroker
from support.secure_listeners import LOGINS, MODULES, WAYS

pytestmark = pytest.mark.conformance

# Clients renew such sessions after 1.3 s. Kafka refuses a renewal within a second of the last.
SESSION_MS = 1500
VALUES = [b"%d" % number for number in range(200)]
RENEWALS = 3
TIMEOUT = 30


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("secure"), SESSION_MS) as broker:
        yield broker


class Way:
    """How to get into a listener, in the words of each client."""

    def __init__(self, broker: SecureBroker, listener: str, mechanism: str | None) -> None:
        self.bootstrap = broker.secured.at(listener)
        self.topic = f"{listener}-{mechanism}"
        self._files = broker.secured
        self._listener, self._mechanism = listener, mechanism
        self._protocol = listener.replace("MTLS", "SSL")
        self._is_encrypted = self._protocol.endswith("SSL")

    def confluent(self) -> dict[str, Any]:
        found = {"bootstrap.servers": self.bootstrap, "security.protocol": self._protocol}
        if self._is_encrypted:
            found["ssl.ca.location"] = str(self._files.authority.file)
        if self._listener == "MTLS":
            found["ssl.certificate.location"] = str(self._files.client_file)
            found["ssl.key.location"] = str(self._files.client_file)
        if self._mechanism is None:
            return found
        user, password = LOGINS[self._mechanism]
        found["sasl.mechanism"] = self._mechanism
        if self._mechanism == "OAUTHBEARER":
            return {**found, "oauth_cb": lambda _: (token_of(user), time.time() + 60)}
        return {**found, "sasl.username": user, "sasl.password": password}

    def aiokafka(self) -> dict[str, Any]:
        tokens = pytest.importorskip("aiokafka.abc").AbstractTokenProvider

        class Tokens(tokens):  # type: ignore[misc, valid-type]
            async def token(self) -> str:
                return token_of("carol")

        return self._of_python(Tokens()) | {"ssl_context": self._context()}

    def kafka_python(self) -> dict[str, Any]:
        tokens = pytest.importorskip("kafka.net.sasl.oauth").AbstractTokenProvider

        class Tokens(tokens):  # type: ignore[misc, valid-type]
            def token(self) -> str:
                return token_of("carol")

        return self._of_python(Tokens()) | {"ssl_context": self._context()}

    def java(self) -> dict[str, str]:
        found = {"security.protocol": self._protocol}
        if self._is_encrypted:
            found["ssl.truststore.type"] = "PEM"
            found["ssl.truststore.location"] = str(self._files.authority.file)
        if self._listener == "MTLS":
            found["ssl.keystore.type"] = "PEM"
            found["ssl.keystore.location"] = str(self._files.java_client_file)
        if self._mechanism is None:
            return found
        user, password = LOGINS[self._mechanism]
        module, options = f"{MODULES}.scram.Scram", f'username="{user}" password="{password}"'
        if self._mechanism == "PLAIN":
            module = f"{MODULES}.plain.Plain"
        elif self._mechanism == "OAUTHBEARER":
            module = f"{MODULES}.oauthbearer.OAuthBearer"
            options = f'unsecuredLoginStringClaim_sub="{user}"'
        found["sasl.mechanism"] = self._mechanism
        found["sasl.jaas.config"] = f"{module}LoginModule required {options};"
        return found

    def _of_python(self, tokens: Any) -> dict[str, Any]:
        found = {"bootstrap_servers": self.bootstrap, "security_protocol": self._protocol}
        if self._mechanism is None:
            return found
        user, password = LOGINS[self._mechanism]
        found["sasl_mechanism"] = self._mechanism
        if self._mechanism == "OAUTHBEARER":
            return {**found, "sasl_oauth_token_provider": tokens}
        return {**found, "sasl_plain_username": user, "sasl_plain_password": password}

    def _context(self) -> ssl.SSLContext | None:
        if not self._is_encrypted:
            return None
        context = ssl.create_default_context(cafile=self._files.authority.file)
        if self._listener == "MTLS":
            context.load_cert_chain(self._files.client_file)
        return context


def token_of(user: str) -> str:
    return unsecured(sub=user, exp=time.time() + 60)


def with_confluent_kafka(way: Way) -> list[bytes]:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    producer = confluent_kafka.Producer(way.confluent())
    for value in VALUES:
        producer.produce(way.topic, value)
    assert producer.flush(TIMEOUT) == 0
    group = {"group.id": way.topic, "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(way.confluent() | group)
    consumer.subscribe([way.topic])
    found = consumer.consume(len(VALUES), TIMEOUT)
    consumer.close()
    return [message.value() for message in found]


def with_aiokafka(way: Way) -> list[bytes]:
    return asyncio.run(_with_aiokafka(way))


async def _with_aiokafka(way: Way) -> list[bytes]:
    aiokafka = pytest.importorskip("aiokafka")
    async with aiokafka.AIOKafkaProducer(**way.aiokafka()) as producer:
        for value in VALUES:
            await producer.send(way.topic, value)
    consumer = aiokafka.AIOKafkaConsumer(
        way.topic, group_id=way.topic, auto_offset_reset="earliest", **way.aiokafka()
    )
    async with asyncio.timeout(TIMEOUT), consumer:
        return [(await consumer.getone()).value for _ in VALUES]


def with_kafka_python(way: Way) -> list[bytes]:
    kafka = pytest.importorskip("kafka")
    producer = kafka.KafkaProducer(**way.kafka_python())
    for value in VALUES:
        producer.send(way.topic, value=value)
    producer.flush(TIMEOUT)
    producer.close()
    consumer = kafka.KafkaConsumer(
        way.topic,
        group_id=way.topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=TIMEOUT * 1000,
        **way.kafka_python(),
    )
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    return found


CLIENTS = [with_confluent_kafka, with_aiokafka, with_kafka_python]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_records_are_produced_and_consumed(
    broker: SecureBroker,
    client: Callable[[Way], list[bytes]],
    listener: str,
    mechanism: str | None,
) -> None:
    way = Way(broker, listener, mechanism)
    way.topic += f"-{client.__name__}"

    assert sorted(client(way)) == sorted(VALUES)


@pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing()))
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_kafkas_console_tools_produce_and_consume(
    broker: SecureBroker, listener: str, mechanism: str | None, tmp_path: Path
) -> None:
    way = Way(broker, listener, mechanism)
    common = java_arguments(way, tmp_path)
    consumer = subprocess.Popen(
        apache_kafka.command(
            f"{PACKAGE}consumer.ConsoleConsumer", *common,
            *("--from-beginning", "--max-messages", str(len(VALUES))),
            *("--timeout-ms", str(TIMEOUT * 1000)),
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip

    lines = "".join(f"{value.decode()}\n" for value in VALUES)
    run_tool("ConsoleProducer", *common, input=lines)

    printed, _ = consumer.communicate(timeout=TIMEOUT)
    assert {value.decode() for value in VALUES} <= set(printed.split()), printed


def java_arguments(way: Way, folder: Path) -> list[str]:
    """Write the configuration of a Java client; return what a tool needs to use it."""
    config = folder / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in way.java().items()))
    topic = ["--bootstrap-server", way.bootstrap, "--topic", f"{way.topic}-java"]
    return [*topic, "--command-config", str(config)]


def test_confluent_kafka_goes_on_while_sessions_are_renewed(broker: SecureBroker) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    way = Way(broker, "SASL_SSL", "SCRAM-SHA-256")
    errors: list[Any] = []
    options = {"enable.idempotence": True, "error_cb": errors.append}
    producer = confluent_kafka.Producer(way.confluent() | options)
    delivered: list[int] = []

    def note(error: Any, message: Any) -> None:
        errors.extend(filter(None, [error]))
        delivered.append(message.offset())

    sent, end = 0, time.monotonic() + RENEWALS * SESSION_MS / 1000
    while time.monotonic() < end:
        producer.produce("renewed-confluent", b"x" * 100, on_delivery=note)
        sent += 1
        producer.poll(0.001)
    assert producer.flush(TIMEOUT) == 0

    assert errors == []
    assert sorted(delivered) == list(range(sent))


def test_kafka_python_goes_on_while_sessions_are_renewed(broker: SecureBroker) -> None:
    kafka = pytest.importorskip("kafka")
    way = Way(broker, "SASL_SSL", "SCRAM-SHA-256")
    producer = kafka.KafkaProducer(**way.kafka_python())
    delivered, end = [], time.monotonic() + RENEWALS * SESSION_MS / 1000
    while time.monotonic() < end:
        some = [producer.send("renewed-kafka-python", value=b"x" * 100) for _ in range(10)]
        delivered += [each.get(TIMEOUT).offset for each in some]
    producer.close()

    assert delivered == list(range(len(delivered)))


@pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing()))
def test_kafkas_own_producer_goes_on_while_sessions_are_renewed(
    broker: SecureBroker, tmp_path: Path
) -> None:
    way = Way(broker, "SASL_SSL", "SCRAM-SHA-256")
    sent, rate = RENEWALS * SESSION_MS, 1000

    way.topic = "renewed"

    run_tool(
        "ProducerPerformance", *java_arguments(way, tmp_path), "--num-records", str(sent),
        *("--record-size", "100", "--throughput", str(rate)),
    )  # fmt: skip

    with Consumer(broker.bootstrap) as consumer:
        assert list(consumer.end_offsets([TopicPartition("renewed-java", 0)]).values()) == [sent]
