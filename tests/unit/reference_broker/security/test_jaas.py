"""Users and passwords in ``sasl.jaas.config``."""

from __future__ import annotations

import pytest

from pyk.reference_broker.security.jaas import jaas_options, plain_users, quoted

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_users_are_options_of_the_module() -> None:
    text = f'{MODULE} required username="broker" password=x\n user_alice="a \\"b\\" ;=" user_bob=c;'

    options = jaas_options(text, "PlainLoginModule")

    assert (options["username"], options["password"]) == ("broker", "x")
    assert plain_users(options) == {"alice": 'a "b" ;=', "bob": "c"}


@pytest.mark.parametrize("name", ["alice", 'a "b"', "a\\", "a=b;c"])
def test_names_of_any_characters_are_read_back_as_they_were_written(name: str) -> None:
    text = f"{MODULE} required {quoted(name)}={quoted(name)};"

    assert jaas_options(text, "PlainLoginModule") == {name: name}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "canary",
        f"{MODULE} required",
        f"{MODULE} always a=canary;",
        f'{MODULE} required a="canary;',
        f"{MODULE} required a=canary b;",
        f"{MODULE} required a=canary; {MODULE} required;",
        "ScramLoginModule required a=canary;",
    ],
)
def test_what_is_wrong_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match=r"login module must be|use MODULE required") as error:
        jaas_options(text, "PlainLoginModule")

    assert "canary" not in str(error.value)
