"""TLS: how a client shows who it is, and which files of certificates and keys it can use."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from pyk.clients.errors import (
    AuthenticationError,
    ConfigurationError,
    SslAuthenticationError,
)
from pyk.clients.security.tls import new_context
from pyk.clients.security.tls_settings import TlsSettings
from pyk.runtime.secret import Secret
from support.canaries import shown_with_variables
from support.certificates import (
    Authority,
    encrypted_key,
    key_store,
    listening,
)
from support.tls_clients import connects, failure, new_client


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def leaf(authority: Authority) -> trustme.LeafCert:
    return authority.issue("localhost", "127.0.0.1")


# -- the certificate of the client -----------------------------------------------------------------


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_missing_certificate_of_the_client_is_named(
    version: ssl.TLSVersion, authority: Authority, leaf: trustme.LeafCert
) -> None:
    context = authority.demanding_server(leaf)
    context.maximum_version = version

    error = await failure(context, ssl_cafile=authority.file)

    assert isinstance(error, AuthenticationError), error
    assert "certificate" in str(error)
    assert "ssl_certfile" in str(error)


async def test_a_certificate_of_an_unknown_authority_is_named(
    authority: Authority, leaf: trustme.LeafCert, tmp_path: Path
) -> None:
    stranger = authority.write(Authority(tmp_path).issue("alice"), "stranger.pem")

    error = await failure(
        authority.demanding_server(leaf), ssl_cafile=authority.file, ssl_certfile=stranger
    )

    assert isinstance(error, SslAuthenticationError)
    assert "does not know the authority of the client's certificate" in str(error)


async def test_every_form_of_a_certificate_is_shown_to_the_broker(
    authority: Authority, leaf: trustme.LeafCert, tmp_path: Path
) -> None:
    mine = authority.issue("alice")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    mine.cert_chain_pems[0].write_to_path(chain)
    mine.private_key_pem.write_to_path(key)
    locked = tmp_path / "locked.pem"
    locked.write_text(encrypted_key(mine, "key-canary"))
    store = tmp_path / "store.p12"
    store.write_bytes(key_store(mine, "store-canary"))
    forms: list[dict[str, Any]] = [
        {"ssl_certfile": authority.write(mine, "both.pem")},
        {"ssl_certfile": chain, "ssl_keyfile": key},
        {"ssl_certfile": chain, "ssl_keyfile": locked, "ssl_key_password": "key-canary"},
        {"ssl_certfile": store, "ssl_keystore_password": "store-canary"},
        {
            "ssl_keystore_certificate_chain": chain.read_text(),
            "ssl_keystore_key": locked.read_text(),
            "ssl_key_password": "key-canary",
        },
        {
            "ssl_keystore_certificate_chain": chain.read_text(),
            "ssl_keystore_key": locked.read_text,
            "ssl_key_password": lambda: "key-canary",
        },
        {
            "ssl_keystore_certificate_chain": f"Zertifikat für Älice\n{chain.read_text()}",
            "ssl_keystore_key": f"Schlüssel für Älice\n{key.read_text()}",
        },
    ]
    async with listening(authority.demanding_server(leaf)) as (_, port):
        for form in forms:
            assert await connects(port, ssl_cafile=authority.file, **form), form


async def test_the_authorities_between_are_shown_as_well(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    mine = authority.intermediate().issue_cert("alice")
    chain = authority.write(mine, "chain.pem")
    assert chain.read_text().count("BEGIN CERTIFICATE") == 2

    async with listening(authority.demanding_server(leaf)) as (_, port):
        assert await connects(port, ssl_cafile=authority.file, ssl_certfile=chain)


async def test_a_key_that_a_function_does_not_return_is_told(authority: Authority) -> None:
    mine = authority.issue("alice")

    with pytest.raises(ConfigurationError, match="ssl_key_password"):
        new_client(
            1,
            ssl_keystore_certificate_chain=mine.cert_chain_pems[0].bytes().decode(),
            ssl_keystore_key=lambda: encrypted_key(mine, "right-canary"),
            ssl_key_password=lambda: "wrong-canary",
        )


async def test_a_certificate_that_changes_on_disk_is_used_by_new_connections(
    authority: Authority, leaf: trustme.LeafCert, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path).issue("alice")
    file = authority.write(stranger, "mine.pem")
    async with listening(authority.demanding_server(leaf)) as (_, port):
        client = new_client(port, ssl_cafile=authority.file, ssl_certfile=file)
        with pytest.raises(SslAuthenticationError):
            await client.start(10)
        authority.write(authority.issue("alice-renewed"), "mine.pem")

        await client.start(10)

        await client.close()


async def test_a_file_that_is_half_written_leaves_the_certificate_as_it_was(
    authority: Authority,
    leaf: trustme.LeafCert,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = authority.write(authority.issue("alice"), "mine.pem")
    async with listening(authority.demanding_server(leaf)) as (_, port):
        client = new_client(port, ssl_cafile=authority.file, ssl_certfile=file)
        file.write_bytes(file.read_bytes()[:300])

        await client.start(10)

        await client.close()
    assert "cannot be used" in caplog.text


# -- files that cannot be used ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ssl_cafile": "missing.pem"}, "cannot read 'missing.pem': No such file"),
        ({"ssl_cafile": __file__}, "ssl_cafile cannot be used: it is neither PEM nor PKCS12"),
        ({"ssl_truststore_certificates": "nothing"}, "no certificate in PEM"),
        ({"ssl_certfile": "missing.pem"}, "cannot read 'missing.pem'"),
        ({"ssl_cipher_suites": "TLS_NO_SUCH"}, "no cipher suite that OpenSSL has"),
        (
            {"ssl_keystore_certificate_chain": "x", "ssl_keystore_key": "canary"},
            "ssl_keystore_key has no private key in PEM",
        ),
    ],
)
def test_files_and_texts_that_cannot_be_used_are_told_by_the_constructor(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        new_client(9092, **options)

    assert words in str(caught.value)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("password", [None, "wrong-canary"])
def test_a_locked_key_without_its_password_is_an_error_and_no_question(
    password: str | None, authority: Authority, tmp_path: Path
) -> None:
    mine = authority.issue("alice")
    locked = tmp_path / "locked.pem"
    locked.write_text(encrypted_key(mine, "right-canary"))
    chain = authority.write(mine, "both.pem")

    with pytest.raises(ConfigurationError) as caught:
        new_client(1, ssl_certfile=chain, ssl_keyfile=locked, ssl_key_password=password)

    assert "ssl_key_password" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_key_that_does_not_fit_is_not_shown_even_with_local_variables(
    authority: Authority, tmp_path: Path
) -> None:
    mine, other = authority.issue("alice"), authority.issue("alice")
    chain, key, both = (tmp_path / name for name in ("chain.pem", "key.pem", "both.pem"))
    mine.cert_chain_pems[0].write_to_path(chain)
    other.private_key_pem.write_to_path(key)
    both.write_text(key.read_text() + chain.read_text())
    canary = key.read_text().splitlines()[1]
    for settings in (
        TlsSettings(certificate_file=str(chain), key_file=str(key)),
        TlsSettings(certificate_file=str(both)),
        TlsSettings(certificate_file=str(key), key_file=str(chain)),
        TlsSettings(certificate_pem=chain.read_text(), key_pem=Secret(key.read_text())),
        TlsSettings(certificate_pem="x", key_pem=Secret(key.read_text())),
        TlsSettings(certificate_pem=chain.read_text(), key_pem=Secret(key.read_text() + "\u2028")),
    ):
        with pytest.raises(ConfigurationError) as caught:
            new_context(settings)
        assert canary not in shown_with_variables(caught.value)


def test_a_key_file_that_cannot_be_read_is_named(authority: Authority, tmp_path: Path) -> None:
    chain = authority.write(authority.issue("alice"), "both.pem")

    with pytest.raises(ConfigurationError, match=r"ssl_keyfile: cannot read '.*missing\.key'"):
        new_client(1, ssl_certfile=chain, ssl_keyfile=tmp_path / "missing.key")


def test_a_certificate_in_der_is_told_how_to_convert(authority: Authority, tmp_path: Path) -> None:
    file = tmp_path / "ca.der"
    file.write_bytes(ssl.PEM_cert_to_DER_cert(Path(authority.file).read_text()))

    with pytest.raises(ConfigurationError, match="openssl x509 -inform der"):
        new_client(1, ssl_cafile=file)


def failing() -> str:
    raise RuntimeError("canary")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: None, "ssl_key_password must return a str, not NoneType"),
        (failing, "ssl_key_password raised RuntimeError"),
    ],
)
def test_a_function_that_has_no_password_is_told_by_the_name_of_its_option(
    function: Any, words: str, authority: Authority, tmp_path: Path
) -> None:
    mine = authority.issue("alice")
    locked = tmp_path / "locked.pem"
    locked.write_text(encrypted_key(mine, "right-canary"))
    chain = authority.write(mine, "both.pem")

    with pytest.raises(ConfigurationError) as caught:
        new_client(1, ssl_certfile=chain, ssl_keyfile=locked, ssl_key_password=function)

    assert words in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_store_in_javas_old_format_is_told_how_to_convert(tmp_path: Path) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")

    with pytest.raises(ConfigurationError, match="keytool -importkeystore"):
        new_client(1, ssl_cafile=store)


def test_a_key_that_everybody_can_read_is_warned_about(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    file = authority.write(authority.issue("alice"), "mine.pem")
    file.chmod(0o644)

    new_client(1, ssl_certfile=file)

    assert "chmod 600" in caplog.text
