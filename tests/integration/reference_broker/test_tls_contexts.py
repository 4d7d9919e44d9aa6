"""Which peers a listener and a connecting broker accept: handshakes in memory."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from pyk.reference_broker.config import ListenerConfig
from pyk.reference_broker.security.certificate_dates import date_problem
from pyk.reference_broker.security.tls import client_context, server_context
from support.certificates import Authority

WEAK = ("DEFAULT:@SECLEVEL=0",)
"""Ciphers with which OpenSSL takes versions before 1.2."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str = "localhost") -> None:
    """Let two sides shake hands; raise the error of the one that refuses the other."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(down, up, server_hostname=name),
        server.wrap_bio(up, down, server_side=True),
    ]
    while sides:
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)


def listener(authority: Authority, **config: Any) -> ssl.SSLContext:
    file = authority.write(authority.issue("localhost"), "listener.pem")
    context, _ = server_context(ListenerConfig(ssl_keystore_location=str(file), **config))
    return context


def broker(authority: Authority, **config: Any) -> ssl.SSLContext:
    """Return the context of a broker that connects to another one."""
    return client_context(ListenerConfig(ssl_truststore_location=str(authority.file), **config))


def test_a_broker_believes_another_one_by_authority_and_name(authority: Authority) -> None:
    shake_hands(broker(authority), listener(authority))


def test_files_of_a_broker_may_have_comments_in_any_language(
    authority: Authority, tmp_path: Path
) -> None:
    trust, identity = tmp_path / "trust.pem", tmp_path / "identity.pem"
    trust.write_text(f"# Ägypten\n{authority.pem}", encoding="latin-1")
    own = authority.write(authority.issue("localhost"), "listener.pem").read_text()
    identity.write_text(f"# Ägypten\n{own}", encoding="utf-8")
    config = ListenerConfig(
        ssl_keystore_location=str(identity),
        ssl_truststore_location=str(trust),
        ssl_client_auth="required",
    )
    listening, certificates = server_context(config)

    shake_hands(client_context(config), listening)
    assert date_problem(listening, certificates) is None


def test_a_broker_refuses_one_of_another_authority(authority: Authority, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()

    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        shake_hands(broker(authority), listener(Authority(folder)))


def test_a_broker_refuses_one_of_another_name(authority: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(broker(authority), listener(authority), "elsewhere")


def test_the_check_of_names_can_be_turned_off(authority: Authority) -> None:
    connecting = broker(authority, ssl_endpoint_identification_algorithm="")

    shake_hands(connecting, listener(authority), "elsewhere")


@pytest.mark.parametrize("theirs", ["TLSv1.2", "TLSv1.3"])
def test_a_listener_has_the_versions_that_are_enabled(authority: Authority, theirs: str) -> None:
    others = {"TLSv1.2": "TLSv1.3", "TLSv1.3": "TLSv1.2"}
    listening = listener(authority, ssl_enabled_protocols=(theirs,))

    shake_hands(broker(authority), listening)
    with pytest.raises(ssl.SSLError, match=r"VERSION|UNSUPPORTED_PROTOCOL"):
        shake_hands(broker(authority, ssl_enabled_protocols=(others[theirs],)), listening)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_a_listener_refuses_tls_1_1_where_openssl_would_take_it(authority: Authority) -> None:
    old = ssl.create_default_context(cafile=authority.file)
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers(*WEAK)

    with pytest.raises(ssl.SSLError, match=r"VERSION|UNSUPPORTED_PROTOCOL"):
        shake_hands(old, listener(authority, ssl_cipher_suites=WEAK))


@pytest.mark.parametrize(("client_auth", "is_refused"), [("required", True), ("requested", False)])
def test_a_listener_may_require_a_certificate(
    authority: Authority, client_auth: str, is_refused: bool
) -> None:
    listening = listener(
        authority, ssl_client_auth=client_auth, ssl_truststore_location=str(authority.file)
    )
    connecting = broker(authority, ssl_enabled_protocols=("TLSv1.2",))

    if is_refused:
        with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
            shake_hands(connecting, listening)
    else:
        shake_hands(connecting, listening)
