"""The configuration of the connector's clients, made from the ``kafka.*`` options of a query."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.config import AdminConfig, ConsumerConfig, ProducerConfig
from pyk.clients.errors import KafkaError, SeveralErrors
from pyk.protocol.errors import ErrorCode
from pyk.protocol.records.compression import Compression
from pyk.spark_connector.errors import OptionError

CLIENT_ID = "pyk-spark"
MOST_ERRORS = 5
"""How many errors of one call a message names; the others are most often the same."""
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


def consumer_properties(kafka: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a consumer that reads what Spark says; raise OptionError."""
    unused = {*GROUP_OPTIONS, *ConsumerConfig.without_effect(kafka)}
    own = {name: value for name, value in kafka.items() if name not in unused}
    properties = CONSUMER_DEFAULTS | own | CONSUMER_FIXED
    _check(ConsumerConfig, properties)
    return properties


def admin_properties(kafka: Mapping[str, str]) -> dict[str, str]:
    """Return those properties of a consumer that an admin client has as well."""
    known = AdminConfig.options()
    own = {name: value for name, value in kafka.items() if name.replace(".", "_") in known}
    return {"client.id": CLIENT_ID} | own


def producer_properties(kafka: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a producer; raise :class:`OptionError` for an invalid one."""
    unused = ProducerConfig.without_effect(kafka)
    own = {name: value for name, value in kafka.items() if name not in unused}
    properties = PRODUCER_DEFAULTS | own
    _check(ProducerConfig, properties)
    return properties


def kafka_notices(
    config: type[ConsumerConfig | ProducerConfig], kafka: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a sentence about each configuration of Kafka that has no effect in such a client."""
    unused = config.without_effect(sorted(kafka))
    return tuple(f"kafka.{name} has no effect: {reason}" for name, reason in unused.items())


def compression_of(properties: Mapping[str, str]) -> Compression:
    """Return the codec of a producer of these properties."""
    return Compression(ProducerConfig.from_properties(properties).compression_type)


def delivery_timeout(properties: Mapping[str, str]) -> float:
    """Return the delivery timeout, in seconds, of a producer of these properties."""
    return ProducerConfig.from_properties(properties).delivery_timeout_ms / 1000


def describe_error(error: KafkaError) -> str:
    """Return an error with its topic-partition and Kafka's name and number for it, if it has them.

    The class of an error does not reach the driver of a query; its text does.
    """
    if isinstance(error, SeveralErrors):
        return "; ".join(describe_error(one) for one in list(error.errors.values())[:MOST_ERRORS])
    where = "" if error.partition is None else f"{error.topic}-{error.partition}: "
    code = None if error.code is None else ErrorCode(error.code)
    name = type(error).__name__ if code is None else f"{code.name} ({code:d})"
    text = str(error)
    return where + (text if text.startswith(name) else f"{name}: {text}")


def _check(config: type[ConsumerConfig | ProducerConfig], properties: Mapping[str, str]) -> None:
    try:
        config.from_properties(properties)
    except KafkaError as error:
        raise OptionError(f"kafka.*: {error}") from None
