"""Logins by a delegation token: its id is the user name of SCRAM, its HMAC the password. Pure."""

from __future__ import annotations

import base64
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING

from pyk.protocol.sasl import MIN_ITERATIONS, ScramCredential, ScramMechanism, salted_password
from pyk.reference_broker.controller.delegation_tokens import (
    TokenSettings,
    is_expired,
    principal_of,
)

from .principal import Login, Principal

if TYPE_CHECKING:
    from pyk.reference_broker.controller.image import MetadataImage

MOST_KEPT = 1000


class TokenLogins:
    """Finds what logs in by a token.

    The credential of a token follows from its id, so it is computed at its first login and kept.
    """

    def __init__(self, settings: TokenSettings, image: MetadataImage) -> None:
        self._settings = settings
        self._image = image
        self._credential = lru_cache(MOST_KEPT)(self._new_credential)

    def find(
        self, mechanism: ScramMechanism, token_id: str, now_ms: int
    ) -> tuple[ScramCredential, Login] | None:
        """Return the credential of a token and whom it logs in; None if it is not known, or over.

        Kafka takes a token that has expired until it sweeps it away, only to cut the connection at
        the next request.
        """
        token = self._image.delegation_tokens.get(token_id)
        if token is None or not self._settings.is_enabled or is_expired(token, now_ms):
            return None
        # As in Kafka, who logs in by a token is a user, whatever type of principal the owner is.
        owner = Principal(principal_of(token.owner).name)
        login = Login(owner, token.expiration_timestamp, is_by_token=True)
        return self._credential(mechanism, token_id), login

    def _new_credential(self, mechanism: ScramMechanism, token_id: str) -> ScramCredential:
        secret = self._settings.hmac_of(token_id)
        # Not random, for the secret is: so it is the same on each broker.
        salt = hmac.digest(secret, mechanism.value.encode(), "sha256")
        password = base64.b64encode(secret).decode("ascii")
        salted = salted_password(mechanism, password, salt, MIN_ITERATIONS)
        return ScramCredential.from_salted_password(mechanism, salted, salt, MIN_ITERATIONS)
