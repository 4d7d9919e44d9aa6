"""The values of ``sasl.jaas.config``, which clients and brokers read."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.protocol.sasl.jaas import JaasError, jaas_entry, parse_jaas, plain_users

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_users_are_options_of_the_module() -> None:
    text = (
        f'{MODULE} required username=broker password=x\n user_alice="a \\"b\\" ;=" user_bob=\'c\';'
    )

    options = parse_jaas(text).options_of("PlainLoginModule")

    assert (options["username"], options["password"]) == ("broker", "x")
    assert plain_users(options) == {"alice": 'a "b" ;=', "bob": "c"}


@given(st.dictionaries(st.text(), st.text()))
def test_options_of_any_characters_are_read_back_as_they_were_written(
    options: dict[str, str],
) -> None:
    entry = parse_jaas(jaas_entry(MODULE, options))

    assert (entry.name, entry.options) == ("PlainLoginModule", options)


@pytest.mark.parametrize("secret", [";", "=", "//", "/*", "required", "'", '"', "\\", " "])
def test_a_password_may_look_like_the_syntax(secret: str) -> None:
    assert parse_jaas(jaas_entry(MODULE, {"password": secret})).options == {"password": secret}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r'"a\tb\nc"', "a\tb\nc"),
        (r'"\101\0\7777"', "A\0?77"),
        (r"'\"\'\x'", "\"'x"),
        ("1234", "1234"),
        ("https://a/b", "https://a/b"),
        ('"a" // "b"\n', "a"),
        ('/* ; */ "a"', "a"),
        ("a password=b", "b"),
    ],
)
def test_values_are_read_as_by_kafka(written: str, value: str) -> None:
    assert parse_jaas(f"{MODULE} required password={written};").options == {"password": value}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must read: CLASS required"),
        ("canary", "must read: CLASS required"),
        (f"{MODULE} required", "must read: CLASS required"),
        (f"{MODULE} always a=canary;", "must read: CLASS required"),
        ("= required a=canary;", "must read: CLASS required"),
        (f'{MODULE} required a="canary;', "is not closed"),
        (f'{MODULE} required a="can\nary";', "is not closed"),
        (f"{MODULE} required /* a=canary;", "is not closed"),
        (f'{MODULE} required a="canary"', "must have one entry"),
        (f"{MODULE} required a=canary; {MODULE} required;", "must have one entry"),
        (f"{MODULE} required a=canary b;", 'not NAME="VALUE"'),
        (f'{MODULE} required a"="canary;', 'not NAME="VALUE"'),
        (f"{MODULE} required a '=' canary;", 'not NAME="VALUE"'),
        (f"{MODULE} required canary=;", 'not NAME="VALUE"'),
        ("x.ScramLoginModule required a=canary;", "must name the login module PlainLoginModule"),
    ],
)
def test_what_is_wrong_is_refused_without_being_shown(text: str, words: str) -> None:
    with pytest.raises(JaasError) as error:
        parse_jaas(text).options_of("PlainLoginModule")

    assert words in str(error.value)
    assert "canary" not in str(error.value)
    assert error.value.__context__ is None


@given(st.text(alphabet="ab=;\"'\\/* \n01"))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(JaasError):
        parse_jaas(text)


def test_options_are_not_shown() -> None:
    assert "canary" not in repr(parse_jaas(f"{MODULE} required password=canary;"))
