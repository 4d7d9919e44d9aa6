"""The names, protocols and addresses of a broker's listeners, from Kafka's configurations. Pure.

::

    listeners                       CLIENTS://0.0.0.0:9092,BROKERS://10.0.0.5:9093
    advertised.listeners            CLIENTS://kafka.example:9092,BROKERS://10.0.0.5:9093
    listener.security.protocol.map  CLIENTS:SASL_SSL,BROKERS:PLAINTEXT
    inter.broker.listener.name      BROKERS
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from pyk.runtime import slotted

from .address import WILDCARDS, format_address
from .config.errors import InvalidConfigError

if TYPE_CHECKING:
    from .config import BrokerConfig

PLAINTEXT = "PLAINTEXT"
ALL_ADDRESSES = "0.0.0.0"  # nosec B104  # noqa: S104 - what an empty host means in Kafka
_LISTENER = re.compile(r"([^:/\s]+)://\[?([^\s/\[\],]*)\]?:([0-9]{1,5})", re.ASCII)
_MAP = "listener.security.protocol.map"


class SecurityProtocol(IntEnum):
    """What is spoken below and before Kafka's protocol; the numbers are those of registrations."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @classmethod
    def of(cls, *, has_tls: bool, has_sasl: bool) -> SecurityProtocol:
        """Return the protocol with these parts."""
        return cls(has_tls + 2 * has_sasl)

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


@slotted.frozen(kw_only=True)
class Endpoint:
    """An address of one listener. Port 0 is one that is not known yet."""

    listener: str
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{format_address(self.host, self.port)}"


@slotted.frozen
class Listeners:
    """Where a broker listens, what it tells clients, and which listener brokers use.

    ``advertised`` may leave listeners out, and so may be empty of the one a client connects to.
    """

    bound: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    inter_broker: str

    def protocol_of(self, listener: str) -> SecurityProtocol:
        """Return the protocol of a listener by its name."""
        return next(each.protocol for each in self.bound if each.listener == listener)

    def with_ports(self, ports: Mapping[str, int]) -> Listeners:
        """Return these with the ports by listener, where a port was not known."""
        return slotted.evolve(
            self,
            bound=_with_ports(self.bound, ports),
            advertised=_with_ports(self.advertised, ports),
        )


def listeners_of(config: BrokerConfig) -> Listeners:
    """Return the listeners of a configuration; raise ``InvalidConfigError`` if they do not fit."""
    protocols = _protocols(config.listener_security_protocol_map)
    bound = _endpoints("listeners", config.listeners, protocols)
    _check_ports(bound)
    advertised = bound
    if config.advertised_listeners is not None:
        advertised = _endpoints("advertised.listeners", config.advertised_listeners, protocols)
        _check_advertised(advertised, bound)
    return Listeners(bound, advertised, _inter_broker(config, advertised))


def _protocols(text: str) -> dict[str, SecurityProtocol]:
    protocols: dict[str, SecurityProtocol] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, separator, protocol = entry.rpartition(":")
        if not separator or protocol.upper() not in SecurityProtocol.__members__:
            known = ", ".join(SecurityProtocol.__members__)
            raise InvalidConfigError(
                f"{_MAP}: {entry[:100]!r} is not LISTENER:PROTOCOL with one of {known}", name=_MAP
            )
        protocols[name.strip().upper()] = SecurityProtocol[protocol.upper()]
    return protocols


def _endpoints(
    option: str, texts: Iterable[str], protocols: Mapping[str, SecurityProtocol]
) -> tuple[Endpoint, ...]:
    found: dict[str, Endpoint] = {}
    for text in texts:
        match = _LISTENER.fullmatch(text.strip())
        if match is None or int(match[3]) > 65_535:
            raise InvalidConfigError(
                f"{option}: {text[:100]!r} is not LISTENER://HOST:PORT", name=option
            )
        name = match[1].upper()
        if name not in protocols:
            raise InvalidConfigError(
                f"{option}: {_MAP} has no protocol for listener {name}", name=option
            )
        if name in found:
            raise InvalidConfigError(f"{option}: listener {name} is named twice", name=option)
        host, port = match[2] or ALL_ADDRESSES, int(match[3])
        found[name] = Endpoint(listener=name, protocol=protocols[name], host=host, port=port)
    if not found:
        raise InvalidConfigError(f"{option}: at least one listener is needed", name=option)
    return tuple(found.values())


def _check_ports(bound: Iterable[Endpoint]) -> None:
    ports: dict[tuple[str, int], str] = {}
    for endpoint in bound:
        first = ports.setdefault((endpoint.host, endpoint.port), endpoint.listener)
        if endpoint.port and first != endpoint.listener:
            raise InvalidConfigError(
                f"listeners: {first} and {endpoint.listener} have the same address",
                name="listeners",
            )


def _check_advertised(advertised: Iterable[Endpoint], bound: Iterable[Endpoint]) -> None:
    option, names = "advertised.listeners", {endpoint.listener for endpoint in bound}
    for endpoint in advertised:
        if endpoint.listener not in names:
            raise InvalidConfigError(
                f"{option}: listeners has no listener {endpoint.listener}", name=option
            )
        if endpoint.host in WILDCARDS:
            raise InvalidConfigError(
                f"{option}: clients cannot connect to {endpoint.host}", name=option
            )


def _inter_broker(config: BrokerConfig, advertised: Iterable[Endpoint]) -> str:
    """Return the listener that brokers use: by its name, or the first one of its protocol.

    Kafka takes the protocol for the name of a listener. Here a broker whose only listeners have
    other protocols talks to itself over the first one.
    """
    names = [endpoint.listener for endpoint in advertised]
    wanted = config.inter_broker_listener_name
    if wanted is not None:
        if wanted.upper() not in names:
            option = "inter.broker.listener.name"
            raise InvalidConfigError(
                f"{option}: {wanted!r} is not one of the advertised listeners {', '.join(names)}",
                name=option,
            )
        return wanted.upper()
    protocol = config.security_inter_broker_protocol
    return protocol if protocol in names else names[0]


def _with_ports(endpoints: Iterable[Endpoint], ports: Mapping[str, int]) -> tuple[Endpoint, ...]:
    return tuple(
        slotted.evolve(endpoint, port=endpoint.port or ports.get(endpoint.listener, 0))
        for endpoint in endpoints
    )
