"""The configuration of the connector's clients, made from the ``kafka.*`` options of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pyk.clients.config import AdminConfig, ConsumerConfig, ProducerConfig
from pyk.clients.config.config_providers import REFERENCE
from pyk.clients.config.properties_file import resolve
from pyk.clients.errors import KafkaError
from pyk.protocol.records.compression import Compression
from pyk.spark_connector.errors import OptionError

CLIENT_ID = "pyk-spark"
# Used for the names that the user's kafka.* options do not set.
CONSUMER_DEFAULTS = {
    "client.id": CLIENT_ID,
    # A topic that was deleted must not come back, empty, because a task still asks for it.
    "allow.auto.create.topics": "false",
    # A task reads few partitions to their end, not thousands a little each.
    "max.partition.fetch.bytes": str(2 * 1024 * 1024),
    # The records of a range are in the log already. A fetch ahead that waits at the end of the log
    # for more would delay the first fetch of the next task.
    "fetch.max.wait.ms": "10",
}
PRODUCER_DEFAULTS = {
    "client.id": CLIENT_ID,
    "batch.size": str(512 * 1024),
}
# Users must not change these. Spark keeps the offsets, so there is no group and no reset.
CONSUMER_FIXED = {"auto.offset.reset": "none", "enable.auto.commit": "false"}
GROUP_OPTIONS = ("group.id", "group.instance.id")
# Secrets that Spark's default `spark.redaction.regex` finds neither by the name nor by the value.
NOT_REDACTED = (
    "ssl.keystore.key",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "proxy",
)
SHOWN = (
    "Spark shows this in its UI and event log, unless spark.sql.redaction.options.regex has the "
    "name; give ${file:…} or ${env:…} instead"
)
PROVIDERS = "config.providers"
"""Names of the providers that replace ``${…}`` where a client is made: plans have the reference."""


def consumer_properties(kafka: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a consumer that reads what Spark says; raise OptionError."""
    unused = {*GROUP_OPTIONS, *_without_effect(ConsumerConfig, kafka)}
    own = {name: value for name, value in kafka.items() if name not in unused}
    properties = CONSUMER_DEFAULTS | own | CONSUMER_FIXED
    _check(ConsumerConfig, properties)
    return properties


def admin_properties(kafka: Mapping[str, str]) -> dict[str, str]:
    """Return those properties of a consumer that an admin client has as well."""
    unused = _without_effect(AdminConfig, kafka)
    own = {name: value for name, value in kafka.items() if name not in unused}
    return {"client.id": CLIENT_ID} | own


def producer_properties(kafka: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a producer; raise :class:`OptionError` for an invalid one."""
    unused = _without_effect(ProducerConfig, kafka)
    own = {name: value for name, value in kafka.items() if name not in unused}
    properties = PRODUCER_DEFAULTS | own
    _check(ProducerConfig, properties)
    return properties


def kafka_notices(
    config: type[ConsumerConfig | ProducerConfig], kafka: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a sentence about each option without effect, and each secret that Spark shows."""
    unused = _without_effect(config, sorted(kafka))
    shown = [
        name for name in NOT_REDACTED if name in kafka and not re.search(REFERENCE, kafka[name])
    ]
    return (
        *(f"kafka.{name} has no effect: {reason}" for name, reason in unused.items()),
        *(f"kafka.{name}: {SHOWN}" for name in shown),
    )


def compression_of(properties: Mapping[str, str]) -> Compression:
    """Return the codec of a producer of these properties."""
    return Compression(ProducerConfig.from_properties(resolve(properties)).compression_type)


def delivery_timeout(properties: Mapping[str, str]) -> float:
    """Return the delivery timeout, in seconds, of a producer of these properties."""
    return ProducerConfig.from_properties(resolve(properties)).delivery_timeout_ms / 1000


def _without_effect(
    config: type[AdminConfig | ConsumerConfig | ProducerConfig], kafka: Iterable[str]
) -> dict[str, str]:
    found = config.without_effect(kafka)
    return {name: reason for name, reason in found.items() if not name.startswith(PROVIDERS)}


def _check(config: type[ConsumerConfig | ProducerConfig], properties: Mapping[str, str]) -> None:
    try:
        config.from_properties(resolve(properties))
    except KafkaError as error:
        raise OptionError(f"kafka.*: {error}") from None
