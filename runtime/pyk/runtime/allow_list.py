"""The URLs and files that a process may be configured to ask and read.

A process may get its configuration from somebody it does not trust, as a service does that connects
where its users say. Whoever starts it can limit what identity providers and files a configuration
may name, as Java's system properties ``org.apache.kafka.sasl.oauthbearer.allowed.urls`` and
``….allowed.files`` do for Kafka (CVE-2025-27817). Without these variables, all may be named.
"""

from __future__ import annotations

import os

URLS = "PYK_OAUTHBEARER_ALLOWED_URLS"
FILES = "PYK_OAUTHBEARER_ALLOWED_FILES"


def check_url(url: str) -> None:
    """Raise ValueError, with the rest of a sentence about the URL, unless it may be asked."""
    allowed = _listed(URLS)
    if allowed is not None and url not in allowed:
        raise ValueError(f"is not one of those in {URLS}, which this process is limited to")


def check_file(path: str) -> None:
    """Raise ValueError, with the rest of a sentence about the file, unless it may be read."""
    allowed = _listed(FILES)
    if allowed is None:
        return
    if os.path.realpath(path) not in {os.path.realpath(one) for one in allowed}:
        raise ValueError(f"is not one of those in {FILES}, which this process is limited to")


def _listed(variable: str) -> list[str] | None:
    text = os.environ.get(variable)
    return None if text is None else [one.strip() for one in text.split(",") if one.strip()]
