"""Make TLS contexts of the files and texts that a client was given, and again when files change."""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.application_functions import without_secrets
from pyk.clients.security.tls_settings import TlsSettings
from pyk.runtime.identity_problems import IdentityOptions, identity_problem
from pyk.runtime.key_stores import StoreError, StoreLockedError, pem_of
from pyk.runtime.secret import Secret, SecretFunction
from pyk.runtime.tls import VERSIONS, asked_for, load_identity, load_trust, signatures

log = logging.getLogger(__name__)


class TlsContexts:
    """The context for new connections: made once, and again after a file has changed.

    Raises :class:`ConfigurationError` if the first cannot be made. Later, files that cannot be used
    leave the context as it is, with a warning: they may be half written.
    """

    def __init__(self, settings: TlsSettings) -> None:
        self.settings = settings
        self._signature = signatures(settings.files)
        self._context = new_context(settings)
        _warn_of_readable_keys(settings)

    def current(self) -> ssl.SSLContext:
        """Return the context for the next connection."""
        signature = signatures(self.settings.files)
        if signature != self._signature:
            self._signature = signature
            try:
                self._context = new_context(self.settings)
            except ConfigurationError as error:
                log.warning("Files of certificates changed, and cannot be used: %s", error)
            else:
                log.info("Files of certificates changed: new connections use them")
        return self._context


def new_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context of the files as they are now; raise :class:`ConfigurationError`."""
    if settings.context is not None:
        context: ssl.SSLContext = settings.context
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Client certificates, too, must not be sent by what is older.
    context.minimum_version = VERSIONS[settings.versions[0]]
    context.maximum_version = VERSIONS[settings.versions[-1]]
    context.check_hostname = settings.checks_host_name
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_RENEGOTIATION
    if settings.ciphers is not None:
        with _explained("ssl_cipher_suites", "names no cipher suite that OpenSSL has"):
            context.set_ciphers(settings.ciphers)
    _load_trust(context, settings)
    _load_identity(context, settings)
    if settings.crl_file is not None:
        with _explained("ssl_crlfile", "is not a list of revoked certificates in PEM"):
            context.load_verify_locations(cafile=settings.crl_file)
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    return context


def _load_trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.trust_pem is not None:
        with _explained("ssl_truststore_certificates", "has no certificate in PEM"):
            load_trust(context, settings.trust_pem)
    elif settings.trust_file is not None:
        with _explained("ssl_cafile", NO_TRUST, "ssl_truststore_password"):
            store = pem_of(Path(settings.trust_file).read_bytes(), settings.trust_password)
            load_trust(context, store.certificates)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)


def _load_identity(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the client's certificate and key, if it has one."""
    password = _asking(settings.key_password, "ssl_key_password")
    if settings.certificate_pem is not None and settings.key_pem is not None:
        chain, key = settings.certificate_pem, _asking(settings.key_pem, TEXTS.key)
        with (
            _explained(TEXTS.certificates, KEY_ADVICE),
            _diagnosed(TEXTS, password, lambda: (chain, key.reveal())),
        ):
            load_identity(context, chain, key, password)
    elif settings.certificate_file is not None:
        file = Path(settings.certificate_file)
        with _explained(FILES.certificates, KEY_ADVICE, "ssl_keystore_password"):
            if b"-----BEGIN" in file.read_bytes():
                with _diagnosed(FILES, password, lambda: _texts(file, settings.key_file)):
                    context.load_cert_chain(file, settings.key_file, asked_for(password))
                return
            store = pem_of(file.read_bytes(), settings.store_password)
            if store.key is None:
                raise StoreError("the key store has no key")
            load_identity(context, store.certificates, store.key, None)


FILES = IdentityOptions("ssl_certfile", "ssl_keyfile", "ssl_key_password")
TEXTS = IdentityOptions("ssl_keystore_certificate_chain", "ssl_keystore_key", "ssl_key_password")
KEY_ADVICE = (
    "is not a certificate chain in PEM with its key, or the key does not belong to it, or its "
    "password (ssl_key_password) is missing or wrong"
)
NO_TRUST = "has no certificate that can be used"

_S = TypeVar("_S", Secret, Secret | None)


def _asking(secret: _S, option: str) -> _S:
    """Return the same secret; if a function returns it, errors of that name the option."""
    if not isinstance(secret, SecretFunction):
        return secret
    function: Callable[[], object] = secret.reveal

    def ask() -> str:
        with without_secrets(f"the function given as {option}", ConfigurationError):
            value = function()
        if not isinstance(value, str):
            returned = type(value).__name__
            raise ConfigurationError(
                f"the function given as {option} must return a str, not {returned}"
            )
        return value

    return SecretFunction(ask)


def _texts(file: Path, key_file: str | None) -> tuple[str, str | None]:
    """Return what the two files hold; None if there is no second one."""
    with _explained(FILES.key if key_file else FILES.certificates, "cannot be used"):
        key = None if key_file is None else Path(key_file).read_text("ascii", "replace")
        return file.read_text("ascii", "replace"), key


@contextlib.contextmanager
def _diagnosed(
    options: IdentityOptions, password: Secret | None, texts: Callable[[], tuple[str, str | None]]
) -> Iterator[None]:
    """Raise what is wrong with a certificate or its key, where that can be found out."""
    try:
        yield
    except ConfigurationError:
        raise
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        # No local variable holds the texts: tools that report errors would print the key.
        problem = identity_problem(
            *texts(),
            has_password=bool(password),
            reason=getattr(error, "reason", None),
            options=options,
        )
        if problem is None:
            raise
        raise ConfigurationError(problem) from None


@contextlib.contextmanager
def _explained(option: str, problem: str, unlocked_by: str = "") -> Iterator[None]:
    """Raise errors of files and of OpenSSL as errors of an option.

    ``unlocked_by`` is the option with the password of a key store.
    """
    try:
        yield
    except ConfigurationError:
        raise
    except StoreLockedError as error:
        raise ConfigurationError(f"{option} cannot be used: {error} ({unlocked_by})") from None
    except StoreError as error:
        raise ConfigurationError(f"{option} cannot be used: {error}") from None
    except ssl.SSLError as error:
        named = getattr(error, "reason", None)  # not all of them have it
        reason = f" (OpenSSL: {named})" if named else ""
        raise ConfigurationError(f"{option} {problem}{reason}") from None
    except OSError as error:
        raise ConfigurationError(
            f"{option}: cannot read {error.filename!r}: {error.strerror}"
        ) from None
    except ValueError:
        raise ConfigurationError(f"{option} {problem}") from None


def _warn_of_readable_keys(settings: TlsSettings) -> None:
    name = settings.key_file or settings.certificate_file
    if name is None or os.name != "posix":
        return
    if os.stat(name).st_mode & (stat.S_IROTH | stat.S_IWOTH):
        log.warning("The file of a private key can be read by everybody: chmod 600 %s", name)
