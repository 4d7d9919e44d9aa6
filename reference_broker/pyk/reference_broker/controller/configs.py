"""Decide which configurations of topics, brokers and groups may change, and to what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Protocol, cast

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata_records import ConfigRecord
from pyk.protocol.schema import Message
from pyk.reference_broker.config import (
    CLIENT_METRICS_DEFINITIONS,
    GROUP_DEFINITIONS,
    TOPIC_DEFINITIONS,
    BrokerConfig,
    ConfigDefinition,
    ConfigType,
    InvalidConfigError,
    broker_definition,
    check_group_configs,
    check_topic_configs,
    parse_dynamic_broker_config,
)
from pyk.reference_broker.config.client_metrics_config import MAX_INTERVAL_MS, MIN_INTERVAL_MS
from pyk.reference_broker.config.log_dirs_config import CORDONED, check_cordoned
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .broker_config_checks import (
    ALL_BROKERS,
    MIN_INSYNC_REPLICAS,
    check_broker_configs,
    check_min_insync_replicas,
)
from .features import ELR_VERSION
from .image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from .metadata_versions import CORDONED_DIRECTORIES
from .names import check_topic_name


class ConfigOperation(IntEnum):
    """The operations of IncrementalAlterConfigs (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(Protocol):
    """One configuration in a request: AlterConfigs sets it, IncrementalAlterConfigs says how."""

    name: str
    value: str | None


@slotted.frozen
class Resource:
    """A resource that has configurations."""

    type: int
    name: str


class Configs:
    """Decides on configurations by the metadata image; pure."""

    def __init__(self, image: MetadataImage, config: Callable[[], BrokerConfig]) -> None:
        self._image = image
        self._config = config

    def replace(self, resource: Resource, given: Sequence[Alteration]) -> list[Message]:
        """Return the records that make ``given`` all that is set; raise :class:`ApiError`."""
        self._check(resource, given)
        values = {each.name: _not_null(each) for each in given}
        return self._records(resource, values)

    def alter(
        self, resource: Resource, operations: Sequence[tuple[ConfigOperation, Alteration]]
    ) -> list[Message]:
        """Return the records that carry ``operations`` out; raise :class:`ApiError`."""
        self._check(resource, [each for _, each in operations])
        values = dict(self._image.config(resource.type, resource.name))
        for operation, each in operations:
            if operation is ConfigOperation.DELETE:
                values.pop(each.name, None)
            elif operation is ConfigOperation.SET:
                values[each.name] = _not_null(each)
            else:
                values[each.name] = _changed_list(resource, operation, each, values)
        return self._records(resource, values)

    def _check(self, resource: Resource, given: Sequence[Alteration]) -> None:
        if resource.type == BROKER_RESOURCE:
            self._check_broker(resource.name)
        elif resource.type == GROUP_RESOURCE:
            if not resource.name:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST, "Default group resources are not allowed."
                )
        elif resource.type == CLIENT_METRICS_RESOURCE:
            if not resource.name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        elif resource.type != TOPIC_RESOURCE:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type}")
        twice = [name for name, count in Counter(each.name for each in given).items() if count > 1]
        if twice:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {twice[0]}"
            )

    def _check_topic_exists(self, name: str) -> None:
        if name not in self._image.topics:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )

    def _check_broker(self, name: str) -> None:
        if name == ALL_BROKERS:
            return
        if not name.isascii() or not name.isdigit():
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}"
            )
        if int(name) not in self._image.brokers:
            known = ", ".join(map(str, self._image.brokers))
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {known}, but received {name}",
            )

    def _records(self, resource: Resource, values: Mapping[str, str]) -> list[Message]:
        before = self._image.config(resource.type, resource.name)
        changed = {name: value for name, value in values.items() if before.get(name) != value}
        removed: dict[str, str | None] = {name: None for name in before if name not in values}
        if resource.type == TOPIC_RESOURCE:
            check_topic_name(resource.name)
            _check_topic_configs(values)
            self._check_topic_exists(resource.name)
        elif resource.type == GROUP_RESOURCE:
            self._check_group_configs(values)
        elif resource.type == CLIENT_METRICS_RESOURCE:
            _check_subscription(values)
        else:
            check_broker_configs(resource.name, changed, self._config(), removed=removed)
            self._check_cordoned(changed)
        if resource.type == BROKER_RESOURCE and ELR_VERSION in self._image.features:
            check_min_insync_replicas(resource.name, changed, removed)
        return [
            ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=name, value=value
            )
            for name, value in {**changed, **removed}.items()
        ]

    def _check_cordoned(self, changed: Mapping[str, str]) -> None:
        """Raise unless ``cordoned.log.dirs`` names data directories of the broker (KIP-1066)."""
        if CORDONED not in changed:
            return
        value = parse_dynamic_broker_config(CORDONED, changed[CORDONED])
        try:
            check_cordoned(cast(tuple[str, ...], value), self._config().log_dirs or ())
        except InvalidConfigError as error:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"requirement failed: {error}") from None
        if self._image.metadata_version < CORDONED_DIRECTORIES:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"The {CORDONED} configuration value cannot be set because it requires "
                "metadata.version >= 4.3-IV0",
            )

    def _check_group_configs(self, values: Mapping[str, str]) -> None:
        try:
            check_group_configs(values, self._config())
        except InvalidConfigError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _check_topic_configs(values: Mapping[str, str]) -> None:
    try:
        check_topic_configs(values)
    except InvalidConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _check_subscription(values: Mapping[str, str]) -> None:
    """Raise unless a subscription to client metrics may have these configurations."""
    from pyk.reference_broker.client_metrics.subscription import Subscription

    for name in values:
        if name not in CLIENT_METRICS_DEFINITIONS:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}"
            )
    try:
        for name, value in values.items():
            CLIENT_METRICS_DEFINITIONS[name].check_items(value)
        interval_ms = Subscription.of(values).interval_ms
    except InvalidConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
    if not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and "
            "3600000 (1 hour)",
        )


def min_insync_replicas_record(value: int) -> ConfigRecord:
    """Return the record that sets ``min.insync.replicas`` for all brokers.

    KIP-966: brokers may not differ in this, so Kafka sets it for all of them.
    """
    return ConfigRecord(
        resource_type=BROKER_RESOURCE,
        resource_name=ALL_BROKERS,
        name=MIN_INSYNC_REPLICAS,
        value=str(value),
    )


def _not_null(each: Alteration) -> str:
    if each.value is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {each.name}")
    return each.value


def _changed_list(
    resource: Resource, operation: ConfigOperation, each: Alteration, values: Mapping[str, str]
) -> str:
    definition = _definition(resource, each.name)
    if definition is None or definition.type is not ConfigType.LIST:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {operation.name} to key {each.name} because its type is not LIST.",
        )
    current = values.get(each.name, definition.format(definition.default) or "")
    names = [name for name in current.split(",") if name]
    given = _items(_not_null(each))
    if operation is ConfigOperation.APPEND:
        return ",".join([*names, *(name for name in given if name not in names)])
    return ",".join(name for name in names if name not in given)


def _items(text: str) -> list[str]:
    """Return the items of a list as Java splits it: without empty ones at the end."""
    return text.rstrip(",").split(",") if text.strip(",") or not text else []


def _definition(resource: Resource, name: str) -> ConfigDefinition | None:
    if resource.type == TOPIC_RESOURCE:
        return TOPIC_DEFINITIONS.get(name)
    if resource.type == GROUP_RESOURCE:
        return GROUP_DEFINITIONS.get(name)
    return broker_definition(name)
