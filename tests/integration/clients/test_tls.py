"""TLS: which brokers a client believes, and what it says of a failure."""

from __future__ import annotations

import asyncio
import datetime
import logging
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    BootstrapError,
    SslAuthenticationError,
)
from pyk.clients.security.tls import new_context
from pyk.clients.security.tls_settings import TlsSettings
from pyk.reference_broker.config import ListenerConfig
from pyk.reference_broker.security.tls import client_context
from support.certificates import (
    LONG_AGO,
    Authority,
    listening,
)
from support.tls_clients import connects, failure


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def leaf(authority: Authority) -> trustme.LeafCert:
    return authority.issue("localhost", "127.0.0.1")


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
