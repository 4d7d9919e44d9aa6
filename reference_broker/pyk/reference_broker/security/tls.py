"""Make the TLS contexts of a listener from its configuration: the files are read here."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyk.reference_broker.config import InvalidConfigError, ListenerConfig, Password

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def server_context(config: ListenerConfig) -> ssl.SSLContext:
    """Return the context of a listener; raise ``InvalidConfigError`` if it cannot be made."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, config)
    if not _load_identity(context, config):
        name = "ssl.keystore.location"
        text = f"{name} or ssl.keystore.certificate.chain: a listener with TLS needs a certificate"
        raise InvalidConfigError(text, name=name)
    context.verify_mode = CLIENT_AUTH[config.ssl_client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, config, ssl.Purpose.CLIENT_AUTH)
    return context


def client_context(config: ListenerConfig) -> ssl.SSLContext:
    """Return the context with which a broker connects to a listener of another one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, config)
    _load_identity(context, config)
    _load_trust(context, config, ssl.Purpose.SERVER_AUTH)
    context.check_hostname = bool(config.ssl_endpoint_identification_algorithm)
    return context


def _limit(context: ssl.SSLContext, config: ListenerConfig) -> None:
    versions = [VERSIONS[name] for name in config.ssl_enabled_protocols]
    if versions:
        context.minimum_version, context.maximum_version = min(versions), max(versions)
    ciphers = [name for name in config.ssl_cipher_suites if not name.startswith("TLS_")]
    if ciphers:
        with _explained("ssl.cipher.suites", "names no cipher suite that OpenSSL has"):
            context.set_ciphers(":".join(ciphers))


def _load_trust(context: ssl.SSLContext, config: ListenerConfig, purpose: ssl.Purpose) -> None:
    if config.ssl_truststore_certificates is not None:
        with _explained("ssl.truststore.certificates", "has no certificate in PEM"):
            context.load_verify_locations(cadata=config.ssl_truststore_certificates)
    elif config.ssl_truststore_location is not None:
        with _explained("ssl.truststore.location", "has no certificate that can be used"):
            data = Path(config.ssl_truststore_location).read_bytes()
            certificates, _ = _store(data, config.ssl_truststore_password)
            context.load_verify_locations(cadata=certificates)
    else:
        context.load_default_certs(purpose)


def _load_identity(context: ssl.SSLContext, config: ListenerConfig) -> bool:
    """Load certificate and key; return whether there are some."""
    chain, key = config.ssl_keystore_certificate_chain, config.ssl_keystore_key
    if chain is not None and key is not None:
        with _explained("ssl.keystore.certificate.chain", "does not fit ssl.keystore.key"):
            _load_text(context, f"{chain.strip()}\n{key.strip()}\n", config.ssl_key_password)
        return True
    if config.ssl_keystore_location is None:
        return False
    with _explained("ssl.keystore.location", "has no certificate with its key, or is encrypted"):
        data = Path(config.ssl_keystore_location).read_bytes()
        certificates, its_key = _store(data, config.ssl_keystore_password)
        _load_text(context, certificates + its_key, config.ssl_key_password)
    return True


def _load_text(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    """Load certificate and key: OpenSSL reads them from a file, here from one of ours alone."""
    descriptor, path = tempfile.mkstemp(prefix="pyk-")  # of mode 0600
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(pem)
        # A function: with None, OpenSSL would ask on the terminal.
        context.load_cert_chain(path, password=lambda: str(password or ""))
    finally:
        os.unlink(path)


def _store(data: bytes, password: Password | None) -> tuple[str, str]:
    """Return certificates and key of a file in PEM or PKCS12, both as PEM; the key may be empty.

    Raises ``ValueError``, and ImportError for PKCS12 without ``cryptography``.
    """
    if b"-----BEGIN" in data:
        return data.decode("ascii"), ""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    found = [each.certificate for each in (store.cert, *store.additional_certs) if each]
    certificates = "".join(each.public_bytes(Encoding.PEM).decode("ascii") for each in found)
    if store.key is None:
        return certificates, ""
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificates, key.decode("ascii")


@contextlib.contextmanager
def _explained(option: str, problem: str) -> Iterator[None]:
    """Raise errors of files and of OpenSSL as errors of a configuration."""
    try:
        yield
    except ImportError:
        text = f"{option} is PKCS12, which needs the package 'cryptography'"
        raise InvalidConfigError(text, name=option) from None
    except OSError as error:  # ssl.SSLError is one
        reason = getattr(error, "reason", None) or error.strerror or ""
        raise InvalidConfigError(f"{option} {problem} ({reason})", name=option) from None
    except ValueError:
        raise InvalidConfigError(f"{option} {problem}", name=option) from None
