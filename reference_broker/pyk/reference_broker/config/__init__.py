"""Kafka's broker and topic configurations: their names, valid values and precedence."""

from pyk.reference_broker.config.broker_config import BrokerConfig
from pyk.reference_broker.config.client_metrics_config import CLIENT_METRICS_DEFINITIONS
from pyk.reference_broker.config.definition import (
    ConfigDefinition,
    ConfigType,
    ConfigValue,
    Password,
    UpdateMode,
)
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.config.group_config import (
    GROUP_DEFINITIONS,
    check_assignment_interval,
    check_group_configs,
)
from pyk.reference_broker.config.layers import (
    BROKER_DEFINITIONS,
    TOPIC_DEFINITIONS,
    BrokerConfigLayers,
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    broker_definition,
    check_topic_configs,
    parse_broker_configs,
    parse_dynamic_broker_config,
    parse_topic_configs,
    stored_broker_configs,
    stored_topic_configs,
)
from pyk.reference_broker.config.listener_config import ListenerConfig
from pyk.reference_broker.config.log_config import LogConfig

__all__ = [
    "BROKER_DEFINITIONS",
    "CLIENT_METRICS_DEFINITIONS",
    "GROUP_DEFINITIONS",
    "TOPIC_DEFINITIONS",
    "BrokerConfig",
    "BrokerConfigLayers",
    "ConfigDefinition",
    "ConfigEntry",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConfigValue",
    "InvalidConfigError",
    "ListenerConfig",
    "LogConfig",
    "Password",
    "UpdateMode",
    "broker_definition",
    "check_assignment_interval",
    "check_group_configs",
    "check_topic_configs",
    "parse_broker_configs",
    "parse_dynamic_broker_config",
    "parse_topic_configs",
    "stored_broker_configs",
    "stored_topic_configs",
]
