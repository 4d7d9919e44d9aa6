"""Change configurations of topics and brokers: which may change, to what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Protocol

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata_records import ConfigRecord
from pyk.protocol.schema import Message
from pyk.reference_broker.config import (
    BROKER_DEFINITIONS,
    TOPIC_DEFINITIONS,
    ConfigDefinition,
    ConfigType,
    InvalidConfigError,
    parse_broker_configs,
    parse_topic_configs,
)
from pyk.reference_broker.errors import ApiError

from .image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage

ALL_BROKERS = ""


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs does with one value (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(Protocol):
    """One config of a request: AlterConfigs sets, IncrementalAlterConfigs says."""

    name: str
    value: str | None


@attrs.frozen
class Resource:
    """What a configuration belongs to."""

    type: int
    name: str


class Configs:
    """Decides on configurations by the metadata image; pure."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image

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
        if resource.type == TOPIC_RESOURCE:
            if resource.name not in self._image.topics:
                raise ApiError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"The topic '{resource.name}' does not exist.",
                )
        elif resource.type == BROKER_RESOURCE:
            self._check_broker(resource.name)
        else:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type}")
        twice = [name for name, count in Counter(each.name for each in given).items() if count > 1]
        if twice:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {twice[0]}"
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
        read_only = [name for name in changed if _is_read_only(resource, name)]
        if read_only:
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"Cannot update these configs dynamically: [{', '.join(read_only)}]",
            )
        try:
            if resource.type == TOPIC_RESOURCE:
                parse_topic_configs(values)
            else:
                parse_broker_configs(changed)
        except InvalidConfigError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
        removed: dict[str, str | None] = {name: None for name in before if name not in values}
        return [
            ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=name, value=value
            )
            for name, value in {**changed, **removed}.items()
        ]


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
    given = [name for name in _not_null(each).split(",") if name]
    if operation is ConfigOperation.APPEND:
        return ",".join([*names, *(name for name in given if name not in names)])
    return ",".join(name for name in names if name not in given)


def _is_read_only(resource: Resource, name: str) -> bool:
    definition = _definition(resource, name)
    return resource.type == BROKER_RESOURCE and definition is not None and definition.is_read_only


def _definition(resource: Resource, name: str) -> ConfigDefinition | None:
    definitions = TOPIC_DEFINITIONS if resource.type == TOPIC_RESOURCE else BROKER_DEFINITIONS
    return definitions.get(name)
