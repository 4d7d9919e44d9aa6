"""Where a configuration's value comes from, and which one wins (KIP-226).

For a topic:   the topic's own ► its broker default, in the order below
For a broker:  set for this broker ► set for all brokers ► given at the start ► Kafka's default

Where a configuration is not set, its fallbacks are asked, each in the same order:
``retention.ms`` ► ``log.retention.ms`` ► ``log.retention.minutes`` ► ``log.retention.hours``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import attrs

from pyk.reference_broker.config.broker_config import BrokerConfig
from pyk.reference_broker.config.definition import (
    ConfigDefinition,
    ConfigValue,
    UpdateMode,
    definitions_of,
    from_parsed,
)
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.config.log_config import LogConfig

TOPIC_DEFINITIONS = definitions_of(LogConfig)
BROKER_DEFINITIONS = definitions_of(BrokerConfig)


class ConfigSource(IntEnum):
    """The source numbers of DescribeConfigs responses."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


class ConfigSynonym(NamedTuple):
    """One of the places that could give a configuration its value."""

    name: str
    value: str | None
    source: ConfigSource


@attrs.frozen(kw_only=True)
class ConfigEntry:
    """What DescribeConfigs says of one configuration; ``synonyms`` begins with what won."""

    definition: ConfigDefinition
    value: str | None
    source: ConfigSource
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...]

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


def parse_topic_configs(values: Mapping[str, object]) -> dict[str, ConfigValue]:
    """Return the typed values a topic overrides; raise ``InvalidConfigError``."""
    return _parse(values, TOPIC_DEFINITIONS, "topic")


def parse_broker_configs(
    values: Mapping[str, object], *, must_be_dynamic: bool = False
) -> dict[str, ConfigValue]:
    """Return the typed values of broker configurations; raise ``InvalidConfigError``.

    The name of a topic configuration stands for the broker configuration that is its default.
    ``must_be_dynamic`` refuses those that cannot change while the broker runs.
    """
    parsed = _parse(
        {_broker_name(name): value for name, value in values.items()}, BROKER_DEFINITIONS, "broker"
    )
    for name in parsed if must_be_dynamic else ():
        if BROKER_DEFINITIONS[name].update_mode is UpdateMode.READ_ONLY:
            raise InvalidConfigError(f"{name} cannot change while the broker runs", name=name)
    return parsed


@attrs.define
class BrokerConfigLayers:
    """The configuration of a broker, layer by layer, and what topics make of it.

    Layers hold typed values by name. ``static`` is given at the start; the other two change while
    the broker runs.
    """

    static: dict[str, ConfigValue] = attrs.field(factory=dict)
    dynamic_default: dict[str, ConfigValue] = attrs.field(factory=dict)
    dynamic: dict[str, ConfigValue] = attrs.field(factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, object]) -> BrokerConfigLayers:
        """Return the layers of a broker that is started with ``values``."""
        return cls(static=parse_broker_configs(values))

    def broker_config(self) -> BrokerConfig:
        """Return the effective configuration; what only fallbacks set is set in it too."""
        return from_parsed(BrokerConfig, {name: self._value(name) for name in BROKER_DEFINITIONS})

    def log_config(self, topic_configs: Mapping[str, ConfigValue]) -> LogConfig:
        """Return the effective configuration of a topic that overrides ``topic_configs``."""
        values = dict(topic_configs)
        for name, definition in TOPIC_DEFINITIONS.items():
            if name not in values and definition.fallbacks:
                values[name] = self._value(definition.fallbacks[0].name)
        return from_parsed(LogConfig, values)

    def describe_broker(self) -> list[ConfigEntry]:
        """Return all configurations of the broker but the internal ones."""
        return [
            _entry(
                definition,
                self._own_value(definition),
                self._synonyms(definition),
                is_read_only=definition.is_read_only,
            )
            for definition in BROKER_DEFINITIONS.values()
            if not definition.is_internal
        ]

    def describe_topic(self, topic_configs: Mapping[str, ConfigValue]) -> list[ConfigEntry]:
        """Return all configurations of a topic that overrides ``topic_configs``."""
        effective = self.log_config(topic_configs)
        entries = []
        for name, definition in TOPIC_DEFINITIONS.items():
            if definition.is_internal and name not in topic_configs:
                continue
            synonyms = [
                synonym
                for fallback in definition.fallbacks
                for synonym in self._synonyms(BROKER_DEFINITIONS[fallback.name])
            ]
            if name in topic_configs:
                own = definition.format(topic_configs[name])
                synonyms.insert(0, ConfigSynonym(name, own, ConfigSource.TOPIC_CONFIG))
            value = getattr(effective, name.replace(".", "_"))
            entries.append(_entry(definition, value, synonyms, is_read_only=False))
        return entries

    def _value(self, name: str) -> ConfigValue:
        definition = BROKER_DEFINITIONS[name]
        value = self._own_value(definition)
        if value is not None:
            return value
        for fallback in definition.fallbacks:
            value = self._value(fallback.name)
            if isinstance(value, int):
                return value * fallback.unit if value >= 0 else value
        return None

    def _own_value(self, definition: ConfigDefinition) -> ConfigValue:
        """Return the value of a broker configuration, its fallbacks left out."""
        for layer in (self.dynamic, self.dynamic_default, self.static):
            if layer.get(definition.name) is not None:
                return layer[definition.name]
        return definition.default

    def _synonyms(self, definition: ConfigDefinition) -> Iterator[ConfigSynonym]:
        """Yield what gives a broker configuration its value, the winner first."""
        names = [definition.name, *(fallback.name for fallback in definition.fallbacks)]
        for name in names:
            own = BROKER_DEFINITIONS[name]
            for source, layer in (
                (ConfigSource.DYNAMIC_BROKER_CONFIG, self.dynamic),
                (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.dynamic_default),
                (ConfigSource.STATIC_BROKER_CONFIG, self.static),
            ):
                if name in layer:
                    yield ConfigSynonym(name, own.format(layer[name]), source)
            if own.default is not None:
                yield ConfigSynonym(name, own.format(own.default), ConfigSource.DEFAULT_CONFIG)


def _entry(
    definition: ConfigDefinition,
    value: ConfigValue,
    synonyms: Iterable[ConfigSynonym],
    *,
    is_read_only: bool,
) -> ConfigEntry:
    found = tuple(synonyms)
    return ConfigEntry(
        definition=definition,
        value=definition.format(value),
        source=found[0].source if found else ConfigSource.DEFAULT_CONFIG,
        is_read_only=is_read_only,
        synonyms=found,
    )


def _broker_name(name: str) -> str:
    topic_definition = TOPIC_DEFINITIONS.get(name)
    if name in BROKER_DEFINITIONS or topic_definition is None or not topic_definition.fallbacks:
        return name
    return topic_definition.fallbacks[0].name


def _parse(
    values: Mapping[str, object], definitions: Mapping[str, ConfigDefinition], kind: str
) -> dict[str, ConfigValue]:
    parsed = {}
    for name, value in values.items():
        if name not in definitions:
            raise InvalidConfigError.unknown(name, kind, definitions)
        parsed[name] = definitions[name].parse(value)
    return parsed
