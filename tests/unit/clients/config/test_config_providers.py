"""References of properties to the environment and to files."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from pyk.clients.config.config_providers import PACKAGE, Sources, resolved
from pyk.clients.config.properties_file import read_properties
from pyk.clients.errors import ConfigurationError

FILES = {
    "/etc/kafka.properties": "password = of\\ the file\nother=1\n",
    "/run/secrets/password": "of the folder",
}


def read(path: str) -> str:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


SOURCES = Sources({"PASSWORD": "of the environment", "EMPTY": ""}, read)
ALL = {"config.providers": "env, file,directory"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${env:PASSWORD}", "of the environment"),
        ("${env::PASSWORD}", "of the environment"),
        ("${env:EMPTY}", ""),
        ("${file:/etc/kafka.properties:password}", "of the file"),
        ("${directory:/run/secrets:password}", "of the folder"),
        (
            'a "${env:PASSWORD}", b ${env:PASSWORD};',
            'a "of the environment", b of the environment;',
        ),
        ("${vault:PASSWORD}", "${vault:PASSWORD}"),
        ("${PASSWORD}", "${PASSWORD}"),
        ("$env:PASSWORD", "$env:PASSWORD"),
        (7, 7),
    ],
)
def test_references_are_replaced(value: object, expected: object) -> None:
    assert resolved({**ALL, "sasl.password": value}, SOURCES) == {"sasl.password": expected}


def test_what_a_reference_leads_to_is_not_replaced_again() -> None:
    sources = Sources({"ONE": "${env:TWO}", "TWO": "2"}, read)

    assert resolved({**ALL, "a": "${env:ONE}"}, sources) == {"a": "${env:TWO}"}


def test_without_providers_values_are_literal() -> None:
    properties = {"sasl.password": "${env:PASSWORD}"}

    assert resolved(properties, SOURCES) == properties


def test_providers_have_the_classes_of_kafka() -> None:
    properties = {
        "config.providers": "mine",
        "config.providers.mine.class": f"{PACKAGE}EnvVarConfigProvider",
        "sasl.password": "${mine:PASSWORD}",
    }

    assert resolved(properties, SOURCES) == {"sasl.password": "of the environment"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("${env:NOBODY}", r"sasl.password: \$\{env:NOBODY\}: the environment has no NOBODY"),
        ("${file:/etc/kafka.properties:nothing}", "the file /etc/kafka.properties has no nothing"),
        ("${file:/none:password}", "cannot be read: No such file"),
        ("${file:password}", r"must be \$\{file:PATH:KEY\}"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error(value: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        resolved({**ALL, "sasl.password": value}, SOURCES)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"config.providers": "vault"}, "config.providers.vault.class must be one of"),
        (
            {"config.providers": "a", "config.providers.a.class": "com.example.Vault"},
            "config.providers.a.class must be one of",
        ),
        (
            {**ALL, "config.providers.file.param.allowed.paths": "/etc"},
            "config.providers.file.param.allowed.paths: pyk's providers have no parameters",
        ),
    ],
)
def test_other_providers_are_refused(properties: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        resolved(properties, SOURCES)


def test_properties_files_refer_to_the_environment_and_to_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "one")
    secrets, client = tmp_path / "secrets.properties", tmp_path / "client.properties"
    secrets.write_text("key=two\n")
    client.write_text(
        "config.providers=env,file\n"
        "sasl.password=${env:SHOP_PASSWORD}\n"
        f"ssl.key.password=${{file:{secrets}:key}}\n"
    )

    found = read_properties(client)

    assert found == {"sasl.password": "one", "ssl.key.password": "two"}


def test_a_file_that_is_no_text_is_named_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(b"sasl.password=canary-\xfc")

    with pytest.raises(ConfigurationError, match=r"client\.properties' is not a text") as it:
        read_properties(file)

    assert "canary" not in "".join(traceback.format_exception(it.value))


@pytest.mark.parametrize("providers", [{}, {"config.providers": "file"}])
def test_a_reference_that_is_not_replaced_is_warned_about(
    providers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    read_properties({**providers, "sasl.password": "${env:PASSWORD}"})

    assert (
        "sasl.password: ${env:…} is used as it is written: config.providers does not name 'env'"
    ) in caplog.text


def test_values_that_are_no_references_are_not_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read_properties({"sasl.password": "${dollars:in}it", "sasl.username": "alice"})

    assert not caplog.text
