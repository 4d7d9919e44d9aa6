"""Make the TLS contexts of a listener from its configuration: the files are read here."""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

from pyk.reference_broker.config import InvalidConfigError, ListenerConfig
from pyk.runtime.identity_problems import IdentityOptions, identity_problem
from pyk.runtime.key_stores import StoreError, pem_of
from pyk.runtime.secret import Secret
from pyk.runtime.tls import VERSIONS, load_identity, load_trust, signatures
from pyk.runtime.tls_names import openssl_ciphers, versions_with

from .certificate_dates import date_problem

log = logging.getLogger(__name__)

CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class ServerContexts:
    """The context for new connections of a listener: made again after its files, or their names in
    the configuration, have changed.

    Raises ``InvalidConfigError`` if the first cannot be made. Later, files that cannot be used
    leave the context as it is, with a warning: they may be half written, or have expired.
    """

    def __init__(self, config: Callable[[], ListenerConfig]) -> None:
        self._config = config
        first = config()
        self._seen = first, signatures(_files(first))
        self._context, certificates = server_context(first)
        problem = date_problem(self._context, certificates)
        if problem is not None:
            log.warning("Clients refuse the certificate of a listener: %s", problem)

    def current(self) -> ssl.SSLContext:
        """Return the context for the next connection."""
        config = self._config()
        seen = config, signatures(_files(config))
        if seen != self._seen:
            self._seen = seen
            try:
                self._context = _valid_context(config)
            except InvalidConfigError as error:
                log.warning("Certificates of a listener changed, and cannot be used: %s", error)
            else:
                log.info("Certificates of a listener changed: new connections use them")
        return self._context


def _files(config: ListenerConfig) -> list[str]:
    named = (config.ssl_keystore_location, config.ssl_truststore_location)
    return [name for name in named if name is not None]


def _valid_context(config: ListenerConfig) -> ssl.SSLContext:
    """Return a context that clients accept today; raise ``InvalidConfigError``."""
    context, certificates = server_context(config)
    problem = date_problem(context, certificates)
    if problem is not None:
        raise InvalidConfigError(problem, name="ssl.keystore.location")
    return context


def server_context(config: ListenerConfig) -> tuple[ssl.SSLContext, str]:
    """Return the context of a listener, and its certificates in PEM.

    Raises ``InvalidConfigError`` if it cannot be made.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, config)
    certificates = _load_identity(context, config)
    if certificates is None:
        name = "ssl.keystore.location"
        text = f"{name} or ssl.keystore.certificate.chain: a listener with TLS needs a certificate"
        raise InvalidConfigError(text, name=name)
    context.verify_mode = CLIENT_AUTH[config.ssl_client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, config, ssl.Purpose.CLIENT_AUTH)
    return context, certificates


def client_context(config: ListenerConfig) -> ssl.SSLContext:
    """Return the context with which a broker connects to a listener of another one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, config)
    _load_identity(context, config)
    _load_trust(context, config, ssl.Purpose.SERVER_AUTH)
    context.check_hostname = bool(config.ssl_endpoint_identification_algorithm)
    return context


def _limit(context: ssl.SSLContext, config: ListenerConfig) -> None:
    context.options |= ssl.OP_NO_RENEGOTIATION
    suites = config.ssl_cipher_suites
    versions = [VERSIONS[name] for name in versions_with(suites, config.ssl_enabled_protocols)]
    if versions:
        context.minimum_version, context.maximum_version = min(versions), max(versions)
    ciphers = openssl_ciphers(suites)
    if ciphers is not None:
        with _explained("ssl.cipher.suites", "names no cipher suite that OpenSSL has"):
            context.set_ciphers(ciphers)


def _load_trust(context: ssl.SSLContext, config: ListenerConfig, purpose: ssl.Purpose) -> None:
    if config.ssl_truststore_certificates is not None:
        with _explained("ssl.truststore.certificates", "has no certificate in PEM"):
            load_trust(context, config.ssl_truststore_certificates)
    elif config.ssl_truststore_location is not None:
        with _explained("ssl.truststore.location", "has no certificate that can be used"):
            data = Path(config.ssl_truststore_location).read_bytes()
            store = pem_of(data, _secret(config.ssl_truststore_password))
            load_trust(context, store.certificates)
    else:
        context.load_default_certs(purpose)


def _load_identity(context: ssl.SSLContext, config: ListenerConfig) -> str | None:
    """Load certificate and key; return the certificates in PEM, None if there are none."""
    chain, key = config.ssl_keystore_certificate_chain, config.ssl_keystore_key
    password = _secret(config.ssl_key_password)
    if chain is not None and key is not None:
        with (
            _explained("ssl.keystore.certificate.chain", "does not fit ssl.keystore.key"),
            _diagnosed(TEXTS, password, chain, Secret(key)),
        ):
            load_identity(context, chain, Secret(key), password)
        return chain
    if config.ssl_keystore_location is None:
        return None
    with _explained("ssl.keystore.location", "has no certificate with its key, or is encrypted"):
        password_of_store = _secret(config.ssl_keystore_password)
        store = pem_of(Path(config.ssl_keystore_location).read_bytes(), password_of_store)
        with _diagnosed(STORE, password, store.certificates, store.key):
            load_identity(context, store.certificates, store.key or Secret(""), password)
    return store.certificates


def _secret(password: str | None) -> Secret | None:
    return Secret(password) if password else None


STORE = IdentityOptions("ssl.keystore.location", "a file with both", "ssl.key.password")
TEXTS = IdentityOptions("ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.key.password")


@contextlib.contextmanager
def _diagnosed(
    options: IdentityOptions, password: Secret | None, certificates: str, key: Secret | None
) -> Iterator[None]:
    """Raise what is wrong with a certificate or its key, where that can be found out."""
    try:
        yield
    except ssl.SSLError as error:
        problem = identity_problem(
            certificates,
            None if key is None else key.reveal(),
            has_password=password is not None,
            reason=error.reason,
            options=options,
        )
        if problem is None:
            raise
        raise InvalidConfigError(problem, name=options.certificates) from None


@contextlib.contextmanager
def _explained(option: str, problem: str) -> Iterator[None]:
    """Raise errors of files and of OpenSSL as errors of a configuration."""
    try:
        yield
    except InvalidConfigError:
        raise
    except StoreError as error:
        raise InvalidConfigError(f"{option} cannot be used: {error}", name=option) from None
    except ssl.SSLError as error:
        reason = error.reason or error.strerror or ""
        raise InvalidConfigError(f"{option} {problem} ({reason})", name=option) from None
    except OSError as error:
        text = f"{option}: cannot read {error.filename!r}: {error.strerror}"
        raise InvalidConfigError(text, name=option) from None
    except ValueError:
        raise InvalidConfigError(f"{option} {problem}", name=option) from None
