"""What a client needs, in the words of other clients, with certificates and keys in files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from pyk.runtime import slotted

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@slotted.frozen
class ClientFiles:
    """Paths of files in PEM; None for what a client does not need."""

    trust: str | None = None
    identity: str | None = None
    """A certificate chain and its key."""


class ClientFolder:
    """A temporary folder that only this user can read."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._count = 0

    def write(self, options: Mapping[str, Any]) -> ClientFiles:
        """Write the certificates and keys among the keyword arguments of a client."""
        trust = options.get("ssl_truststore_certificates")
        chain = options.get("ssl_keystore_certificate_chain")
        key = options.get("ssl_keystore_key")
        return ClientFiles(
            None if trust is None else self._write("ca", trust),
            None if chain is None else self._write("client", f"{key}{chain}"),
        )

    def remove(self) -> None:
        """Remove the folder."""
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, name: str, text: str) -> str:
        if self._folder is None:
            # Of mode 0700. TemporaryDirectory would remove it at the end of a forked child, too.
            self._folder = tempfile.mkdtemp(prefix="pyk-clients-")
        self._count += 1
        path = os.path.join(self._folder, f"{name}-{self._count}.pem")
        with open(path, "x", encoding="ascii", opener=_only_for_this_user) as file:
            file.write(text)
        return path


def java_properties(options: Mapping[str, Any], files: ClientFiles) -> dict[str, str]:
    """Return the keyword arguments of a client under the names of Java's clients."""
    from pyk.protocol.sasl.jaas import jaas_entry

    found = _common(options)
    if "sasl_mechanism" in options:
        login = {
            "username": options["sasl_plain_username"],
            "password": options["sasl_plain_password"],
        }
        found["sasl.jaas.config"] = jaas_entry(_SCRAM, login)
    for store, path in (("truststore", files.trust), ("keystore", files.identity)):
        if path is not None:
            found[f"ssl.{store}.type"] = "PEM"
            found[f"ssl.{store}.location"] = path
    return found


def librdkafka_properties(options: Mapping[str, Any], files: ClientFiles) -> dict[str, str]:
    """Return the keyword arguments of a client under the names of librdkafka."""
    found = _common(options)
    if "sasl_mechanism" in options:
        found["sasl.username"] = options["sasl_plain_username"]
        found["sasl.password"] = options["sasl_plain_password"]
    if files.trust is not None:
        found["ssl.ca.location"] = files.trust
    if files.identity is not None:
        found["ssl.certificate.location"] = found["ssl.key.location"] = files.identity
    return found


def _common(options: Mapping[str, Any]) -> dict[str, str]:
    names = ("bootstrap_servers", "security_protocol", "sasl_mechanism")
    return {name.replace("_", "."): options[name] for name in names if name in options}


def _only_for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
