"""Find the value of a configuration: where it comes from, and which one wins (KIP-226).

For a topic:   the topic's own ► its broker default, in the order below
For a broker:  set for this broker ► set for all brokers ► given at the start ► Kafka's default

Where a configuration is not set, its fallbacks are asked, each in the same order:
``retention.ms`` ► ``log.retention.ms`` ► ``log.retention.minutes`` ► ``log.retention.hours``.

A layer may hold configurations of Kafka's that have no effect here, and the dynamic ones unknown
names: Kafka keeps and shows these too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import dropwhile, product
from typing import NamedTuple

from pyk.reference_broker.config.broker_config import BrokerConfig
from pyk.reference_broker.config.client_metrics_config import CLIENT_METRICS_DEFINITIONS
from pyk.reference_broker.config.definition import (
    ConfigDefinition,
    ConfigType,
    ConfigValue,
    Fallback,
    Password,
    definitions_of,
    from_parsed,
)
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.config.group_config import GROUP_DEFINITIONS
from pyk.reference_broker.config.listener_config import ListenerConfig
from pyk.reference_broker.config.log_config import LogConfig
from pyk.runtime import slotted

log = logging.getLogger(__name__)

TOPIC_DEFINITIONS = definitions_of(LogConfig)
LISTENER_DEFINITIONS = definitions_of(ListenerConfig)
BROKER_DEFINITIONS = {**definitions_of(BrokerConfig), **LISTENER_DEFINITIONS}
JAAS_CONFIG = "sasl.jaas.config"

_LIMITS_OF_ALL_CONNECTIONS = ("max.connections", "max.connection.creation.rate")
_OF_LISTENER = re.compile(
    r"listener\.name\.([^.]+)\.(?:(?:plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi)\.)?(.+)"
)


class ConfigSource(IntEnum):
    """The source numbers of DescribeConfigs responses."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """One of the places that could give a configuration its value."""

    name: str
    value: str | None
    source: ConfigSource


@slotted.frozen(kw_only=True)
class ConfigEntry:
    """The description of one configuration for DescribeConfigs; ``synonyms`` begins with the
    effective value."""

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


def check_topic_configs(values: Mapping[str, object]) -> None:
    """Raise ``InvalidConfigError`` unless a topic may be given all these together."""
    parsed = parse_topic_configs(values)
    for name, value in values.items():
        TOPIC_DEFINITIONS[name].check_items(value)
    least, most = (
        parsed.get(name, TOPIC_DEFINITIONS[name].default)
        for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if isinstance(least, int) and isinstance(most, int) and least > most:
        raise InvalidConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > "
            f"max.compaction.lag.ms ({most})",
            name="min.compaction.lag.ms",
        )
    if parsed.get("remote.storage.enable"):
        raise InvalidConfigError(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured "
            "with remote log storage.",
            name="remote.storage.enable",
        )


def stored_topic_configs(
    values: Mapping[str, str],
) -> tuple[dict[str, ConfigValue], list[InvalidConfigError]]:
    """Return the typed values that the metadata log holds for a topic, and why others are ignored.

    Other versions of Kafka have other configurations; a topic is served in spite of them.
    """
    parsed: dict[str, ConfigValue] = {}
    errors = []
    for name, value in values.items():
        try:
            parsed |= parse_topic_configs({name: value})
        except InvalidConfigError as error:
            errors.append(error)
    return parsed, errors


def parse_broker_configs(values: Mapping[str, object]) -> dict[str, ConfigValue]:
    """Return the typed values that a broker is started with; raise ``InvalidConfigError``.

    The name of a topic configuration stands for the broker configuration that is its default.
    """
    parsed = {}
    for given, value in values.items():
        name = _broker_name(given)
        definition = broker_definition(name)
        if definition is None:
            raise InvalidConfigError.unknown(name, "broker", BROKER_DEFINITIONS)
        parsed[name] = definition.parse(value)
    return parsed


def parse_dynamic_broker_config(name: str, value: str) -> ConfigValue:
    """Return the typed value of what is set while brokers run; raise ``InvalidConfigError``.

    An unknown name is accepted, as in Kafka, and its value as it is. Limits of 0 are refused, as
    nobody could connect any more to take them back.
    """
    definition = broker_definition(name)
    if definition is None:
        return value
    parsed = definition.parse(value)
    if parsed == 0 and name.endswith(_LIMITS_OF_ALL_CONNECTIONS):
        raise InvalidConfigError(
            f"Invalid {name} 0: nobody could connect to the broker any more", name=name
        )
    return parsed


def stored_broker_configs(values: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Return the typed values that the metadata log holds, without invalid ones."""
    parsed = {}
    for name, value in values.items():
        try:
            parsed[name] = parse_dynamic_broker_config(name, value)
        except InvalidConfigError as error:
            log.warning("Ignored a broker configuration of the metadata log: %s", error)
    return parsed


def broker_definition(name: str) -> ConfigDefinition | None:
    """Return the broker configuration of this name, with an effect here or not.

    One of a single listener has the definition of that of all.
    """
    of_listener = listener_and_name(name)
    if of_listener is not None:
        _, base = of_listener
        common = broker_definition(base)
        has_effect = base in LISTENER_DEFINITIONS or base == JAAS_CONFIG
        return common and slotted.evolve(
            common,
            name=name,
            default=None,
            has_effect=has_effect,
            fallbacks=(Fallback(name=base),),
        )
    definition = BROKER_DEFINITIONS.get(name)
    if definition is not None:
        return definition
    from pyk.reference_broker.config.kafka_broker_configs import (
        all_broker_definitions,
        dynamic_quotas,
    )

    return all_broker_definitions().get(name) or dynamic_quotas().get(name)


def listener_and_name(name: str) -> tuple[str, str] | None:
    """Return the listener of a configuration of one listener, and the name that it has for all.

    None if it is not of one listener.
    """
    found = _OF_LISTENER.fullmatch(name)
    return None if found is None else (found[1], found[2])


@slotted.define
class BrokerConfigLayers:
    """The configuration of a broker, layer by layer, with the overrides of topics.

    Layers hold typed values by name. ``static`` is given at the start; the other two change while
    the broker runs.
    """

    static: dict[str, ConfigValue] = slotted.field(factory=dict)
    dynamic_default: dict[str, ConfigValue] = slotted.field(factory=dict)
    dynamic: dict[str, ConfigValue] = slotted.field(factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, object]) -> BrokerConfigLayers:
        """Return the layers of a broker that is started with ``values``."""
        static = parse_broker_configs(values)
        _check_retention(static)
        return cls(static=static)

    def broker_config(self) -> BrokerConfig:
        """Return the effective configuration; what only fallbacks set is set in it too."""
        names = definitions_of(BrokerConfig)
        return from_parsed(BrokerConfig, {name: self._value(name) for name in names})

    def listener_config(self, listener: str, mechanism: str | None = None) -> ListenerConfig:
        """Return the effective configuration of a listener, or of a mechanism of it."""
        prefix = f"listener.name.{listener.lower()}."
        prefixes = [prefix] if mechanism is None else [f"{prefix}{mechanism.lower()}.", prefix]
        values = {name: self._value_of_listener(name, prefixes) for name in LISTENER_DEFINITIONS}
        return from_parsed(ListenerConfig, values)

    def is_of_listener(self, name: str, listener: str) -> bool:
        """Return whether a configuration is set for one listener by its name."""
        own = f"listener.name.{listener.lower()}.{name}"
        return any(own in layer for layer in (self.dynamic, self.dynamic_default, self.static))

    def _value_of_listener(self, name: str, prefixes: Iterable[str]) -> ConfigValue:
        definition = LISTENER_DEFINITIONS[name]
        dynamic = () if definition.is_read_only else (self.dynamic, self.dynamic_default)
        layers = (*dynamic, self.static)
        own = (layer.get(prefix + name) for prefix in prefixes for layer in layers)
        first = next((value for value in own if value is not None), None)
        return self._value(name) if first is None else first

    def jaas_config(self, listener: str, mechanism: str) -> Password | None:
        """Return ``sasl.jaas.config`` of a mechanism of a listener, None if it is not set."""
        prefix = f"listener.name.{listener.lower()}.{mechanism.lower()}."
        found = self.static.get(prefix + JAAS_CONFIG)
        return None if found is None else Password(found)

    def log_config(self, topic_configs: Mapping[str, ConfigValue]) -> LogConfig:
        """Return the effective configuration of a topic that overrides ``topic_configs``."""
        values = dict(topic_configs)
        for name, definition in TOPIC_DEFINITIONS.items():
            if name not in values and definition.fallbacks:
                values[name] = self._value(definition.fallbacks[0].name)
        return from_parsed(LogConfig, values)

    def describe_broker(self) -> list[ConfigEntry]:
        """Return all configurations that Apache Kafka has, and unknown ones that were set."""
        from pyk.reference_broker.config.kafka_broker_configs import all_broker_definitions

        known = all_broker_definitions()
        return [
            *(self._describe(definition) for definition in known.values()),
            *(
                self._describe(broker_definition(name) or _unknown(name))
                for name in {**self.dynamic_default, **self.dynamic}
                if name not in known
            ),
        ]

    def describe_all_brokers(self) -> list[ConfigEntry]:
        """Return the values that were set for all brokers while they run."""
        entries = []
        for name, value in self.dynamic_default.items():
            definition = broker_definition(name) or _unknown(name)
            text = definition.format(value)
            synonym = ConfigSynonym(name, text, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
            entries.append(
                _entry(definition, value, [synonym], is_read_only=_is_shown_read_only(definition))
            )
        return entries

    def ineffective(self) -> list[str]:
        """Return the names of what is set and has no effect here."""
        return [
            name
            for name in {**self.static, **self.dynamic_default, **self.dynamic}
            if (definition := broker_definition(name)) is None or not definition.has_effect
        ]

    def _describe(self, definition: ConfigDefinition) -> ConfigEntry:
        return _entry(
            definition,
            self._own_value(definition),
            self._synonyms(definition),
            is_read_only=_is_shown_read_only(definition),
        )

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

    def describe_group(self, group_configs: Mapping[str, str]) -> list[ConfigEntry]:
        """Return all configurations of a group that overrides ``group_configs``."""
        entries = []
        for name, definition in GROUP_DEFINITIONS.items():
            if definition.fallbacks:
                (fallback,) = definition.fallbacks
                synonyms = list(self._synonyms(BROKER_DEFINITIONS[fallback.name]))
                value = self._value(fallback.name)
            else:
                value = definition.default
                shown = definition.format(value)
                synonyms = [ConfigSynonym(name, shown, ConfigSource.DEFAULT_CONFIG)]
            if name in group_configs:
                value = definition.parse(group_configs[name])
                own = ConfigSynonym(name, group_configs[name], ConfigSource.GROUP_CONFIG)
                synonyms.insert(0, own)
            entries.append(_entry(definition, value, synonyms, is_read_only=False))
        return entries

    def describe_client_metrics(self, own: Mapping[str, str]) -> list[ConfigEntry]:
        """Return all configurations of a subscription that sets ``own``."""
        entries = []
        for name, definition in CLIENT_METRICS_DEFINITIONS.items():
            synonyms = []
            if name in own:
                synonyms = [ConfigSynonym(name, own[name], ConfigSource.CLIENT_METRICS_CONFIG)]
            value = definition.parse(own[name]) if name in own else definition.default
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
        """Yield what could give a broker configuration its value, as Kafka does.

        What is set in a stronger layer comes first, whatever its name; what comes before the first
        of the configuration's own name is left out.
        """
        named = (broker_definition(fallback.name) for fallback in definition.fallbacks)
        fallbacks = [each for each in named if each is not None]
        found = [
            ConfigSynonym(each.name, each.format(value), source)
            for (source, layer), each in product(self._layers(), [definition, *fallbacks])
            if (value := each.default if layer is None else layer.get(each.name)) is not None
        ]
        return dropwhile(lambda synonym: synonym.name != definition.name, found)

    def _layers(self) -> list[tuple[ConfigSource, dict[str, ConfigValue] | None]]:
        return [
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.dynamic),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.dynamic_default),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static),
            (ConfigSource.DEFAULT_CONFIG, None),
        ]


def _check_retention(values: Mapping[str, ConfigValue]) -> None:
    """Raise ``InvalidConfigError`` if brokers would keep records for no time.

    As in Kafka, only the configuration that is effective counts: hours may be 0 beside minutes.
    """
    definition = BROKER_DEFINITIONS["log.retention.ms"]
    names = [definition.name, *(fallback.name for fallback in definition.fallbacks)]
    effective = next((name for name in names if values.get(name) is not None), None)
    if effective is not None and values[effective] == 0:
        raise InvalidConfigError(
            f"{effective}=0: brokers would keep no records; use -1 for no limit, or at least 1",
            name=effective,
        )


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


def _is_shown_read_only(definition: ConfigDefinition) -> bool:
    """Return what Kafka shows: that those of one listener cannot change, although they can."""
    return definition.is_read_only or listener_and_name(definition.name) is not None


def _unknown(name: str) -> ConfigDefinition:
    return ConfigDefinition(
        name=name,
        type=ConfigType.UNKNOWN,
        default=None,
        has_effect=False,
        doc="Not a broker configuration of Apache Kafka.",
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
