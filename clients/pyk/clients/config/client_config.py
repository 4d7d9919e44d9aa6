"""The table of options that every client has, and how configurations are made from it.

A config class is the table: each field has its type, its default, its valid range and a sentence on
what it is for, under Kafka's own name with ``_`` for ``.``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import attrs

from pyk.clients.config.names import explain_unknown
from pyk.clients.config.option import Option, option, options_of, required
from pyk.clients.config.properties import read_properties
from pyk.clients.config.values import (
    INT64_MAX,
    Integer,
    OneOf,
    PlaintextOnly,
    ServerAddress,
    Servers,
    Text,
)
from pyk.clients.errors import ConfigurationError

REBOOTSTRAP = "rebootstrap"

BOOTSTRAP_SERVERS = Servers()


@attrs.frozen(kw_only=True)
class ClientConfig:
    """What producers, consumers and admin clients have in common."""

    bootstrap_servers: tuple[ServerAddress, ...] = required(
        BOOTSTRAP_SERVERS,
        "Brokers through which the client first finds the cluster; it needs to reach one of them.",
    )
    client_id: str = option(Text(), "pyk", "How the client calls itself in broker logs and quotas.")
    security_protocol: str = option(
        PlaintextOnly(), "PLAINTEXT", "How the client speaks to brokers."
    )
    request_timeout_ms: int = option(
        Integer(minimum=1), 30_000, "How long to wait for a broker's answer to one request."
    )
    retry_backoff_ms: int = option(
        Integer(), 100, "The wait before a failed request is tried again; it doubles each time."
    )
    retry_backoff_max_ms: int = option(Integer(), 1_000, "The longest wait between two tries.")
    reconnect_backoff_ms: int = option(
        Integer(), 50, "The wait before a broker is connected to again; it doubles each time."
    )
    reconnect_backoff_max_ms: int = option(
        Integer(), 1_000, "The longest wait before a broker is connected to again."
    )
    socket_connection_setup_timeout_ms: int = option(
        Integer(minimum=1), 10_000, "How long one address may take to connect; doubles each time."
    )
    socket_connection_setup_timeout_max_ms: int = option(
        Integer(minimum=1), 30_000, "The longest time that one address may take to connect."
    )
    connections_max_idle_ms: int = option(
        Integer(minimum=1, maximum=INT64_MAX), 540_000, "When a connection without use is closed."
    )
    metadata_max_age_ms: int = option(
        Integer(minimum=1, maximum=INT64_MAX),
        300_000,
        "How old metadata may become before they are asked for again without any other reason.",
    )
    metadata_recovery_strategy: str = option(
        OneOf((REBOOTSTRAP, "none")),
        REBOOTSTRAP,
        "What to do when no known broker answers: begin again at the bootstrap servers, or wait.",
    )
    metadata_recovery_rebootstrap_trigger_ms: int = option(
        Integer(), 300_000, "How long metadata may be unobtainable before the client begins again."
    )
    max_response_bytes: int = option(
        Integer(minimum=1024),
        100 * 1024 * 1024,
        "The largest answer that is read from a broker. An option of pyk, not of Kafka.",
    )

    @classmethod
    def from_kwargs(
        cls, bootstrap_servers: str | Sequence[str] | None = None, /, **options: object
    ) -> Self:
        """Return the configuration of keyword arguments.

        Raises :class:`ConfigurationError` for an unknown name, a value out of range, and options
        that do not go together.
        """
        if bootstrap_servers is not None:
            options = {"bootstrap_servers": bootstrap_servers, **options}
        return cls._build(options)

    @classmethod
    def from_properties(
        cls, source: str | os.PathLike[str] | Mapping[str, object], /, **overrides: object
    ) -> Self:
        """Return the configuration of a properties file, or a mapping, with Kafka's dotted names.

        ``overrides`` are keyword arguments, which win.
        """
        if isinstance(source, str | os.PathLike):
            source = read_properties(Path(source))
        given = {name.replace(".", "_"): (name, value) for name, value in source.items()}
        cls._check_names({name: written for name, (written, _) in given.items()})
        return cls._build({name: value for name, (_, value) in given.items()} | overrides)

    def name_of(self, client: object) -> str:
        """Return the ``repr`` of a client that is configured by this."""
        servers = ",".join(map(str, self.bootstrap_servers))
        return f"<{type(client).__name__} {self.client_id!r} at {servers}>"

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Return the options of this kind of client by name."""
        return options_of(cls)

    @classmethod
    def _build(cls, given: Mapping[str, object]) -> Self:
        cls._check_names({name: name for name in given})
        table = cls.options()
        if "bootstrap_servers" not in given:
            raise ConfigurationError("bootstrap_servers must be given: 'host:port,host:port'")
        values: dict[str, Any] = {}
        for name, value in given.items():
            try:
                values[name] = table[name].kind.parse(value)
            except ValueError as error:
                raise ConfigurationError(f"{name} {error}") from None
        config = cls(**cls._completed(values))
        config._check()
        return config

    @classmethod
    def _check_names(cls, written: Mapping[str, str]) -> None:
        known = cls.options()
        unknown = [spelling for name, spelling in written.items() if name not in known]
        if unknown:
            raise ConfigurationError(
                "; ".join(explain_unknown(name, known, cls._elsewhere()) for name in unknown)
            )

    @classmethod
    def _elsewhere(cls) -> frozenset[str]:
        """Return the names that only other kinds of client have."""
        everywhere = {name for other in ClientConfig.__subclasses__() for name in options_of(other)}
        return frozenset(everywhere - options_of(cls).keys())

    @classmethod
    def _completed(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values given, with defaults that follow from them."""
        completed = dict(given)
        for minimum, maximum in (
            ("retry_backoff_ms", "retry_backoff_max_ms"),
            ("reconnect_backoff_ms", "reconnect_backoff_max_ms"),
            ("socket_connection_setup_timeout_ms", "socket_connection_setup_timeout_max_ms"),
        ):
            # As in Kafka: who raises only the first backoff gets a constant one.
            default = cls.options()[maximum].default
            if minimum in given and maximum not in given and given[minimum] > default:
                completed[maximum] = given[minimum]
        return completed

    def _check(self) -> None:
        """Raise :class:`ConfigurationError` for options that do not go together."""
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


@attrs.frozen(kw_only=True)
class AdminConfig(ClientConfig):
    """The options of :class:`~pyk.clients.Admin`."""

    connections_max_idle_ms: int = option(
        Integer(minimum=1, maximum=INT64_MAX), 300_000, "When a connection without use is closed."
    )
    default_api_timeout_ms: int = option(
        Integer(minimum=1), 60_000, "How long a call may take for which no timeout was given."
    )
