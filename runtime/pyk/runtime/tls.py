"""Give TLS contexts what OpenSSL reads from files only, and notice when files change."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterable
from typing import TypeAlias

from pyk.runtime.secret import Secret

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}

FileSignature: TypeAlias = tuple[int, int, int, int] | None


def load_trust(context: ssl.SSLContext, certificates: str) -> None:
    """Trust the authorities in a text in PEM, whatever the characters of its comments.

    The bundles of operating systems name authorities in many languages. Raises ``ssl.SSLError`` or
    ``ValueError`` if there is no certificate.
    """
    context.load_verify_locations(cadata=certificates.encode("ascii", "replace").decode("ascii"))


def load_identity(
    context: ssl.SSLContext, certificates: str, key: Secret, password: Secret | None
) -> None:
    """Load a certificate chain and its key from texts in PEM.

    OpenSSL reads them from a file: one that only this user can read, and that is then removed.
    Raises ``ssl.SSLError`` if they do not belong together or the password is wrong.
    """
    descriptor, path = tempfile.mkstemp(prefix="pyk-")  # of mode 0600
    try:
        # Not strictly: comments may be in any language, and the error would hold the key.
        with open(descriptor, "w", encoding="ascii", errors="replace") as file:
            file.write(f"{certificates.strip()}\n{key.reveal().strip()}\n")
        context.load_cert_chain(path, password=asked_for(password))
    finally:
        os.unlink(path)


def asked_for(password: Secret | None) -> Callable[[], str]:
    """Return the function that OpenSSL asks: with None it would ask on the terminal."""
    return lambda: "" if password is None else password.reveal()


def signatures(names: Iterable[str]) -> tuple[FileSignature, ...]:
    """Return what is another value once one of these files has changed."""
    return tuple(_signature(name) for name in names)


def _signature(name: str) -> FileSignature:
    try:
        found = os.stat(name)
    except OSError:
        return None
    # The time of a change of rights, too: a file that could not be read may be readable now.
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
