"""Explain why TLS failed: what is wrong with the peer, and what to do. Pure.

What :mod:`ssl` raises is described by its attributes: ``reason`` is OpenSSL's word for it, and
``verify_code``, ``verify_message`` tell of a certificate that is not believed.
"""

from __future__ import annotations

from pyk.runtime import slotted

NOT_TLS = "it does not speak TLS: this is a PLAINTEXT or SASL_PLAINTEXT listener, or no broker"
GIVE_PLAINTEXT = "give the port of a TLS listener, or another security_protocol"
CLOSED_HINT = (
    "a listener without TLS closes connections like this: give the port of a TLS listener, or "
    "another security_protocol"
)

CERTIFICATE_HINT = (
    "a broker that requires a certificate of the client may close connections like this "
    "(ssl_certfile), and so does an overloaded broker"
)

# Codes of OpenSSL's X509_V_ERR_….
_UNTRUSTED = (
    "the file of ssl_cafile= must have the certificate of the authority that signed the broker's"
)
_CHECK_NAME = (
    "connect by a name that the certificate has (also advertised.listeners), or correct the "
    "certificate's subject alternative names"
)
_CERTIFICATE_HINTS = {
    3: "ssl_crlfile has no list of this authority",
    9: "is the clock of this machine right?",
    10: "renew the broker's certificate; or is the clock of this machine wrong?",
    12: "renew ssl_crlfile",
    18: _UNTRUSTED,
    19: _UNTRUSTED,
    20: _UNTRUSTED,
    21: _UNTRUSTED,
    23: "the broker needs another certificate",
    26: "the broker's certificate is not for servers: its extended key usage lacks serverAuth",
    62: _CHECK_NAME,
    64: _CHECK_NAME,
}

_OUR_CERTIFICATE = "give ssl_certfile= and ssl_keyfile=, from an authority that the broker trusts"
# Parts of OpenSSL's reasons, in the order in which they are looked for.
_ALERTS = {
    "CERTIFICATE_REQUIRED": ("it requires a certificate of the client", _OUR_CERTIFICATE),
    "CERTIFICATE_EXPIRED": ("the client's certificate has expired", _OUR_CERTIFICATE),
    "CERTIFICATE_REVOKED": ("the client's certificate was revoked", _OUR_CERTIFICATE),
    "UNKNOWN_CA": ("it does not know the authority of the client's certificate", _OUR_CERTIFICATE),
    "BAD_CERTIFICATE": (
        "it requires a certificate of the client, or refuses the one it got",
        _OUR_CERTIFICATE,
    ),
    "CERTIFICATE_UNKNOWN": ("it refuses the certificate of the client", _OUR_CERTIFICATE),
    "ACCESS_DENIED": ("it denies access to the client's certificate", _OUR_CERTIFICATE),
    "PROTOCOL_VERSION": ("no common version of TLS", "see ssl_enabled_protocols"),
    "UNSUPPORTED_PROTOCOL": ("no common version of TLS", "see ssl_enabled_protocols"),
    "HANDSHAKE_FAILURE": (
        "it accepts neither cipher suites nor certificate of the client",
        "see ssl_cipher_suites, and whether the broker requires a certificate (ssl_certfile)",
    ),
}
_NOT_TLS_REASONS = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
)


@slotted.frozen
class TlsFailure:
    """Why there is no connection under TLS."""

    cause: str
    hint: str
    is_refusal: bool
    """Whether one side does not accept the other, which a retry will not change."""


def explain_tls(reason: str | None, verify_code: int | None, verify_message: str) -> TlsFailure:
    """Return an error of OpenSSL in words."""
    if verify_code is not None:
        hint = _CERTIFICATE_HINTS.get(verify_code, "see the broker's certificate")
        shown = verify_message.strip().rstrip(".")
        return TlsFailure(f"its certificate is refused: {shown}", hint, is_refusal=True)
    reason = reason or ""
    if any(word in reason for word in _NOT_TLS_REASONS):
        return TlsFailure(NOT_TLS, GIVE_PLAINTEXT, is_refusal=False)
    for word, (cause, hint) in _ALERTS.items():
        if word in reason:
            return TlsFailure(cause, hint, is_refusal=True)
    return TlsFailure(f"TLS failed (OpenSSL: {reason or 'no reason'})", "", is_refusal=False)
