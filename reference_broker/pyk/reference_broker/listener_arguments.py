"""The arguments of a cluster that stand for Kafka's listener configurations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.runtime.checked_arguments import checked_count, checked_text

from .address import PORTS, WILDCARDS, format_address, parse_address
from .config import BrokerConfigLayers, InvalidConfigError
from .config.broker_config import STANDARD_AUTHORIZER
from .listeners import SecurityProtocol, listeners_of
from .security.certificates import Certificates
from .security.principal import INTER_BROKER_USER

LOOPBACK = "127.0.0.1"


def listener_configs(
    config: Mapping[str, object],
    host: str | None,
    port: int | None,
    advertise: str | None,
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT,
) -> dict[str, object]:
    """Return the configurations that these arguments stand for.

    The only listener has the name of its protocol.

    Raises ``InvalidConfigError`` for an argument beside a configuration of the same, ``ValueError``
    for an address that clients cannot connect to.
    """
    given = {"host": host, "port": port, "advertise": advertise}
    _check_address(host, port, advertise)
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
    configs: dict[str, object] = {"listeners": f"{protocol.name}://{address}"}
    if advertise is not None:
        told_host, told_port = _advertised(advertise)
        # Port 0 is told as the one that the listener gets.
        told = format_address(told_host, told_port or port or 0)
        configs["advertised.listeners"] = f"{protocol.name}://{told}"
    return configs


def tls_configs(
    config: Mapping[str, object], certificates: Certificates, host: str
) -> dict[str, object]:
    """Return the configurations that give every listener with TLS a certificate.

    ``host`` is the address of this machine for listeners on all of its addresses.

    Raises ``InvalidConfigError`` if there is no such listener, or the configuration has files of
    its own for them.
    """
    for name in ("ssl.keystore.location", "ssl.truststore.location"):
        if name in config:
            raise InvalidConfigError(
                f"{name} and tls= (--tls), which makes certificates, were given; use one of them",
                name=name,
            )
    listeners = listeners_of(BrokerConfigLayers.of(config).broker_config())
    if not any(each.protocol.has_tls for each in listeners.bound):
        raise InvalidConfigError("tls= (--tls): none of the listeners has TLS", name="listeners")
    hosts = {each.host for each in (*listeners.bound, *listeners.advertised)} - WILDCARDS
    identity = certificates.of_broker(hosts | {host})
    return {
        "ssl.keystore.certificate.chain": identity.chain,
        "ssl.keystore.key": identity.key,
        "ssl.truststore.certificates": certificates.trust,
        **config,
    }


def user_configs(
    config: Mapping[str, object], users: Mapping[str, str], inter_broker_password: str
) -> dict[str, object]:
    """Return the configurations that let these users log in at every listener with SASL.

    Raises ``InvalidConfigError`` if there is no such listener.
    """
    from .security.users import MECHANISMS, plain_jaas_config

    layers = BrokerConfigLayers.of(config)
    bound = listeners_of(layers.broker_config()).bound
    listeners = [each.listener.lower() for each in bound if each.protocol.has_sasl]
    if not listeners:
        text = "sasl= (--sasl): none of the listeners has SASL"
        raise InvalidConfigError(text, name="listeners")
    jaas = plain_jaas_config(users, inter_broker_password)
    configs: dict[str, object] = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        **{f"listener.name.{name}.plain.sasl.jaas.config": jaas for name in listeners},
        **config,
    }
    if configs.get("authorizer.class.name"):
        configs["super.users"] = _with_brokers(configs.get("super.users", ""))
    return configs


def checked_users(sasl: object) -> dict[str, str]:
    """Return the passwords by user, none if ``sasl`` is None.

    Raises ``TypeError`` and ``ValueError``, without passwords, for what cannot be logged in with.
    """
    if sasl is None:
        return {}
    if not isinstance(sasl, Mapping):
        kind = type(sasl).__name__
        raise TypeError(
            f'sasl must map users to passwords, as in {{"alice": "secret"}}, not {kind}'
        )
    for user, password in sasl.items():
        if not isinstance(user, str):
            raise TypeError(f"sasl: the name of a user must be a str, not {type(user).__name__}")
        if not isinstance(password, str):
            kind = type(password).__name__
            raise TypeError(f"sasl: the password of {user!r} must be a str, not {kind}")
        if not user or not password:
            what = f"the password of {user!r}" if user else "the name of a user"
            raise ValueError(f"sasl: {what} is empty")
    if not sasl:
        raise ValueError("sasl names no user, so nobody could log in")
    if INTER_BROKER_USER in sasl:
        raise ValueError(
            f"sasl: brokers log in to each other as {INTER_BROKER_USER!r}: give the user another "
            "name"
        )
    return dict(sasl)


def checked_tls(tls: object) -> bool:
    """Return whether a cluster makes certificates; raise ``TypeError`` for anything but a bool."""
    if isinstance(tls, bool):
        return tls
    raise TypeError(
        f"tls must be True or False, not {type(tls).__name__}: a cluster makes its certificates "
        "itself; for those of files, give listeners and ssl.keystore.location in config="
    )


def access_configs(
    config: Mapping[str, object],
    users: Mapping[str, str],
    super_users: Iterable[str],
    *,
    has_certificates: bool,
) -> dict[str, object]:
    """Return the configurations that let clients do what ACLs allow, ``super_users`` everything.

    Users without passwords are those of certificates, which clients must show then.

    Raises ``ValueError`` for a super user that is not one of the users.
    """
    names = _names(super_users)
    if not users and not has_certificates:
        raise ValueError(
            "super_users: this cluster does not know who its clients are; give passwords of users "
            "by sasl= (--sasl), or tls=True (--tls) for certificates"
        )
    for name in names if users else ():
        if name not in users:
            raise ValueError(
                f"super_users: {name!r} is not one of the users {', '.join(users)} of sasl="
            )
    if "super.users" in config:
        raise InvalidConfigError(
            "super.users and super_users= were given; use one of them", name="super.users"
        )
    configs = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        **config,
        "super.users": ";".join(f"User:{name}" for name in names),
    }
    return configs if users else _named_by_certificates(configs)


def _names(super_users: object) -> list[str]:
    names = [super_users] if isinstance(super_users, str) else super_users
    if isinstance(names, Iterable):
        names = list(names)
        if all(isinstance(name, str) for name in names):
            return names
    raise TypeError(f"super_users must be a list of names, not {super_users!r}")


def _named_by_certificates(config: dict[str, object]) -> dict[str, object]:
    """Return the configuration under which the name of a client is that of its certificate."""
    return {
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        **config,
        "super.users": _with_brokers(config["super.users"]),
    }


def _with_brokers(super_users: object) -> str:
    """Return ``super.users`` with the brokers: they send each other what no client may send."""
    return ";".join(filter(None, (str(super_users), f"User:{INTER_BROKER_USER}")))


def client_options(
    bootstrap: str, protocol: SecurityProtocol, users: Mapping[str, str], user: str | None
) -> dict[str, object]:
    """Return the keyword arguments of a client; raise ``ValueError`` for an unknown user."""
    options: dict[str, object] = {"bootstrap_servers": bootstrap}
    if protocol is not SecurityProtocol.PLAINTEXT:
        options["security_protocol"] = protocol.name
    if not protocol.has_sasl:
        if user is not None and not protocol.has_tls:
            raise ValueError(f"user={user!r}: the listener has no users; use Cluster(sasl=…)")
        return options
    if not users:
        raise ValueError(
            "clients of this listener must log in, and the cluster knows no password: use "
            "Cluster(sasl=…), or connect to cluster.bootstrap with auth= and security_protocol="
        )
    name = next(iter(users)) if user is None else user
    if name not in users:
        raise ValueError(f"user={user!r} is not one of the users {', '.join(users)}")
    return options | {
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": name,
        "sasl_plain_password": users[name],
    }


def _check_address(host: object, port: object, advertise: object) -> None:
    if host is not None:
        name = checked_text(host, "host")
        if not name:
            raise ValueError("host is empty: name an address of this machine, or leave it out")
        if name.count(":") == 1:
            raise ValueError(f"host: {name!r} has a port: give it as port=")
    if port is not None and checked_count(port, "port") not in (0, *PORTS):
        raise ValueError(f"port must be at most {PORTS[-1]}, not {port}")
    if advertise is not None:
        checked_text(advertise, "advertise")


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
