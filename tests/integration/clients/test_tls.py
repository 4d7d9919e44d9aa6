"""TLS: which brokers a client believes, how it shows who it is, and what it says of a failure."""

from __future__ import annotations

import asyncio
import datetime
import logging
import ssl
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    AuthenticationError,
    BootstrapError,
    ConfigurationError,
    KafkaError,
    SslAuthenticationError,
)
from pyk.clients.security.tls import new_context
from pyk.clients.security.tls_settings import TlsSettings
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.reference_broker.config import ListenerConfig
from pyk.reference_broker.security.tls import client_context
from pyk.runtime.network import Address, SystemNetwork
from pyk.runtime.secret import Secret
from support.canaries import shown_with_variables
from support.certificates import (
    LONG_AGO,
    Authority,
    encrypted_key,
    key_store,
    listening,
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def leaf(authority: Authority) -> trustme.LeafCert:
    return authority.issue("localhost", "127.0.0.1")


class Loopback(SystemNetwork):
    """The network of a machine on which all names are its own."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        return [Address("127.0.0.1", port)]

    async def canonical_name(self, address: Address) -> str:
        return "broker1.example"


def new_client(port: int, host: str = "localhost", **options: Any) -> Client:
    options.setdefault("security_protocol", "SSL")
    config = ClientConfig.from_kwargs(f"{host}:{port}", **options)
    return Client(config, network=Loopback())


async def connects(port: int, host: str = "localhost", **options: Any) -> bool:
    client = new_client(port, host, **options)
    try:
        await client.start(10)
        return True
    finally:
        await client.close()


async def failure(context: ssl.SSLContext, host: str = "localhost", **options: Any) -> Any:
    """Return the error of connecting to a listener; none may take long or reach the broker."""
    async with listening(context) as (cluster, port):
        began_at = time.monotonic()
        with pytest.raises(KafkaError) as caught:
            await connects(port, host, **options)

        assert time.monotonic() - began_at < 5
        assert not cluster.requests(MetadataRequest)
    return caught.value


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "localhost."])
async def test_names_and_addresses_of_the_certificate_are_believed(
    host: str, authority: Authority, leaf: trustme.LeafCert
) -> None:
    async with listening(authority.server(leaf)) as (_, port):
        assert await connects(port, host, ssl_cafile=authority.file)


async def test_authorities_may_be_given_as_text(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    async with listening(authority.server(leaf)) as (_, port):
        assert await connects(port, ssl_truststore_certificates=authority.pem)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
async def test_authorities_may_be_named_in_any_language(
    encoding: str, authority: Authority, leaf: trustme.LeafCert, tmp_path: Path
) -> None:
    """As in the bundles of Linux distributions, which have a line above each certificate."""
    bundle = tmp_path / "bundle.crt"
    bundle.write_text(f"# Zertifizierungsstelle für Ägypten\n{authority.pem}", encoding=encoding)
    async with listening(authority.server(leaf)) as (_, port):
        assert await connects(port, ssl_cafile=bundle)
        text = bundle.read_text(encoding=encoding)
        assert await connects(port, ssl_truststore_certificates=text)


async def test_a_context_of_the_application_is_used_as_it_is(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    context = ssl.create_default_context(cafile=str(authority.file))
    async with listening(authority.server(leaf)) as (_, port):
        client = Client(ClientConfig.from_kwargs(f"localhost:{port}", ssl_context=context))
        await client.start(10)
        await client.close()


async def test_another_name_is_refused(authority: Authority) -> None:
    error = await failure(authority.server(authority.issue("other")), ssl_cafile=authority.file)

    assert isinstance(error, SslAuthenticationError)
    assert "not valid for 'localhost'" in str(error)
    assert "subject alternative names" in str(error)
    assert error.fatal
    assert not error.retriable


async def test_the_certificate_has_the_canonical_name_if_that_is_asked_for(
    authority: Authority,
) -> None:
    context = authority.server(authority.issue("broker1.example"))
    lookup = "resolve_canonical_bootstrap_servers_only"

    async with listening(context) as (cluster, port):
        cluster.nodes[1] = "broker1.example"
        given = {"ssl_cafile": authority.file, "client_dns_lookup": lookup}
        assert await connects(port, "kafka", **given)

    error = await failure(context, "kafka", ssl_cafile=authority.file)
    assert "not valid for 'kafka'" in str(error)


async def test_another_address_is_refused(authority: Authority) -> None:
    context = authority.server(authority.issue("localhost"))

    error = await failure(context, "127.0.0.1", ssl_cafile=authority.file)

    assert "127.0.0.1" in str(error)
    assert isinstance(error, SslAuthenticationError)


async def test_names_are_not_checked_if_that_is_asked_for_with_a_warning(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"ssl_cafile": authority.file, "ssl_endpoint_identification_algorithm": ""}
    async with listening(authority.server(authority.issue("other"))) as (_, port):
        assert await connects(port, **options)

    (warning,) = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert "HOST NAMES OF BROKERS ARE NOT CHECKED" in warning.getMessage()


async def test_an_expired_certificate_is_refused(authority: Authority) -> None:
    leaf = authority.issue("localhost", expires=LONG_AGO + datetime.timedelta(days=1))

    error = await failure(authority.server(leaf), ssl_cafile=authority.file)

    assert isinstance(error, SslAuthenticationError)
    assert "certificate has expired" in str(error)
    assert "renew" in str(error)


async def test_an_unknown_authority_is_refused(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path)

    error = await failure(authority.server(authority.issue("localhost")), ssl_cafile=other.file)

    assert isinstance(error, SslAuthenticationError)
    assert "ssl_cafile" in str(error)


async def test_the_authorities_of_the_system_are_the_default(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    assert isinstance(await failure(authority.server(leaf)), SslAuthenticationError)


async def test_a_certificate_that_is_not_for_servers_is_refused(authority: Authority) -> None:
    error = await failure(authority.for_clients_only(), ssl_cafile=authority.file)

    assert isinstance(error, SslAuthenticationError)
    assert "serverAuth" in str(error)


async def test_a_revoked_certificate_is_refused(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    options = {"ssl_cafile": authority.file, "ssl_crlfile": authority.revoked(leaf)}

    error = await failure(authority.server(leaf), **options)

    assert isinstance(error, SslAuthenticationError)
    assert "revoked" in str(error)


async def test_a_certificate_that_is_not_on_the_list_is_believed(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    revoked = authority.revoked(authority.issue("localhost"))
    async with listening(authority.server(leaf)) as (_, port):
        assert await connects(port, ssl_cafile=authority.file, ssl_crlfile=revoked)


async def test_old_versions_of_tls_are_refused(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    context = authority.server(leaf)
    context.minimum_version = ssl.TLSVersion.TLSv1_3

    error = await failure(context, ssl_cafile=authority.file, ssl_enabled_protocols="TLSv1.2")

    assert "no common version of TLS" in str(error)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
async def test_versions_before_1_2_are_refused_where_openssl_would_take_them(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    weak = "DEFAULT:@SECLEVEL=0"
    context = authority.server(leaf)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers(weak)

    error = await failure(context, ssl_cafile=authority.file, ssl_cipher_suites=weak)

    assert "no common version of TLS" in str(error)


async def test_a_listener_without_tls_is_named(authority: Authority) -> None:
    class Closing(asyncio.Protocol):
        """What Kafka does with a hello of TLS, which it takes for a frame of 369 MB."""

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.close()

    server = await asyncio.get_running_loop().create_server(Closing, "127.0.0.1", 0)
    with pytest.raises(BootstrapError, match="a listener without TLS closes") as caught:
        await connects(server.sockets[0].getsockname()[1], ssl_cafile=authority.file)
    server.close()
    await server.wait_closed()

    assert "TLS" in str(caught.value.attempts[0])


async def test_a_peer_that_answers_something_else_is_named(authority: Authority) -> None:
    class Http(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    server = await asyncio.get_running_loop().create_server(Http, "127.0.0.1", 0)
    with pytest.raises(BootstrapError, match="it does not speak TLS"):
        await connects(server.sockets[0].getsockname()[1], ssl_cafile=authority.file)
    server.close()
    await server.wait_closed()


async def test_a_tls_listener_is_named_by_a_client_without_tls(
    authority: Authority, leaf: trustme.LeafCert
) -> None:
    # OpenSSL closes the connection; Java's brokers send an alert, which is recognised.
    error = await failure(authority.server(leaf), security_protocol="PLAINTEXT")

    assert isinstance(error, BootstrapError)
    assert "a TLS listener closes connections like this" in str(error)


def test_no_side_begins_a_new_handshake_on_a_connection_in_use() -> None:
    context = new_context(TlsSettings())
    broker = client_context(ListenerConfig())

    assert context.options & broker.options & ssl.OP_NO_RENEGOTIATION


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
