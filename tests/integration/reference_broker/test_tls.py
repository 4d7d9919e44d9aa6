"""Listeners with TLS: certificates of both sides, and all the bytes of a fetch."""

from __future__ import annotations

import asyncio
import datetime
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_cluster import DescribeClusterRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.config import InvalidConfigError, ListenerConfig
from pyk.reference_broker.security.tls import client_context
from pyk.runtime.tls import signatures
from support.broker_requests import fetch, produce
from support.certificates import LONG_AGO, TOMORROW, YESTERDAY
from support.raw_client import RawClient, batch
from support.raw_sasl import log_in_by_plain, log_in_by_scram
from support.real_time import IN_TIME


def trusting(options: dict[str, Any], folder: Path | None = None) -> ssl.SSLContext:
    """Return the context of a client; with a folder, it shows the certificate of its options."""
    context = ssl.create_default_context(cadata=options["ssl_truststore_certificates"])
    if folder is not None:
        path = folder / "client.pem"
        path.write_text(options["ssl_keystore_certificate_chain"] + options["ssl_keystore_key"])
        context.load_cert_chain(path)
    return context


async def test_a_cluster_makes_its_own_certificates() -> None:
    async with AsyncCluster(tls=True) as cluster:
        options = cluster.client_options()
        async with RawClient(cluster.bootstrap, tls=trusting(options)) as client:
            assert (await client.ask(MetadataRequest())).brokers

    assert options["security_protocol"] == "SSL"
    assert options["bootstrap_servers"] == cluster.bootstrap


async def test_connections_count_before_their_handshake() -> None:
    config = {"max.connections.per.ip": 1}
    async with AsyncCluster(tls=True, config=config) as cluster:
        trust = trusting(cluster.client_options())
        async with RawClient(cluster.bootstrap) as silent, RawClient(cluster.bootstrap) as second:
            assert await second.is_cut_off()
            silent.writer.write(b"this is no TLS at all")
            assert await silent.is_cut_off()
        (broker,) = cluster._brokers.values()
        assert broker._listener is not None
        async with asyncio.timeout(IN_TIME):
            while broker._listener._counts.total:
                await asyncio.sleep(0)
        async with RawClient(cluster.bootstrap, tls=trust) as client:
            assert (await client.ask(MetadataRequest())).brokers


async def test_users_log_in_over_tls() -> None:
    async with AsyncCluster(tls=True, sasl={"alice": "secret"}) as cluster:
        options = cluster.client_options("alice")
        async with RawClient(cluster.bootstrap, tls=trusting(options)) as client:
            response = await log_in_by_scram(client, "alice", options["sasl_plain_password"])
            assert (await client.ask(MetadataRequest())).brokers

    assert response.error_code == ErrorCode.NONE
    assert options["security_protocol"] == "SASL_SSL"


@pytest.mark.parametrize("users", [None, {"alice": "secret"}])
async def test_brokers_talk_to_each_other_over_tls(users: dict[str, str] | None) -> None:
    async with AsyncCluster(tls=True, sasl=users) as cluster:
        (broker,) = cluster._brokers.values()
        response = await value_of(broker._channels.send(0, DescribeClusterRequest()))

    assert not isinstance(response, ErrorCode)


async def test_records_in_files_arrive_whole(tmp_path: Path) -> None:
    values = [os.urandom(100_000) for _ in range(8)]
    async with AsyncCluster(tls=True, data_dir=tmp_path) as cluster:
        await cluster.create_topic("orders")
        tls = trusting(cluster.client_options())
        async with RawClient(cluster.bootstrap, tls=tls) as client:
            await client.ask(produce(batch(*values), topic="orders"), 12)
            response = await client.ask(fetch(0, topic="orders"), 12)

    records = bytes(response.responses[0].partitions[0].records)
    assert all(value in records for value in values)


async def test_a_client_that_must_have_a_certificate_is_known_by_it(tmp_path: Path) -> None:
    config = {
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/",
    }
    async with AsyncCluster(tls=True, config=config) as cluster:
        options = cluster.client_options("alice")
        async with RawClient(cluster.bootstrap, tls=trusting(options, tmp_path)) as client:
            await client.ask(MetadataRequest())
            (broker,) = cluster._brokers.values()
            assert broker._listener is not None
            names = {str(each.principal) for each in broker._listener._connections.values()}
        with pytest.raises((OSError, EOFError)):
            async with RawClient(cluster.bootstrap, tls=trusting(options)) as client:
                await client.ask(MetadataRequest())

    assert names == {"User:alice"}


async def test_a_client_whose_certificate_no_rule_fits_is_not_let_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = "RULE:^CN=(broker|bob),.*$/$1/"
    config = {"ssl.client.auth": "required", "ssl.principal.mapping.rules": rules}
    async with AsyncCluster(tls=True, config=config) as cluster:
        bob, alice = (cluster.client_options(name) for name in ("bob", "alice"))
        async with RawClient(cluster.bootstrap, tls=trusting(bob, tmp_path)) as client:
            assert (await client.ask(MetadataRequest())).brokers
        async with RawClient(cluster.bootstrap, tls=trusting(alice, tmp_path)) as client:
            assert await client.is_cut_off()

    (warning,) = [each.getMessage() for each in caplog.records if "no rule" in each.getMessage()]
    assert "ssl.principal.mapping.rules" in warning
    assert "CN=alice" in warning


@pytest.mark.parametrize(
    ("option", "has_to"),
    [("ssl.client.auth", False), ("listener.name.sasl_ssl.ssl.client.auth", True)],
)
async def test_a_client_with_a_password_shows_a_certificate_where_its_listener_says_so(
    option: str, has_to: bool
) -> None:
    config = {option: "required"}
    async with AsyncCluster(tls=True, sasl={"alice": "secret"}, config=config) as cluster:
        tls = trusting(cluster.client_options())
        try:
            async with RawClient(cluster.bootstrap, tls=tls) as client:
                await log_in_by_plain(client, "alice", "secret")
            is_refused = False
        except (OSError, EOFError):
            is_refused = True

    assert is_refused is has_to


async def test_a_client_that_does_not_speak_tls_is_closed() -> None:
    async with AsyncCluster(tls=True) as cluster, RawClient(cluster.bootstrap) as client:
        client.send(MetadataRequest())

        assert await client.is_cut_off()


@pytest.mark.parametrize("store", ["pem", "pkcs12"])
async def test_certificates_come_from_files(tmp_path: Path, store: str) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1")
    path = tmp_path / "broker"
    if store == "pem":
        leaf.private_key_and_cert_chain_pem.write_to_path(path)
    else:
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        certificate = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
        encryption = BestAvailableEncryption(b"canary")
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(None, key, certificate, None, encryption)  # type: ignore[arg-type]
        )
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    config = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.location": str(path),
        "ssl.keystore.password": "canary",
        "listener.name.ssl.ssl.truststore.location": str(tmp_path / "ca.pem"),
    }
    tls = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    async with (
        AsyncCluster(config=config) as cluster,
        RawClient(cluster.bootstrap, tls=tls) as client,
    ):
        assert (await client.ask(MetadataRequest())).brokers


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({}, "needs a certificate"),
        ({"ssl.keystore.location": "/nowhere"}, "cannot read '/nowhere': No such file"),
        (
            {"ssl.keystore.certificate.chain": "canary", "ssl.keystore.key": "canary"},
            "ssl.keystore.key has no private key in PEM",
        ),
    ],
)
async def test_what_cannot_be_a_certificate_is_explained(config: dict[str, str], text: str) -> None:
    cluster = AsyncCluster(config={"listeners": "SSL://127.0.0.1:0", **config})

    with pytest.raises(InvalidConfigError, match=text) as error:
        await cluster.open()

    assert "canary" not in repr(error.value)


@pytest.mark.parametrize(
    ("suites", "names", "version"),
    [
        (
            ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",),
            {"ECDHE-ECDSA-AES256-GCM-SHA384"},
            ssl.TLSVersion.TLSv1_2,
        ),
        (("ECDHE-RSA-AES128-GCM-SHA256",), {"ECDHE-RSA-AES128-GCM-SHA256"}, None),
        (("TLS_AES_256_GCM_SHA384",), None, ssl.TLSVersion.TLSv1_3),
    ],
)
def test_cipher_suites_go_by_the_names_of_java_and_openssl(
    suites: tuple[str, ...], names: set[str] | None, version: ssl.TLSVersion | None
) -> None:
    config = ListenerConfig(ssl_cipher_suites=suites, ssl_enabled_protocols=("TLSv1.2", "TLSv1.3"))

    context = client_context(config)

    old = {one["name"] for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"}
    assert names is None or old == names
    assert version in (None, context.minimum_version)


def test_a_cluster_without_a_listener_for_its_certificates_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="none of the listeners has TLS"):
        AsyncCluster(tls=True, config={"listeners": "PLAINTEXT://127.0.0.1:0"})


@pytest.mark.parametrize("name", ["ssl.keystore.location", "ssl.truststore.location"])
def test_files_beside_the_certificates_of_a_cluster_are_refused(name: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"{name} and tls= .* were given; use one"):
        AsyncCluster(tls=True, config={name: "/etc/broker.pem"})


class Files:
    """The key store of a broker, which changes while the broker runs."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.path = folder / "broker.pem"
        self.trust = ssl.create_default_context()
        self._authority.configure_trust(self.trust)
        self.serial = self.renew(self.path)

    def renew(self, path: Path, **dates: datetime.datetime) -> int:
        """Write a new certificate, and return its number."""
        leaf = self._authority.issue_cert("127.0.0.1", **dates)
        text = leaf.private_key_pem.bytes() + leaf.cert_chain_pems[0].bytes()
        path.with_suffix(".new").write_bytes(text)
        path.with_suffix(".new").replace(path)
        return x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()).serial_number

    async def shown_to(self, client: RawClient) -> int:
        """Return the number of the certificate that a client was shown."""
        assert (await client.ask(MetadataRequest())).brokers
        shown = client.writer.get_extra_info("ssl_object").getpeercert()
        return int(shown["serialNumber"], 16)

    @property
    def config(self) -> dict[str, str]:
        return {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": str(self.path)}


async def test_new_connections_are_shown_a_certificate_that_has_changed_on_disk(
    tmp_path: Path,
) -> None:
    files = Files(tmp_path)
    async with (
        AsyncCluster(config=files.config) as cluster,
        RawClient(cluster.bootstrap, tls=files.trust) as early,
    ):
        first = await files.shown_to(early)
        renewed = files.renew(files.path)
        async with RawClient(cluster.bootstrap, tls=files.trust) as late:
            second = await files.shown_to(late)
        still = await files.shown_to(early)

    assert (first, second, still) == (files.serial, renewed, files.serial)


async def test_files_that_cannot_be_used_leave_the_certificate_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(tmp_path)
    async with AsyncCluster(config=files.config) as cluster:
        files.path.write_text("-----BEGIN canary")
        async with RawClient(cluster.bootstrap, tls=files.trust) as client:
            shown = await files.shown_to(client)

    assert shown == files.serial
    assert "Certificates of a listener changed, and cannot be used: ssl.keystore" in caplog.text
    assert "canary" not in caplog.text


EXPIRED = {"not_before": LONG_AGO, "not_after": YESTERDAY}
NOT_YET_VALID = {"not_before": TOMORROW, "not_after": TOMORROW + datetime.timedelta(days=1)}


@pytest.mark.parametrize(
    ("dates", "problem"),
    [(EXPIRED, "certificate has expired"), (NOT_YET_VALID, "certificate is not yet valid")],
    ids=["expired", "not-yet-valid"],
)
async def test_a_certificate_that_clients_would_refuse_today_does_not_replace_another(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    dates: dict[str, datetime.datetime],
    problem: str,
) -> None:
    files = Files(tmp_path)
    async with AsyncCluster(config=files.config) as cluster:
        files.renew(files.path, **dates)
        async with RawClient(cluster.bootstrap, tls=files.trust) as client:
            shown = await files.shown_to(client)

    assert shown == files.serial
    assert f"Certificates of a listener changed, and cannot be used: {problem}" in caplog.text


async def test_a_broker_starts_with_an_expired_certificate_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(tmp_path)
    files.renew(files.path, **EXPIRED)

    async with AsyncCluster(config={**files.config, "ssl.client.auth": "required"}):
        pass

    assert caplog.messages == [
        "Clients refuse the certificate of a listener: certificate has expired"
    ]


def test_a_file_whose_rights_have_changed_is_read_again(tmp_path: Path) -> None:
    """Root may read everything, so the test looks at what the contexts look at."""
    path = tmp_path / "broker.pem"
    path.touch(mode=0o000)
    unreadable = signatures([str(path)])
    ctime = path.stat().st_ctime_ns
    while path.stat().st_ctime_ns == ctime:  # a tick of the file system's clock
        path.chmod(0o600)

    assert signatures([str(path)]) != unreadable


async def test_another_key_store_may_be_configured_while_the_broker_runs(tmp_path: Path) -> None:
    files = Files(tmp_path)
    other = tmp_path / "other.pem"
    serial = files.renew(other)
    change = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=4,
                resource_name="0",
                configs=[
                    AlterableConfig(
                        name="listener.name.ssl.ssl.keystore.location",
                        config_operation=0,
                        value=str(other),
                    )
                ],
            )
        ]
    )
    async with AsyncCluster(config=files.config) as cluster:
        async with RawClient(cluster.bootstrap, tls=files.trust) as client:
            response = await client.ask(change)
            assert response.responses[0].error_code == ErrorCode.NONE
        async with RawClient(cluster.bootstrap, tls=files.trust) as client:
            shown = await files.shown_to(client)

    assert shown == serial
