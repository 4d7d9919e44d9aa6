"""Recognise what protocol a peer that is not a Kafka broker speaks, by its first bytes. Pure."""

from __future__ import annotations

from pyk.runtime.network.frame_reader import FrameSizeError

TLS_ALERT = b"\x15\x03"
TLS_HANDSHAKE = b"\x16\x03"
HTML = (b"<!doc", b"<html", b"<?xml", b"<head")

# The correlation id of the first request on a connection. Any id will do for a broker; these four
# bytes, "\r\n\r\n", end a line for every protocol that reads lines. A web server that would wait
# for the rest of its request line answers at once, and shows that it speaks another protocol.
FIRST_CORRELATION_ID = int.from_bytes(b"\r\n\r\n", "big")


def explain(error: FrameSizeError) -> str:
    """Return why a peer sends frames of a wrong size, as far as its first bytes tell."""
    recognised = recognise(error.first_bytes)
    if recognised or error.size <= error.limit:
        return recognised or str(error)
    return (
        f"its response has {error.size} bytes, but max_response_bytes is {error.limit}: if it is a "
        "Kafka broker, raise that option"
    )


def recognise(first_bytes: bytes) -> str:
    """Return in plain words what a peer seems to be, empty if nothing is recognised."""
    if first_bytes.startswith((TLS_ALERT, TLS_HANDSHAKE)):
        return (
            "it speaks TLS: this is a broker's SSL listener, or another TLS server; give "
            "security_protocol='SSL' or 'SASL_SSL'"
        )
    if first_bytes.startswith(b"HTTP/") or first_bytes[:5].lower() in HTML:
        return "it speaks HTTP: this is a web server, not a Kafka broker"
    if first_bytes.startswith(b"SSH-"):
        return "it speaks SSH: this is no Kafka broker"
    if first_bytes.startswith((b"220 ", b"220-", b"* OK", b"+OK")):
        return "it is a mail or file server, not a Kafka broker"
    if first_bytes.startswith((b"-ERR", b"-DENIED")):
        return "it is a Redis server, not a Kafka broker"
    return ""
