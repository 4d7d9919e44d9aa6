"""The configuration that a broker runs with: what it was given, and what was altered since."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Mapping

from pyk.runtime import slotted

from .config import (
    TOPIC_DEFINITIONS,
    BrokerConfig,
    BrokerConfigLayers,
    ConfigEntry,
    ConfigValue,
    InvalidConfigError,
    ListenerConfig,
    LogConfig,
    stored_broker_configs,
    stored_topic_configs,
)
from .config.layers import JAAS_CONFIG
from .controller.broker_config_checks import ALL_BROKERS
from .controller.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from .listeners import Endpoint

log = logging.getLogger(__name__)

PREFIX_ADVICE = f": as in Kafka, give listener.name.NAME.MECHANISM.{JAAS_CONFIG}"
OBEYED_ANYWAY = ("ssl.keystore.type", "ssl.truststore.type")
"""No warning is for these, also of one listener: the files show what they are."""


class BrokerConfigs:
    """The configuration of one broker and of its topics, as of the metadata image."""

    def __init__(self, layers: BrokerConfigLayers, image: MetadataImage) -> None:
        self._layers = layers
        self._image = image
        self._listeners: list[Callable[[BrokerConfig], object]] = []
        self._log_configs: dict[frozenset[tuple[str, str]], LogConfig] = {}
        self._warned_for_topics: set[str] = set()
        self.broker: BrokerConfig = layers.broker_config()
        self._warn_of_ineffective()

    def when_changed(self, listener: Callable[[BrokerConfig], object]) -> None:
        """Call ``listener`` whenever the configuration of the broker has changed."""
        self._listeners.append(listener)

    def set_static(self, **values: ConfigValue) -> None:
        """Set what only the running broker knows, such as its port; underscores stand for dots."""
        self._layers.static |= {name.replace("_", "."): value for name, value in values.items()}

    def update(self) -> None:
        """Take over what the metadata image says, and tell the listeners; it can be repeated."""
        known = set(self._layers.ineffective())
        node = str(self.broker.node_id)
        for_all = self._image.config(BROKER_RESOURCE, ALL_BROKERS)
        self._layers.dynamic_default = stored_broker_configs(for_all)
        self._layers.dynamic = stored_broker_configs(self._image.config(BROKER_RESOURCE, node))
        self._warn_of_ineffective(known)
        self.broker = self._layers.broker_config()
        self._log_configs.clear()  # the defaults may have changed
        for listener in self._listeners:
            listener(self.broker)

    def listener(self, name: str, mechanism: str | None = None) -> ListenerConfig:
        """Return the effective configuration of a listener, or of a SASL mechanism of it."""
        return self._layers.listener_config(name, mechanism)

    def tls(self, endpoint: Endpoint) -> ListenerConfig:
        """Return the configuration for the TLS of a listener.

        One with SASL asks clients for certificates only if that is configured for it by its name,
        as in Kafka (KIP-684): the passwords of its clients are enough.
        """
        config = self.listener(endpoint.listener)
        if endpoint.protocol.has_sasl and not self._layers.is_of_listener(
            "ssl.client.auth", endpoint.listener
        ):
            return slotted.evolve(config, ssl_client_auth="none")
        return config

    def jaas_options(self, listener: str, mechanism: str, module: str) -> dict[str, str]:
        """Return the options of a login module for a mechanism of a listener, empty if not set.

        Raises ``InvalidConfigError``, which shows none of them.
        """
        text = self._layers.jaas_config(listener, mechanism)
        if text is None:
            return {}
        # Here: only listeners with SASL need it, and brokers must start fast.
        from pyk.protocol.sasl.jaas import JaasError, parse_jaas

        try:
            return dict(parse_jaas(text).options_of(module))
        except JaasError as error:
            name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
            raise InvalidConfigError(f"{name} {error}", name=name) from None

    def log_config(self, topic: str) -> LogConfig:
        """Return the effective configuration of a topic; topics with the same one share it."""
        own = self._image.config(TOPIC_RESOURCE, topic)
        key = frozenset(own.items())
        config = self._log_configs.get(key)
        if config is None:
            values, errors = stored_topic_configs(own)
            for error in errors:
                log.warning("Ignored a configuration of topic %r: %s", topic, error)
            self._warn_of_ineffective_for_topics(values)
            config = self._layers.log_config(values)
            self._log_configs[key] = config
        return config

    def describe_topic(self, topic: str) -> list[ConfigEntry]:
        """Return all configurations of a topic, with where each value comes from."""
        return self.describe_topic_with(self._image.config(TOPIC_RESOURCE, topic))

    def describe_topic_with(self, own: Mapping[str, str]) -> list[ConfigEntry]:
        """Return all configurations of a topic that has ``own`` values of its own."""
        return self._layers.describe_topic(stored_topic_configs(own)[0])

    def describe_group(self, group_id: str) -> list[ConfigEntry]:
        """Return all configurations of a group, whether or not it exists."""
        return self._layers.describe_group(self._image.config(GROUP_RESOURCE, group_id))

    def describe_client_metrics(self, name: str) -> list[ConfigEntry]:
        """Return all configurations of a subscription to client metrics, set or not."""
        return self._layers.describe_client_metrics(
            self._image.config(CLIENT_METRICS_RESOURCE, name)
        )

    def describe_broker(self) -> list[ConfigEntry]:
        """Return all configurations of this broker, with where each value comes from."""
        return self._layers.describe_broker()

    def describe_all_brokers(self) -> list[ConfigEntry]:
        """Return the configurations that were altered for all brokers of the cluster."""
        return self._layers.describe_all_brokers()

    def _warn_of_ineffective_for_topics(self, names: Iterable[str]) -> None:
        for name in names:
            if not TOPIC_DEFINITIONS[name].has_effect and name not in self._warned_for_topics:
                self._warned_for_topics.add(name)
                log.warning(
                    "Configuration %s of topics has no effect in the reference broker", name
                )

    def _warn_of_ineffective(self, known: Container[str] = ()) -> None:
        for name in self._layers.ineffective():
            if name not in known and not name.endswith(OBEYED_ANYWAY):
                advice = PREFIX_ADVICE if name == JAAS_CONFIG else ""
                log.warning(
                    "Configuration %s has no effect in the reference broker%s", name, advice
                )
