"""Find out whether a listener's certificate is valid today: OpenSSL tells only in a handshake."""

from __future__ import annotations

import contextlib
import ssl

from pyk.runtime.tls import load_trust

NOT_YET_VALID, EXPIRED = 9, 10
"""OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""


def date_problem(server: ssl.SSLContext, certificates: str) -> str | None:
    """Return why clients refuse a certificate because of its dates, None if they do not.

    ``certificates`` are those of ``server``, in PEM.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    # Only the dates matter here: the certificate itself is trusted, whoever has signed it.
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    load_trust(client, certificates)
    try:
        _show_certificate(client, server)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in (NOT_YET_VALID, EXPIRED):
            return error.verify_message
    except ssl.SSLError:
        pass  # such as a listener of old versions only
    return None


def _show_certificate(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Shake hands in memory, until the client has seen the certificate of the server."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(down, up)
    far = server.wrap_bio(up, down, server_side=True)
    for side in (near, far, near):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
