"""The tokens of SASL, which SaslAuthenticate carries: read, written, proved. Nothing is sent here.

After a SaslHandshake of version 0 the same tokens travel as frames of their own. They are bytes of
a peer that is not authenticated yet: decoding raises a :class:`SaslTokenError` at any deviation
from the format. Making a token raises EncodeError at a value that cannot be sent, and encoding one
that is longer than ``MAX_TOKEN_BYTES``.
"""

from __future__ import annotations

from .errors import MalformedTokenError, SaslTokenError, ScramProofError, ScramRefusedError
from .oauthbearer import FAILURE_SEEN, OAuthBearerFailure, OAuthBearerResponse
from .plain import PlainToken
from .scram_messages import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    TOKEN_AUTHENTICATION,
    ClientFinal,
    ClientFirst,
    ServerFinal,
    ServerFirst,
    ServerRefusal,
)
from .scram_proof import (
    ScramCredential,
    ScramMechanism,
    auth_message,
    prove,
    salted_password,
    verify_server,
)
from .syntax import MAX_TOKEN_BYTES

__all__ = [
    "FAILURE_SEEN",
    "MAX_ITERATIONS",
    "MAX_TOKEN_BYTES",
    "MIN_ITERATIONS",
    "TOKEN_AUTHENTICATION",
    "ClientFinal",
    "ClientFirst",
    "MalformedTokenError",
    "OAuthBearerFailure",
    "OAuthBearerResponse",
    "PlainToken",
    "SaslTokenError",
    "ScramCredential",
    "ScramMechanism",
    "ScramProofError",
    "ScramRefusedError",
    "ServerFinal",
    "ServerFirst",
    "ServerRefusal",
    "auth_message",
    "prove",
    "salted_password",
    "verify_server",
]
