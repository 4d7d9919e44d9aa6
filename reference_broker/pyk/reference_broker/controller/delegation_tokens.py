"""Delegation tokens as the controller and the logins of a broker see them (KIP-48). Pure.

A token's HMAC is its password. It is not stored: whoever has ``delegation.token.secret.key``
computes it from the token's id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyk.protocol.messages.access_records import DelegationTokenRecord
from pyk.reference_broker.security.principal import Principal
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.reference_broker.config import BrokerConfig, Password


@slotted.frozen(kw_only=True)
class TokenSettings:
    """What the configuration says about tokens; they are disabled without a secret key."""

    secret_key: Password | None = None
    max_lifetime_ms: int = 604_800_000
    expiry_time_ms: int = 86_400_000

    @classmethod
    def of(cls, config: BrokerConfig) -> TokenSettings:
        """Return the settings of a broker."""
        return cls(
            secret_key=config.delegation_token_secret_key,
            max_lifetime_ms=config.delegation_token_max_lifetime_ms,
            expiry_time_ms=config.delegation_token_expiry_time_ms,
        )

    @property
    def is_enabled(self) -> bool:
        """Whether there are tokens at all."""
        return bool(self.secret_key)

    def hmac_of(self, token_id: str) -> bytes:
        """Return the HMAC of a token; it is the same for all brokers with the same key."""
        import hmac  # OpenSSL, which most brokers start without

        assert self.secret_key
        return hmac.digest(self.secret_key.encode(), token_id.encode(), "sha512")

    def find(
        self, tokens: Iterable[DelegationTokenRecord], token_hmac: bytes
    ) -> DelegationTokenRecord | None:
        """Return the token with an HMAC, None if there is none."""
        import hmac

        for token in tokens:
            if hmac.compare_digest(self.hmac_of(token.token_id), token_hmac):
                return token
        return None


def is_expired(token: DelegationTokenRecord, now_ms: int) -> bool:
    """Return whether a token is of no use any more."""
    return min(token.max_timestamp, token.expiration_timestamp) < now_ms


def principal_of(text: str) -> Principal:
    """Return a principal of a record, such as ``User:alice``."""
    kind, _, name = text.partition(":")
    return Principal(name, kind)
