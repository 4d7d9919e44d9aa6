"""The arguments of a cluster that stand for Kafka's listener configurations. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from .address import WILDCARDS, format_address, parse_address
from .config import InvalidConfigError
from .listeners import PLAINTEXT

LOOPBACK = "127.0.0.1"


def listener_configs(
    config: Mapping[str, object], host: str | None, port: int | None, advertise: str | None
) -> dict[str, object]:
    """Return the configurations that these arguments stand for.

    Raises ``InvalidConfigError`` for an argument beside a configuration of the same, ``ValueError``
    for an address that clients cannot connect to.
    """
    given = {"host": host, "port": port, "advertise": advertise}
    for option, arguments in (
        ("listeners", ("host", "port", "advertise")),
        ("advertised.listeners", ("advertise",)),
    ):
        too_many = [name for name in arguments if given[name] is not None]
        if option in config and too_many:
            raise InvalidConfigError(
                f"{option} and {too_many[0]}= (--{too_many[0]}) were given; use one of them",
                name=option,
            )
    if "listeners" in config:
        return {}
    address = format_address(host or LOOPBACK, port or 0)
    configs: dict[str, object] = {"listeners": f"{PLAINTEXT}://{address}"}
    if advertise is not None:
        told_host, told_port = _advertised(advertise)
        # Port 0 is told as the one that the listener gets.
        told = format_address(told_host, told_port or port or 0)
        configs["advertised.listeners"] = f"{PLAINTEXT}://{told}"
    return configs


def _advertised(advertise: str) -> tuple[str, int | None]:
    try:
        host, port = parse_address(advertise)
    except ValueError as error:
        raise ValueError(f"advertise: {error}") from None
    if host in WILDCARDS:
        raise ValueError(
            f"advertise: clients cannot connect to {host!r}; name an address of this machine"
        )
    return host, port
