"""Name the mistake of a client that talks to the wrong kind of listener. Pure."""

from __future__ import annotations

from pyk.protocol.api_keys import ApiKey
from pyk.runtime.network.frame_reader import FrameSizeError

TLS_HANDSHAKE = b"\x16\x03"
LOGIN_APIS = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


def explain_frame(error: FrameSizeError, listener: str, protocol: str) -> str:
    """Return why a frame of a wrong size was sent, as far as its first bytes tell.

    ``protocol`` is the security protocol of the listener.
    """
    if not error.first_bytes.startswith(TLS_HANDSHAKE):
        return str(error)
    return (
        f"it begins a TLS handshake, but listener {listener} has no TLS: its security_protocol "
        f"must be {protocol} here"
    )


def explain_request(api_key: int, listener: str, protocol: str, *, has_logged_in: bool) -> str:
    """Return why a request cannot be handled, because a login belongs in front of it."""
    if has_logged_in:
        return f"it sent {_name(api_key)} after the end of its session, without a login (KIP-368)"
    if api_key in LOGIN_APIS:
        return f"it sent {_name(api_key)} out of the order of a login"
    return (
        f"it sent {_name(api_key)} without a login, but listener {listener} requires one: its "
        f"security_protocol must be {protocol} here"
    )


def _name(api_key: int) -> str:
    return ApiKey(api_key).api_name if api_key in set(ApiKey) else f"API key {api_key}"
