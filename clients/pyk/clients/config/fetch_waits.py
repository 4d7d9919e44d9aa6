"""How long a fetch may wait at a broker, and so how long it may take. Pure."""

from __future__ import annotations

from pyk.clients.errors import ConfigurationError

# What a broker and the network need for the answer once the broker has waited.
ANSWER_MS = 1_000


def check_fetch_wait(fetch_max_wait_ms: int, request_timeout_ms: int) -> None:
    """Raise unless a broker that waits can be told from one that does not answer."""
    if fetch_max_wait_ms >= request_timeout_ms:
        raise ConfigurationError(
            f"fetch_max_wait_ms={fetch_max_wait_ms} must be less than "
            f"request_timeout_ms={request_timeout_ms}, or every fetch would time out: lower it, "
            "or raise request_timeout_ms"
        )


def fetch_timeout_ms(fetch_max_wait_ms: int, request_timeout_ms: int) -> int:
    """Return how long a fetch may take: long enough for an answer at the end of its wait."""
    return max(request_timeout_ms, fetch_max_wait_ms + ANSWER_MS)
