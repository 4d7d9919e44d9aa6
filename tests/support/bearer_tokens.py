"""Bearer tokens that prove nothing."""

from __future__ import annotations

import base64
import json
from typing import Any


def unsecured(*, alg: str = "none", **claims: Any) -> str:
    """Return a token without a signature (RFC 7515)."""
    return f"{_part({'alg': alg})}.{_part(claims)}."


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
