"""The errors of SASL tokens. No text of these errors repeats what may be secret.

::

    ProtocolError
    └── SaslTokenError
        ├── MalformedTokenError   the bytes are not such a token, or not an acceptable one
        ├── ScramProofError       the sender does not know the password
        └── ScramRefusedError     the server says in SCRAM's own words that it refuses the client
"""

from __future__ import annotations

from pyk.protocol.errors import ProtocolError

_LONGEST_SHOWN = 100


class SaslTokenError(ProtocolError):
    """A SASL token that ends the exchange in which it came."""


class MalformedTokenError(SaslTokenError):
    """Bytes that are not a valid token; the text says which token and which part of it."""


class ScramProofError(SaslTokenError):
    """A proof or signature of SCRAM that does not come from the password."""


class ScramRefusedError(SaslTokenError):
    """A server ended SCRAM with an error instead of its signature; ``error`` is what it calls it.

    Kafka's brokers never do: theirs comes as an error code of SaslAuthenticate.
    """

    def __init__(self, error: str) -> None:
        super().__init__(f"the server refuses the client: {error[:_LONGEST_SHOWN]!r}")
        self.error = error
