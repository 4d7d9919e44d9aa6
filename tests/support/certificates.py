"""Certificates for tests of TLS, and a broker behind TLS on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from pyk.runtime.network import MemoryNetwork
from support.scripted_broker import ScriptedCluster, ServedConnection

LONG_AGO = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
YESTERDAY = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
TOMORROW = YESTERDAY + datetime.timedelta(days=2)


class Authority:
    """A certificate authority, and the files that it writes into ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ca = trustme.CA()
        self.file = folder / f"ca-{id(self):x}.pem"
        self._ca.cert_pem.write_to_path(self.file)
        self._key = load_pem_private_key(self._ca.private_key_pem.bytes(), None)
        self._certificate = x509.load_pem_x509_certificate(self._ca.cert_pem.bytes())

    @property
    def pem(self) -> str:
        return self.file.read_text()

    def issue(self, *names: str, expires: datetime.datetime = TOMORROW) -> trustme.LeafCert:
        """Return a certificate of these names or addresses."""
        return self._ca.issue_cert(*names, not_before=LONG_AGO, not_after=expires)

    def intermediate(self) -> trustme.CA:
        """Return an authority that this one has signed."""
        return self._ca.create_child_ca()

    def write(self, leaf: trustme.LeafCert, name: str) -> Path:
        """Write key and chain into one file."""
        path = self.folder / name
        leaf.private_key_and_cert_chain_pem.write_to_path(path)
        path.chmod(0o600)
        return path

    def write_for_java(self, leaf: trustme.LeafCert, name: str) -> Path:
        """Write key and chain into one file, the key in the only form that Java reads."""
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        path = self.folder / name
        path.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + b"".join(pem.bytes() for pem in leaf.cert_chain_pems)
        )
        path.chmod(0o600)
        return path

    def for_clients_only(self) -> ssl.SSLContext:
        """Return the context of a server whose certificate is not for servers."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(YESTERDAY)
            .not_valid_after(TOMORROW)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), True)
            .sign(self._key, hashes.SHA256())  # type: ignore[arg-type]
        )
        path = self.folder / "clients-only.pem"
        path.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + certificate.public_bytes(Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def server(self, leaf: trustme.LeafCert) -> ssl.SSLContext:
        """Return the context of a server with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.configure_cert(context)
        return context

    def demanding_server(self, leaf: trustme.LeafCert) -> ssl.SSLContext:
        """Return the context of a server that demands certificates of this authority."""
        context = self.server(leaf)
        context.load_verify_locations(self.file)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def revoked(self, *leaves: trustme.LeafCert) -> Path:
        """Write the list of these certificates, which are revoked."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._certificate.subject)
            .last_update(YESTERDAY)
            .next_update(TOMORROW)
        )
        for leaf in leaves:
            certificate = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(certificate.serial_number)
                .revocation_date(YESTERDAY)
                .build()
            )
        path = self.folder / "revoked.pem"
        revoked = builder.sign(self._key, hashes.SHA256())  # type: ignore[arg-type]
        path.write_bytes(revoked.public_bytes(Encoding.PEM))
        return path


def encrypted_key(leaf: trustme.LeafCert, password: str) -> str:
    """Return the key of a certificate in PEM, encrypted."""
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    encryption = BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def key_store(leaf: trustme.LeafCert, password: str) -> bytes:
    """Return certificate and key as PKCS12."""
    return pkcs12.serialize_key_and_certificates(
        b"client",
        load_pem_private_key(leaf.private_key_pem.bytes(), None),  # type: ignore[arg-type]
        x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()),
        None,
        BestAvailableEncryption(password.encode()),
    )


class TlsFront:
    """A TLS listener in front of a plain one: as other servers do, it says why it refuses.

    asyncio's own closes the connection without an alert.
    """

    def __init__(self, context: ssl.SSLContext, port: int) -> None:
        self._context, self._target = context, port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listening]
        self.port: int = self._listening.getsockname()[1]
        self._run(self._accept)

    def close(self) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _run(self, function: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                self._open.append(accepted)
                self._run(self._serve, accepted)

    def _serve(self, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError):
            near = self._context.wrap_socket(
                accepted, server_side=True, do_handshake_on_connect=False
            )
            self._open.append(near)
            try:
                near.do_handshake()
            except ssl.SSLError:
                # Not before the client has read the alert: unread data would reset the connection.
                socket.socket.shutdown(near, socket.SHUT_WR)
                while socket.socket.recv(near, 65536):
                    pass
                raise
            far = socket.create_connection(("127.0.0.1", self._target))
            self._open.append(far)
            self._run(_pump, far, near)
            _pump(near, far)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@asynccontextmanager
async def listening(context: ssl.SSLContext) -> AsyncIterator[tuple[ScriptedCluster, int]]:
    """Run a scripted broker behind TLS; yield it with its port."""
    cluster = ScriptedCluster(MemoryNetwork())
    server = await asyncio.get_running_loop().create_server(
        lambda: ServedConnection(cluster, 1).transport, "127.0.0.1", 0
    )
    front = TlsFront(context, server.sockets[0].getsockname()[1])
    try:
        yield cluster, front.port
    finally:
        front.close()
        server.close()
        for connection in list(cluster.open_connections):
            connection.transport.abort()
        await server.wait_closed()
