"""The options of TLS and SASL: what they imply, what goes together, what is never shown."""

from __future__ import annotations

import logging
import ssl
from typing import Any

import pytest

from pyk.clients.config import AdminConfig, ProducerConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.security import Plain, Scram, Secret
from pyk.clients.security.tls_settings import server_name

JAAS = "org.apache.kafka.common.security"
SCRAM = Scram("alice", "canary")
CONTEXT = ssl.create_default_context()


def config(**options: Any) -> AdminConfig:
    return AdminConfig.from_kwargs("broker:9092", **options)


def properties(**options: str) -> AdminConfig:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return AdminConfig.from_properties({"bootstrap.servers": "broker:9092", **named})


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"auth": SCRAM}, "SASL_SSL"),
        (
            {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": "canary"},
            "SASL_SSL",
        ),
        (
            {
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "alice",
                "sasl_plain_password": "canary",
                "security_protocol": "sasl_ssl",
            },
            "SASL_SSL",
        ),
        ({"ssl_cafile": "ca.pem"}, "SSL"),
        ({"ssl_cafile": None, "auth": None, "sasl_username": None}, "PLAINTEXT"),
        ({"ssl_cafile": "ca.pem", "auth": SCRAM}, "SASL_SSL"),
        ({"auth": SCRAM, "security_protocol": "SASL_PLAINTEXT"}, "SASL_PLAINTEXT"),
    ],
)
def test_the_protocol_is_the_safe_one_unless_it_is_given(
    options: dict[str, Any], protocol: str
) -> None:
    assert config(**options).security_protocol == protocol


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"auth": SCRAM, "security_protocol": "SSL"}, "auth= was given, but .*'SSL' do not log in"),
        ({"auth": SCRAM, "security_protocol": "PLAINTEXT"}, "give security_protocol='SASL_SSL'"),
        (
            {"sasl_username": "alice", "sasl_password": "canary", "security_protocol": "SSL"},
            "leave sasl_username= out",
        ),
        (
            {"ssl_context": CONTEXT, "auth": SCRAM, "security_protocol": "SASL_PLAINTEXT"},
            "'SASL_PLAINTEXT' do not encrypt: give security_protocol='SASL_SSL'",
        ),
        (
            {"ssl_context": CONTEXT, "security_protocol": "PLAINTEXT"},
            "give security_protocol='SSL', or leave ssl_context= out",
        ),
    ],
)
def test_a_login_or_context_that_the_protocol_does_not_use_is_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        config(**options)


def test_a_login_beside_properties_without_one_is_used() -> None:
    given = {"bootstrap.servers": "broker:9092", "ssl.truststore.location": "ca.pem"}

    assert AdminConfig.from_properties(given, auth=SCRAM).security_protocol == "SASL_SSL"


def test_kafkas_names_imply_no_protocol_as_in_kafka(caplog: pytest.LogCaptureFixture) -> None:
    made = properties(ssl_truststore_location="/etc/ca.pem", sasl_mechanism="PLAIN")

    assert made.security_protocol == "PLAINTEXT"
    assert "ssl.truststore.location, sasl.mechanism (security_protocol is PLAINTEXT)" in caplog.text


@pytest.mark.parametrize(
    ("mechanism", "entry", "credentials"),
    [
        (
            "PLAIN",
            f'{JAAS}.plain.PlainLoginModule required username="alice" password=\'c, "1";\';',
            Plain("alice", 'c, "1";'),
        ),
        (
            "SCRAM-SHA-256",
            f'{JAAS}.scram.ScramLoginModule required\n  username="alice"\n  password="a\\"b\\\\";',
            Scram("alice", 'a"b\\', "SCRAM-SHA-256"),
        ),
        (
            "SCRAM-SHA-512",
            f'{JAAS}.scram.ScramLoginModule required username=t password=h tokenauth="true";',
            Scram("t", "h", is_delegation_token=True),
        ),
    ],
)
def test_a_login_of_a_java_client_is_understood(
    mechanism: str, entry: str, credentials: object
) -> None:
    made = properties(
        security_protocol="SASL_SSL", sasl_mechanism=mechanism, sasl_jaas_config=entry
    )

    assert made.credentials() == credentials


def test_the_mechanism_may_follow_from_the_login_module() -> None:
    entry = f"{JAAS}.plain.PlainLoginModule required username=a password=b;"

    made = properties(security_protocol="SASL_SSL", sasl_jaas_config=entry)

    assert made.credentials() == Plain("a", "b")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"security_protocol": "SASL_SSL"}, "needs sasl_mechanism="),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"},
            "needs sasl_username and sasl_password",
        ),
        ({"auth": SCRAM, "sasl_password": "canary"}, "auth= was given, and sasl_password"),
        ({"auth": "alice:canary"}, "must be an object such as"),
        ({"auth": lambda: "canary"}, "not function; give Oauth(…) with it"),
        ({"auth": Scram}, "not Scram"),
        ({"sasl_password": b"canary"}, "must be a str, not bytes"),
        ({"ssl_context": True}, "must be an ssl.SSLContext, not bool"),
        ({"ssl_cafile": "-----BEGIN canary"}, "not its contents"),
        ({"ssl_keyfile": "key.pem"}, "ssl_keyfile needs ssl_certfile"),
        (
            {"ssl_cafile": "a", "ssl_truststore_certificates": "canary"},
            "ssl_truststore_certificates and ssl_cafile were given",
        ),
        (
            {"security_protocol": "SSL", "ssl_keystore_key": "canary"},
            "belong together: give both",
        ),
        ({"ssl_enabled_protocols": "TLSv1.1"}, "names no version that is safe"),
        ({"ssl_enabled_protocols": "TLSv9"}, "names 'TLSv9'"),
        (
            {
                "security_protocol": "SASL_SSL",
                "sasl_jaas_config": "x.PlainLoginModule required username=a password=canary;",
                "sasl_mechanism": "SCRAM-SHA-256",
            },
            "sasl_jaas_config is for PLAIN",
        ),
        (
            {
                "security_protocol": "SASL_SSL",
                "sasl_jaas_config": "x.OtherLoginModule required password=canary;",
            },
            "a login module that is not known here",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config(**options)

    assert words in str(caught.value)
    assert "canary" not in str(caught.value)


def test_no_secret_is_shown_by_a_configuration(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = ProducerConfig.from_kwargs(
        "broker:9092",
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password="canary",
        ssl_key_password=Secret("canary"),
        ssl_truststore_password="canary",
    )

    assert "canary" not in repr(made)
    assert "canary" not in repr(made.credentials())
    assert "canary" not in repr(made.tls_settings())
    assert "canary" not in caplog.text


def test_a_password_in_clear_text_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    config(auth=Plain("alice", "canary"), security_protocol="SASL_PLAINTEXT")

    assert "the password is sent in clear text" in caplog.text


def test_cipher_suites_of_tls_1_3_alone_leave_out_the_version_before() -> None:
    settings = config(ssl_cipher_suites="TLS_AES_256_GCM_SHA384", security_protocol="SSL")

    assert settings.tls_settings().versions == ("TLSv1.3",)


@pytest.mark.parametrize(
    ("host", "name"), [("kafka", "kafka"), ("kafka.", "kafka"), (".", "."), ("::1", "::1")]
)
def test_a_certificate_names_a_host_without_the_dot_of_the_root(host: str, name: str) -> None:
    assert server_name(host) == name
