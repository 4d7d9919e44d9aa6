"""A subscription to metrics of clients: what it asks for, and which clients it is for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from uuid import UUID

from pyk.protocol.patterns import InvalidPatternError, Pattern
from pyk.protocol.records.checksum import crc32c
from pyk.reference_broker.config.client_metrics_config import (
    CLIENT_METRICS_DEFINITIONS,
    DEFAULT_INTERVAL_MS,
    ClientMetricsConfig,
)
from pyk.reference_broker.config.definition import from_parsed
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.runtime import slotted

ALL_METRICS = "*"


class Attribute(StrEnum):
    """What is known of a client and can be matched."""

    CLIENT_INSTANCE_ID = "client_instance_id"
    CLIENT_ID = "client_id"
    CLIENT_SOFTWARE_NAME = "client_software_name"
    CLIENT_SOFTWARE_VERSION = "client_software_version"
    CLIENT_SOURCE_ADDRESS = "client_source_address"
    CLIENT_SOURCE_PORT = "client_source_port"


Attributes = Mapping[Attribute, str]


@slotted.frozen(kw_only=True)
class Subscription:
    """One subscription, as it is configured."""

    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[Attribute, Pattern]

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> Subscription:
        """Return the subscription with these configurations; raise ``InvalidConfigError``."""
        parsed = {
            name: CLIENT_METRICS_DEFINITIONS[name].parse(value) for name, value in configs.items()
        }
        config = from_parsed(ClientMetricsConfig, parsed)
        return cls(
            metrics=config.metrics,
            interval_ms=config.interval_ms,
            patterns=dict(map(_parse_match, config.match)),
        )

    def is_for(self, client: Attributes) -> bool:
        """Return whether all patterns match the client; true if there are none."""
        return all(pattern.matches(client[name]) for name, pattern in self.patterns.items())


@slotted.frozen(kw_only=True)
class Request:
    """What a client is asked for by all subscriptions that are for it."""

    metrics: tuple[str, ...]
    interval_ms: int

    @classmethod
    def of(cls, subscriptions: Iterable[Subscription], client: Attributes) -> Request:
        """Return what ``subscriptions`` ask of a client: no metrics if none is for it."""
        found = [each for each in subscriptions if each.is_for(client)]
        metrics = dict.fromkeys(metric for each in found for metric in each.metrics)
        return cls(
            metrics=(ALL_METRICS,) if ALL_METRICS in metrics else tuple(metrics),
            interval_ms=min([DEFAULT_INTERVAL_MS, *(each.interval_ms for each in found)]),
        )

    def id_for(self, client_instance_id: UUID) -> int:
        """Return the subscription id, which Kafka computes from the request and the client."""
        text = f"[{', '.join(self.metrics)}]{self.interval_ms}"
        return _signed(crc32c(text.encode()) ^ _hash(client_instance_id))


def _parse_match(text: str) -> tuple[Attribute, Pattern]:
    parts = text.rstrip("=").split("=")
    try:
        name, pattern = parts
        return Attribute(name.strip()), Pattern(pattern.strip())
    except (ValueError, InvalidPatternError):
        raise InvalidConfigError(f"Illegal client matching pattern: {text}", name="match") from None


def _hash(client_instance_id: UUID) -> int:
    """Return what ``hashCode`` gives for an id in Java."""
    halves = (client_instance_id.int >> 64) ^ client_instance_id.int & (1 << 64) - 1
    return (halves >> 32) ^ halves & 0xFFFFFFFF


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number
