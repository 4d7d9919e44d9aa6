from __future__ import annotations

import pytest

from pyk.command_line.frame.client_options import (
    References,
    client_options,
    has_addresses_alone,
    options_of_command,
)
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.profiles import Profiles
from pyk.command_line.frame.settings import Settings

PROFILES = Profiles(
    "config.toml",
    "local",
    {
        "local": {"bootstrap_servers": "local:9092"},
        "shop": {"bootstrap.servers": "shop:9093", "sasl_username": "alice"},
    },
)


def options(
    environment: dict[str, str] | None = None,
    properties: dict[str, object] | None = None,
    profiles: Profiles = PROFILES,
    **settings: object,
) -> dict[str, object]:
    given = Settings(**settings)  # type: ignore[arg-type]
    return client_options(given, environment or {}, properties or {}, lambda: profiles)


def test_the_default_profile_is_used_if_nothing_names_a_cluster() -> None:
    assert options() == {"bootstrap_servers": "local:9092"}


@pytest.mark.parametrize(
    ("environment", "settings"),
    [({"PYK_BOOTSTRAP": "x:1"}, {}), ({}, {"bootstrap": "x:1"})],
)
def test_the_passwords_of_the_default_profile_do_not_go_to_a_cluster_named_otherwise(
    environment: dict[str, str], settings: dict[str, object]
) -> None:
    profiles = Profiles("config.toml", "shop", PROFILES.by_name)

    assert options(environment, profiles=profiles, **settings) == {"bootstrap_servers": "x:1"}


@pytest.mark.parametrize(
    ("environment", "settings", "expected"),
    [
        ({}, {"bootstrap": "x:1"}, True),
        ({"PYK_BOOTSTRAP": "x:1"}, {}, True),
        ({"PYK_BOOTSTRAP": ""}, {}, False),
        ({}, {}, False),
        ({"PYK_PROFILE": "shop"}, {"bootstrap": "x:1"}, False),
        ({}, {"bootstrap": "x:1", "profile": "shop"}, False),
        ({}, {"bootstrap": "x:1", "properties": "client.properties"}, False),
        ({}, {"bootstrap": "x:1", "options": {"security.protocol": "env:PROTOCOL"}}, False),
    ],
)
def test_only_a_client_that_is_given_an_address_alone_does_without_tls(
    environment: dict[str, str], settings: dict[str, object], expected: bool
) -> None:
    given = Settings(**settings)  # type: ignore[arg-type]

    assert has_addresses_alone(given, environment) is expected


def test_an_empty_profile_is_not_taken_for_the_default_one() -> None:
    with pytest.raises(CommandError, match="has no profile ''; it has local, shop"):
        options(profile="")


def test_an_empty_variable_names_no_cluster() -> None:
    assert options({"PYK_BOOTSTRAP": "", "PYK_PROFILE": ""}) == {"bootstrap_servers": "local:9092"}


def test_options_by_x_win_over_those_of_the_default_profile() -> None:
    profiles = Profiles("config.toml", "shop", PROFILES.by_name)

    found = options(profiles=profiles, options={"sasl.username": "bob"})

    assert found == {"bootstrap.servers": "shop:9093", "sasl.username": "bob"}


def test_a_profile_that_was_named_wins_over_that_of_the_environment() -> None:
    assert "sasl_username" in options({"PYK_PROFILE": "local"}, profile="shop")


def test_an_address_replaces_that_of_a_profile_that_was_named() -> None:
    assert options(profile="shop", bootstrap="tunnel:1") == {
        "bootstrap_servers": "tunnel:1",
        "sasl_username": "alice",
    }


def test_a_profile_that_was_named_wins_over_the_address_of_the_environment() -> None:
    environment = {"PYK_BOOTSTRAP": "x:1"}

    assert options(environment, profile="shop")["bootstrap.servers"] == "shop:9093"
    assert options({**environment, "PYK_PROFILE": "shop"})["bootstrap.servers"] == "shop:9093"


def test_an_address_by_x_wins_over_that_of_the_environment_but_not_over_b() -> None:
    by_x = {"bootstrap.servers": "x:1"}

    assert options({"PYK_BOOTSTRAP": "env:1"}, options=by_x) == by_x
    assert options(bootstrap="b:1", options=by_x) == {"bootstrap_servers": "b:1"}


def test_an_address_of_the_environment_wins_over_a_file_of_properties() -> None:
    found = options({"PYK_BOOTSTRAP": "env:1"}, {"bootstrap.servers": "file:1"})

    assert found == {"bootstrap_servers": "env:1"}


def test_options_by_x_win_however_they_are_written() -> None:
    assert options(
        properties={"bootstrap.servers": "file:1", "sasl.username": "bob"},
        profile="shop",
        options={"sasl_username": "carol"},
    ) == {"bootstrap.servers": "file:1", "sasl_username": "carol"}


def test_the_error_without_a_cluster_says_how_to_name_one() -> None:
    profiles = Profiles("config.toml", None, PROFILES.by_name)

    with pytest.raises(CommandError) as raised:
        options(profiles=profiles)

    assert str(raised.value) == (
        "no cluster was named: give -b HOST:PORT, set PYK_BOOTSTRAP, or choose a --profile; "
        "config.toml has local, shop"
    )


@pytest.mark.parametrize(
    "name", ["bootstrap", "bootstrap_server", "bootstrap.server", "brokers", "metadata.broker.list"]
)
def test_a_profile_that_names_the_address_otherwise_is_told_so(name: str) -> None:
    profiles = Profiles("config.toml", "local", {**PROFILES.by_name, "new": {name: "new:9092"}})

    with pytest.raises(CommandError) as raised:
        options(profiles=profiles, profile="new")

    assert str(raised.value) == (
        "config.toml: profile 'new' names no cluster; "
        f"did you mean 'bootstrap_servers' by {name!r}?"
    )


def test_a_profile_without_an_address_does_not_lead_to_the_default_cluster() -> None:
    profiles = Profiles("config.toml", "local", {**PROFILES.by_name, "new": {"acks": 1}})

    with pytest.raises(CommandError) as raised:
        options(profiles=profiles, profile="new")

    assert str(raised.value) == (
        "config.toml: profile 'new' names no cluster; give it bootstrap_servers = \"HOST:PORT\", "
        "or add -b HOST:PORT"
    )


def test_a_misspelt_address_by_x_is_told() -> None:
    profiles = Profiles("config.toml")

    with pytest.raises(CommandError) as raised:
        options(profiles=profiles, options={"bootstrap.server": "x:1"})

    assert str(raised.value) == (
        "no cluster was named; did you mean 'bootstrap_servers' by 'bootstrap.server'?"
    )


def read(path: str) -> str:
    if path == "missing":
        raise FileNotFoundError(2, "No such file or directory")
    if path == "binary":
        return b"\xff".decode()
    return f"what {path} holds\n"


REFERENCES = References(
    {"SHOP": "secret", "SPACED": " s "}, read, lambda command: f"output of {command}\r\n"
)


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("env:SHOP", "secret"),
        ("env:SPACED", " s "),
        ("file:~/x", "what ~/x holds"),
        ("command:pass show shop", "output of pass show shop"),
        ("plain", "plain"),
        (5, 5),
    ],
)
def test_references_lead_to_the_environment_a_file_or_a_command(
    value: object, resolved: object
) -> None:
    assert REFERENCES.resolve("sasl_password", value) == resolved


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("env:NONE", "sasl_password: 'env:NONE' cannot be read: it is not set"),
        ("file:missing", "'file:missing' cannot be read: No such file or directory"),
        ("file:binary", "'file:binary' cannot be read: it is not UTF-8"),
    ],
)
def test_the_error_for_a_reference_names_the_option(value: str, words: str) -> None:
    with pytest.raises(CommandError) as raised:
        REFERENCES.resolve("sasl_password", value)

    assert words in str(raised.value)
    assert raised.value.code == 2


def test_serializers_of_a_java_client_are_left_out() -> None:
    of_file = {"key.serializer": "StringSerializer", "value_deserializer": "x", "acks": "all"}

    assert options_of_command(of_file, {"linger_ms": 0}, {}) == {"acks": "all", "linger_ms": 0}


def test_what_a_command_needs_wins_over_a_file() -> None:
    of_file = {"group.id": "app", "enable.auto.commit": "true"}

    options = options_of_command(of_file, {"group_id": None, "enable_auto_commit": False}, {})

    assert options == {"group_id": None, "enable_auto_commit": False}


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"value.serializer": "x"}, "keys and values are bytes here; leave out value.serializer"),
        ({"group.id": "a"}, "group.id has no effect here; pyk consume and pyk copy take --group"),
        ({"linger_ms": "5"}, "linger_ms=5 has no effect here: this command uses 0"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(
    asked: dict[str, object], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem):
        options_of_command(asked, {"group.id": None, "linger.ms": 0}, asked)


def test_an_option_that_a_command_uses_anyway_may_be_given() -> None:
    needed = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
    asked = {"enable_auto_commit": "false", "auto.offset.reset": "earliest"}

    assert options_of_command(asked, needed, asked) == needed
