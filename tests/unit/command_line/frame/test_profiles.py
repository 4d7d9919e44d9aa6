from __future__ import annotations

import pytest

from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.profiles import parse_profiles

TEXT = """
default = "local"

[profiles.local]
bootstrap_servers = "localhost:9092"

[profiles.shop]
bootstrap_servers = ["one.example:9093", "two.example:9093"]
security.protocol = "SASL_SSL"
"ssl.truststore.location" = "ca.pem"
sasl_password = "env:SHOP"
linger_ms = 5
"""


def test_a_profile_has_options_under_kafkas_names_or_those_of_pyk() -> None:
    profiles = parse_profiles(TEXT, "config.toml")

    assert profiles.names == ["local", "shop"]
    assert profiles.default == "local"
    assert profiles.options_of("shop") == {
        "bootstrap_servers": "one.example:9093,two.example:9093",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": "ca.pem",
        "sasl_password": "env:SHOP",
        "linger_ms": 5,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "config.toml is not TOML: "),
        ("[profile.a]", "config.toml: 'profile' is unknown; did you mean 'profiles'?"),
        ("default = 'b'\n[profiles.a]", "config.toml: default = 'b' is not the name of a profile"),
        ("profiles = 3", "config.toml: a profile is a table: [profiles.NAME]"),
        ("[profiles]\na = 3", "config.toml: a profile is a table: [profiles.NAME]"),
        ("[profiles.a]\nacks = [1]", "config.toml: acks must be text, a number, true, false"),
    ],
)
def test_an_error_names_the_file_and_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(CommandError) as raised:
        parse_profiles(text, "config.toml")

    assert str(raised.value).startswith(words)
    assert raised.value.code == 2


def test_a_misspelt_profile_gets_a_suggestion() -> None:
    with pytest.raises(CommandError, match=r"has no profile 'shpo'; did you mean 'shop'\?"):
        parse_profiles(TEXT, "config.toml").options_of("shpo")


def test_the_error_for_a_profile_of_no_file_names_the_file() -> None:
    with pytest.raises(CommandError, match=r"there is no profile 'a': config.toml has no profiles"):
        parse_profiles("", "config.toml").options_of("a")


def test_secrets_that_stand_in_the_file_itself_are_found() -> None:
    profiles = parse_profiles(
        """
        [profiles.shop]
        sasl_username = "alice"
        sasl_password = "secret"
        ssl.key.password = "env:KEY"
        "ssl.keystore.key" = "file:/etc/key.pem"
        [profiles.other]
        "sasl.jaas.config" = "…"
        """,
        "config.toml",
    )

    assert profiles.plain_secrets == ["other.sasl.jaas.config", "shop.sasl_password"]
