"""The listeners that Kafka's configurations describe."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config import BrokerConfigLayers, InvalidConfigError
from pyk.reference_broker.listener_arguments import listener_configs
from pyk.reference_broker.listeners import Listeners, SecurityProtocol, listeners_of

TWO = {
    "listeners": "clients://0.0.0.0:9092,BROKERS://[::1]:0",
    "advertised.listeners": "CLIENTS://kafka.example:9092,BROKERS://[::1]:0",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL, BROKERS:PLAINTEXT",
}


def listeners(**more: str) -> Listeners:
    """Return the listeners of a configuration; underscores stand for dots."""
    named = {name.replace("_", "."): value for name, value in more.items()}
    return listeners_of(BrokerConfigLayers.of({**TWO, **named}).broker_config())


def test_listeners_have_names_protocols_and_addresses() -> None:
    first, second = listeners(inter_broker_listener_name="BROKERS").bound

    assert (first.listener, first.host, first.port) == ("CLIENTS", "0.0.0.0", 9092)
    assert first.protocol is SecurityProtocol.SASL_SSL
    assert (second.host, second.port, second.protocol) == ("::1", 0, SecurityProtocol.PLAINTEXT)


def test_an_empty_host_means_all_addresses_and_the_default_protocol_is_the_name() -> None:
    (only,) = listeners_of(
        BrokerConfigLayers.of({"listeners": "SSL://:9092"}).broker_config()
    ).bound

    assert (only.host, only.protocol) == ("0.0.0.0", SecurityProtocol.SSL)


def test_ports_become_known_when_they_are_open() -> None:
    opened = listeners().with_ports({"CLIENTS": 9092, "BROKERS": 4711})

    assert [str(each) for each in opened.bound] == [
        "CLIENTS://0.0.0.0:9092",
        "BROKERS://[::1]:4711",
    ]
    assert [each.port for each in opened.advertised] == [9092, 4711]


def test_what_is_not_advertised_is_still_listened_on() -> None:
    found = listeners(advertised_listeners="CLIENTS://kafka.example:9092")

    assert [each.listener for each in found.advertised] == ["CLIENTS"]
    assert len(found.bound) == 2


@pytest.mark.parametrize(
    ("more", "used"),
    [
        ({"inter_broker_listener_name": "brokers"}, "BROKERS"),
        ({}, "CLIENTS"),
        (
            {
                "listener_security_protocol_map": "CLIENTS:SSL,SASL_SSL:SASL_SSL",
                "listeners": "CLIENTS://:1,SASL_SSL://:2",
                "advertised_listeners": "CLIENTS://a:1,SASL_SSL://a:2",
                "security_inter_broker_protocol": "SASL_SSL",
            },
            "SASL_SSL",
        ),
    ],
)
def test_brokers_use_the_listener_that_is_named_for_them(more: dict[str, str], used: str) -> None:
    assert listeners(**more).inter_broker == used


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"listeners": "CLIENTS"}, "'CLIENTS' is not LISTENER://HOST:PORT"),
        ({"listeners": "CLIENTS://a:65536"}, "is not LISTENER://HOST:PORT"),
        ({"listeners": "OTHER://:1"}, "has no protocol for listener OTHER"),
        ({"listeners": "CLIENTS://:1,clients://:2"}, "CLIENTS is named twice"),
        ({"listeners": "CLIENTS://:1,BROKERS://:1"}, "CLIENTS and BROKERS have the same address"),
        ({"listeners": ""}, "at least one listener"),
        ({"listener_security_protocol_map": "CLIENTS:TLS"}, "'CLIENTS:TLS' is not LISTENER:PROTO"),
        ({"advertised_listeners": "CLIENTS://0.0.0.0:1"}, "clients cannot connect to 0.0.0.0"),
        ({"listeners": "CLIENTS://:1"}, "listeners has no listener BROKERS"),
        ({"inter_broker_listener_name": "OTHER"}, "'OTHER' is not one of the advertised"),
    ],
)
def test_listeners_that_do_not_fit_are_refused(more: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidConfigError, match=text):
        listeners(**more)


@pytest.mark.parametrize(
    ("arguments", "configs"),
    [
        ((None, None, None), {"listeners": "PLAINTEXT://127.0.0.1:0"}),
        (("::1", 9092, None), {"listeners": "PLAINTEXT://[::1]:9092"}),
        (
            (None, 9092, "kafka.example"),
            {
                "listeners": "PLAINTEXT://127.0.0.1:9092",
                "advertised.listeners": "PLAINTEXT://kafka.example:9092",
            },
        ),
    ],
)
def test_arguments_stand_for_listeners(
    arguments: tuple[str | None, int | None, str | None], configs: dict[str, str]
) -> None:
    assert listener_configs({}, *arguments) == configs


@pytest.mark.parametrize(
    ("option", "arguments", "name"),
    [
        ("listeners", ("127.0.0.1", None, None), "host"),
        ("listeners", (None, 0, None), "port"),
        ("advertised.listeners", (None, 9092, "a"), "advertise"),
    ],
)
def test_an_argument_beside_the_configuration_of_the_same_is_refused(
    option: str, arguments: tuple[str | None, int | None, str | None], name: str
) -> None:
    with pytest.raises(InvalidConfigError, match=rf"{option} and {name}= \(--{name}\) were given"):
        listener_configs({option: "PLAINTEXT://a:1"}, *arguments)
