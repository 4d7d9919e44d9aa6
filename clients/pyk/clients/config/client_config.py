"""The table of options that every client has, and how configurations are made from it.

A config class is the table: each field has its type, its default, its valid range and a sentence on
what it is for, under Kafka's own name with ``_`` for ``.``. Kafka's other configurations are taken
too, with one warning that names them, so that a properties file of a Java client works.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from pyk.clients.config.java_names import has_twin, is_java_class, twin
from pyk.clients.config.kafka_names import JAVA_CLASS, OBEYED_ANYWAY, reason_without_effect
from pyk.clients.config.names import explain_dotted, explain_unknown, jaas_cut_off
from pyk.clients.config.option import option, options_of, required
from pyk.clients.config.security_options import (
    OTHER_NAMES,
    SecurityOptions,
    check_protocol,
    implied_protocol,
)
from pyk.clients.config.security_values import ProxyUrl
from pyk.clients.config.values import (
    INT64_MAX,
    Integer,
    OneOf,
    ServerAddress,
    Servers,
    TextOr,
)
from pyk.clients.errors import ConfigurationError
from pyk.clients.security.proxies import Proxy
from pyk.runtime import slotted

log = logging.getLogger(__name__)

REBOOTSTRAP = "rebootstrap"
CANONICAL_NAMES = "resolve_canonical_bootstrap_servers_only"

BOOTSTRAP_SERVERS = Servers()

# In Kafka, the value of these options is the name of a Java class.
CLASS_OPTIONS = frozenset(
    {"key_serializer", "value_serializer", "key_deserializer", "value_deserializer"}
)


@slotted.frozen
class Given:
    """One option as the user gave it."""

    name: str
    """With ``_`` for ``.``."""
    written: str
    """As the user wrote it, for messages."""
    value: object = slotted.field(repr=False)
    """It may be secret."""


@slotted.frozen(kw_only=True)
class ClientConfig(SecurityOptions):
    """The options that producers, consumers and admin clients share."""

    bootstrap_servers: tuple[ServerAddress, ...] = required(
        BOOTSTRAP_SERVERS,
        "Brokers to connect to first; one that answers is enough, it names the others.",
    )
    client_dns_lookup: str = option(
        OneOf(("use_all_dns_ips", CANONICAL_NAMES)),
        "use_all_dns_ips",
        "Whether bootstrap servers are known by the names given, or by those of their addresses.",
    )
    proxy: Proxy | None = option(
        ProxyUrl(), None, "The proxy that leads to all brokers. An option of pyk, not of Kafka."
    )
    client_id: str = option(
        TextOr("pyk"), "pyk", "The name of the client in broker logs and quotas."
    )
    request_timeout_ms: int = option(
        Integer(minimum=1), 30_000, "How long to wait for the response to one request."
    )
    retry_backoff_ms: int = option(
        Integer(), 100, "The wait before a failed request is retried; it doubles each time."
    )
    retry_backoff_max_ms: int = option(Integer(), 1_000, "The longest wait between two retries.")
    reconnect_backoff_ms: int = option(
        Integer(), 50, "The wait before connecting to a broker again; it doubles each time."
    )
    reconnect_backoff_max_ms: int = option(
        Integer(), 1_000, "The longest wait before connecting to a broker again."
    )
    socket_connection_setup_timeout_ms: int = option(
        Integer(minimum=1),
        10_000,
        "How long connecting to one address may take; it doubles each time.",
    )
    socket_connection_setup_timeout_max_ms: int = option(
        Integer(minimum=1), 30_000, "The longest time that connecting to one address may take."
    )
    connections_max_idle_ms: int = option(
        Integer(minimum=1, maximum=INT64_MAX),
        540_000,
        "Close a connection that was not used for this long.",
    )
    metadata_max_age_ms: int = option(
        Integer(minimum=1, maximum=INT64_MAX),
        300_000,
        "Refresh metadata at least this often.",
    )
    metadata_recovery_strategy: str = option(
        OneOf((REBOOTSTRAP, "none")),
        REBOOTSTRAP,
        "What to do when no known broker answers: start again from the bootstrap servers, or wait.",
    )
    metadata_recovery_rebootstrap_trigger_ms: int = option(
        Integer(),
        300_000,
        "Start again from the bootstrap servers after this long without metadata.",
    )
    max_response_bytes: int = option(
        Integer(minimum=1024),
        100 * 1024 * 1024,
        "The largest response that is read from a broker. An option of pyk, not of Kafka.",
    )

    @classmethod
    def from_kwargs(
        cls, bootstrap_servers: str | Sequence[str] | None = None, /, **options: object
    ) -> Self:
        """Return the configuration of keyword arguments.

        A configuration of Kafka without effect in pyk is taken with a warning in the log. Raises
        :class:`ConfigurationError` for an unknown name, a value out of range, and options that do
        not go together.
        """
        if bootstrap_servers is not None:
            if "bootstrap_servers" in options:
                raise ConfigurationError("bootstrap_servers was given twice")
            options = {"bootstrap_servers": bootstrap_servers, **options}
        dotted = [name for name in options if "." in name]
        if dotted:
            raise ConfigurationError(explain_dotted(dotted))
        return cls._build([Given(name, name, value) for name, value in options.items()])

    @classmethod
    def from_properties(cls, properties: Mapping[str, object], /, **overrides: object) -> Self:
        """Return the configuration of properties with Kafka's dotted names.

        ``overrides`` are keyword arguments, which win.
        """
        given = {
            name: Given(name, written, value)
            for written, value in properties.items()
            for name in [written.replace(".", "_")]
        }
        given |= {name: Given(name, name, value) for name, value in overrides.items()}
        return cls._build(given.values())

    @classmethod
    def without_effect(cls, names: Iterable[str]) -> dict[str, str]:
        """Return the names that are Kafka's and have no effect here, each with the reason.

        Names are dotted or written with ``_``.
        """
        found = {name: cls._reason_without_effect(name.replace(".", "_")) for name in names}
        return {name: reason for name, reason in found.items() if reason is not None}

    def name_of(self, client: object) -> str:
        """Return the ``repr`` of a client that is configured by this."""
        servers = ",".join(map(str, self.bootstrap_servers))
        return f"<{type(client).__name__} {self.client_id!r} at {servers}>"

    @classmethod
    def _build(cls, given: Iterable[Given]) -> Self:
        options, unused = cls._sort_out(given)
        if "bootstrap_servers" not in {one.name for one in options}:
            raise ConfigurationError("bootstrap_servers must be given: 'host:port,host:port'")
        table = cls.options()
        values: dict[str, Any] = {}
        for one in options:
            try:
                values[one.name] = table[one.name].kind.parse(one.value)
            except ValueError as error:
                raise ConfigurationError(f"{one.written} {error}") from None
        written = {one.written for one in options if values[one.name] is not None}
        protocol = implied_protocol(written)
        if protocol is not None:
            values["security_protocol"] = protocol
        config = cls(**cls._completed(values))
        check_protocol(config.security_protocol, written)
        config._check()
        reasons = [(one.written, config.reason_unused(one.name)) for one in options]
        unused += [(written, reason) for written, reason in reasons if reason is not None]
        config._warn(values, unused)
        return config

    @classmethod
    def _sort_out(cls, given: Iterable[Given]) -> tuple[list[Given], list[tuple[str, str]]]:
        """Return the options to use, and the written names of the others with their reasons.

        Raises :class:`ConfigurationError` that explains each unknown name.
        """
        known = cls.options()
        options, unused, unknown = [], [], []
        for one in cls._translated(list(given)):
            reason = cls._reason_without_effect(one.name)
            if one.name in CLASS_OPTIONS & known.keys() and is_java_class(one.value):
                if has_twin(str(one.value)):
                    options.append(slotted.evolve(one, value=twin(str(one.value))))
                else:
                    unused.append((one.written, f"{JAVA_CLASS}; give {one.name}= a Python object"))
            elif one.name in known:
                options.append(one)
            elif reason is not None:
                unused.append((one.written, reason))
            else:
                unknown.append(explain_unknown(one.written, known))
        if unknown:
            unknown += [jaas_cut_off(one.written) for one in options if _is_cut_off(one)]
            raise ConfigurationError("; ".join(unknown))
        return options, unused

    @classmethod
    def _translated(cls, given: list[Given]) -> list[Given]:
        """Return what was given with those names of others replaced that mean an option of pyk."""
        return [slotted.evolve(one, name=OTHER_NAMES.get(one.name, one.name)) for one in given]

    @classmethod
    def _reason_without_effect(cls, name: str) -> str | None:
        """Return why a name of Kafka's has no effect here; None if it has, or is not one."""
        if name in cls.options():
            return None
        owners = [
            other.__name__.removesuffix("Config")
            for other in _tables()
            if name in options_of(other)
        ]
        return f"an option of {owners[0]}" if owners else reason_without_effect(name)

    def reason_unused(self, name: str) -> str | None:
        if name == "client_dns_lookup" and self.proxy is not None and self.proxy.resolves_names:
            return "the proxy resolves names"
        return super().reason_unused(name)

    def _warn(self, given: Mapping[str, object], unused: list[tuple[str, str]]) -> None:
        """Log what the user should know of the options that were given."""
        for warning in self.security_warnings():
            log.warning("%s: %s", self._client_name(), warning)
        names: dict[str, list[str]] = {}
        for name, reason in unused:
            if reason not in OBEYED_ANYWAY:
                names.setdefault(reason, []).append(name)
        if not names:
            return
        log.warning(
            "%s takes these options without effect: %s",
            self._client_name(),
            "; ".join(f"{', '.join(some)} ({reason})" for reason, some in names.items()),
        )

    def _client_name(self) -> str:
        return f"{type(self).__name__.removesuffix('Config')} {self.client_id!r}"

    @classmethod
    def _completed(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values given, with defaults that follow from them."""
        completed = dict(given)
        for minimum, maximum in (
            ("retry_backoff_ms", "retry_backoff_max_ms"),
            ("reconnect_backoff_ms", "reconnect_backoff_max_ms"),
            ("socket_connection_setup_timeout_ms", "socket_connection_setup_timeout_max_ms"),
        ):
            # As in Kafka: raising only the first backoff makes it constant.
            default = cls.options()[maximum].default
            if minimum in given and maximum not in given and given[minimum] > default:
                completed[maximum] = given[minimum]
        return completed

    def _check(self) -> None:
        """Raise :class:`ConfigurationError` for options that do not go together."""
        self.credentials()
        self.tls_settings()
        for minimum, maximum in (
            ("retry_backoff_ms", "retry_backoff_max_ms"),
            ("reconnect_backoff_ms", "reconnect_backoff_max_ms"),
            ("socket_connection_setup_timeout_ms", "socket_connection_setup_timeout_max_ms"),
        ):
            if getattr(self, minimum) > getattr(self, maximum):
                raise ConfigurationError(
                    f"{minimum}={getattr(self, minimum)} is more than "
                    f"{maximum}={getattr(self, maximum)}"
                )


def _is_cut_off(given: Given) -> bool:
    """Return whether the rest of a JAAS configuration may be what makes unknown names."""
    is_jaas = given.name == "sasl_jaas_config" and isinstance(given.value, str)
    return is_jaas and not str(given.value).rstrip().endswith(";")


@slotted.frozen(kw_only=True)
class AdminConfig(ClientConfig):
    """The options of :class:`~pyk.clients.Admin`."""

    connections_max_idle_ms: int = option(
        Integer(minimum=1, maximum=INT64_MAX),
        300_000,
        "Close a connection that was not used for this long.",
    )
    default_api_timeout_ms: int = option(
        Integer(minimum=1), 60_000, "How long a call without a timeout of its own may take."
    )


def _tables() -> list[type[ClientConfig]]:
    """Return the tables of all clients, which are loaded for that."""
    from pyk.clients import config

    return [
        config.AdminConfig,
        config.ConsumerConfig,
        config.ProducerConfig,
        config.ShareConsumerConfig,
    ]
