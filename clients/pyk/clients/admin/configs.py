"""Settings of topics, brokers and groups. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from pyk.clients.admin.fields import check_field, check_member
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pyk.runtime import slotted

FIRST_VERSION_WITH_SYNONYMS = 1
FIRST_VERSION_WITH_DOCUMENTATION = 3


class ConfigResourceType(enum.IntEnum):
    """The kinds of resources that have settings."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(enum.IntEnum):
    """The source of a value, in order of precedence."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    BROKER_FILE = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @classmethod
    def _missing_(cls, value: object) -> ConfigSource:
        return cls.UNKNOWN


class AlterConfigOperation(enum.IntEnum):
    """The operation that changes a setting."""

    SET = 0
    DELETE = 1
    """Return to the default."""
    APPEND = 2
    """Add to a list."""
    SUBTRACT = 3
    """Remove from a list."""


@slotted.frozen(order=True)
class ConfigResource:
    """Something that has settings."""

    type: ConfigResourceType
    name: str

    def __attrs_post_init__(self) -> None:
        check_member(self, "type", ConfigResourceType)
        check_field(self, "name", str)

    def __str__(self) -> str:
        return f"{self.type.name} {self.name!r}"

    @classmethod
    def topic(cls, name: str) -> ConfigResource:
        return cls(ConfigResourceType.TOPIC, name)

    @classmethod
    def broker(cls, node_id: int) -> ConfigResource:
        return cls(ConfigResourceType.BROKER, str(node_id))

    @classmethod
    def group(cls, group_id: str) -> ConfigResource:
        return cls(ConfigResourceType.GROUP, group_id)

    @property
    def node_id(self) -> int | None:
        """Return the only broker that can answer, None if any can."""
        is_of_one_broker = self.type in (
            ConfigResourceType.BROKER,
            ConfigResourceType.BROKER_LOGGER,
        )
        return int(self.name) if is_of_one_broker and self.name.isdigit() else None


class ConfigType(enum.IntEnum):
    """What the value of a setting is."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def _missing_(cls, value: object) -> ConfigType:
        return cls.UNKNOWN


@slotted.frozen
class ConfigSynonym:
    """A place where the value of a setting could come from."""

    name: str
    value: str | None = slotted.field(repr=False)
    """None for a secret."""
    source: ConfigSource


@slotted.frozen
class ConfigEntry:
    """One setting and where its value comes from."""

    name: str
    value: str | None = slotted.field(repr=False)
    """None for a secret."""
    source: ConfigSource
    is_default: bool
    is_read_only: bool
    is_sensitive: bool
    documentation: str | None = slotted.field(default=None, repr=False)
    type: ConfigType = ConfigType.UNKNOWN
    """Unknown where the broker is too old to say."""
    synonyms: tuple[ConfigSynonym, ...] = slotted.field(default=(), repr=False)
    """Where the value could come from, the first one wins; empty if they were not asked for."""


@slotted.frozen
class AlterConfig:
    """A change of one setting."""

    name: str
    value: str | None = slotted.field(default=None, repr=False)
    operation: AlterConfigOperation = AlterConfigOperation.SET

    def __attrs_post_init__(self) -> None:
        name: object = self.name
        value: object = self.value
        if not isinstance(name, str):
            raise TypeError(f"the name of a setting must be a str, not {name!r}")
        if not isinstance(value, str | None):
            kind = type(value).__name__  # the value may be a secret
            raise TypeError(f"value of AlterConfig({name!r}) must be a str, not {kind}")
        check_member(self, "operation", AlterConfigOperation)
        if value is None and self.operation is not AlterConfigOperation.DELETE:
            raise ValueError(
                f"AlterConfig({name!r}) needs a value, or AlterConfigOperation.DELETE to return "
                "to the default"
            )


def describe_configs_request(
    resources: Iterable[ConfigResource], *, documentation: bool, synonyms: bool
) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=resource.type, resource_name=resource.name, configuration_keys=None
            )
            for resource in resources
        ],
        include_documentation=documentation,
        include_synonyms=synonyms,
    )


def first_describe_version(*, documentation: bool, synonyms: bool) -> int | None:
    """Return the first version of DescribeConfigs that can be asked for these, None if any can."""
    if documentation:
        return FIRST_VERSION_WITH_DOCUMENTATION
    return FIRST_VERSION_WITH_SYNONYMS if synonyms else None


def described_configs(
    response: DescribeConfigsResponse,
) -> dict[ConfigResource, Mapping[str, ConfigEntry] | KafkaError]:
    """Return the settings of each resource, or its error."""
    described: dict[ConfigResource, Mapping[str, ConfigEntry] | KafkaError] = {}
    for result in response.results:
        resource = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
        if result.error_code != ErrorCode.NONE:
            described[resource] = _error(
                response.api_key, resource, result.error_code, result.error_message
            )
        else:
            described[resource] = {entry.name: _entry(entry) for entry in result.configs}
    return described


def _entry(entry: DescribeConfigsResourceResult) -> ConfigEntry:
    source = ConfigSource(entry.config_source)
    return ConfigEntry(
        name=entry.name,
        value=entry.value,
        source=source,
        is_default=entry.is_default or source is ConfigSource.DEFAULT,
        is_read_only=entry.read_only,
        is_sensitive=entry.is_sensitive,
        documentation=entry.documentation,
        type=ConfigType(entry.config_type),
        synonyms=tuple(
            ConfigSynonym(one.name, one.value, ConfigSource(one.source)) for one in entry.synonyms
        ),
    )


def alter_configs_request(
    changes: Mapping[ConfigResource, Iterable[AlterConfig]], *, validate_only: bool
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[
                    AlterableConfig(
                        name=change.name, config_operation=change.operation, value=change.value
                    )
                    for change in some
                ],
            )
            for resource, some in changes.items()
        ],
        validate_only=validate_only,
    )


def altered_configs(
    response: IncrementalAlterConfigsResponse,
) -> dict[ConfigResource, KafkaError | None]:
    """Return the outcome of each resource."""
    altered: dict[ConfigResource, KafkaError | None] = {}
    for one in response.responses:
        resource = ConfigResource(ConfigResourceType(one.resource_type), one.resource_name)
        altered[resource] = None
        if one.error_code != ErrorCode.NONE:
            altered[resource] = _error(
                response.api_key, resource, one.error_code, one.error_message
            )
    return altered


def _error(
    api_key: int, resource: ConfigResource, error_code: int, message: str | None
) -> KafkaError:
    is_topic = resource.type is ConfigResourceType.TOPIC
    topic = resource.name if is_topic else None
    return error_for(error_code, message, topic=topic, api_key=api_key)
