"""Sign a request of AWS in its query: Signature Version 4. Pure.

The canonical request is hashed into a string to sign, which is signed by a key that is derived from
the secret for one day, region and service.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
from collections.abc import Mapping

import attrs

from pyk.runtime import slotted
from pyk.runtime.secret import Secret, secret_of

ALGORITHM = "AWS4-HMAC-SHA256"
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
EMPTY_PAYLOAD = hashlib.sha256(b"").hexdigest()


@attrs.frozen
class AwsCredentials:
    """The keys of an AWS identity; temporary ones have a session token, too."""

    access_key_id: str
    secret_access_key: Secret = attrs.field(converter=secret_of)
    session_token: Secret | None = attrs.field(
        default=None, converter=attrs.converters.optional(secret_of)
    )


@slotted.frozen(kw_only=True)
class Presigned:
    """What is signed: a GET of ``path`` at ``host``, valid for some seconds."""

    host: str
    region: str
    service: str
    path: str = "/"
    parameters: Mapping[str, str] = slotted.field(factory=dict)
    expires_in: int = 900
    payload: str = EMPTY_PAYLOAD
    """The hash of the body, in hex."""

    def query(self, credentials: AwsCredentials, now: float) -> dict[str, str]:
        """Return the parameters with the signature; ``now`` is in seconds of the epoch."""
        moment = datetime.datetime.fromtimestamp(int(now), datetime.UTC)
        time, day = moment.strftime("%Y%m%dT%H%M%SZ"), moment.strftime("%Y%m%d")
        scope = f"{day}/{self.region}/{self.service}/aws4_request"
        parameters = {
            **self.parameters,
            "X-Amz-Algorithm": ALGORITHM,
            "X-Amz-Credential": f"{credentials.access_key_id}/{scope}",
            "X-Amz-Date": time,
            "X-Amz-Expires": str(self.expires_in),
            "X-Amz-SignedHeaders": "host",
        }
        if credentials.session_token:
            parameters["X-Amz-Security-Token"] = credentials.session_token.reveal()
        hashed = hashlib.sha256(self._canonical(parameters).encode()).hexdigest()
        to_sign = "\n".join((ALGORITHM, time, scope, hashed))
        key = signing_key(credentials.secret_access_key, day, self.region, self.service)
        return parameters | {"X-Amz-Signature": _hmac(key, to_sign).hex()}

    def _canonical(self, parameters: Mapping[str, str]) -> str:
        query = encoded(dict(sorted(parameters.items())))
        headers = f"host:{self.host}\n"
        return "\n".join(("GET", self.path, query, headers, "host", self.payload))


def encoded(parameters: Mapping[str, str]) -> str:
    """Return parameters as a query, in which all but unreserved characters are encoded."""
    return "&".join(f"{_quoted(name)}={_quoted(text)}" for name, text in parameters.items())


def _quoted(text: str) -> str:
    return "".join(chr(one) if one in UNRESERVED else f"%{one:02X}" for one in text.encode())


def signing_key(secret: Secret, day: str, region: str, service: str) -> bytes:
    """Return the key of one day (``YYYYMMDD``), region and service."""
    key = f"AWS4{secret.reveal()}".encode()
    for part in (day, region, service, "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
