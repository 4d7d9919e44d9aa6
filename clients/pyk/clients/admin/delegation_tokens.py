"""Delegation tokens: passwords of limited life for work done elsewhere (KIP-48, KIP-373). Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from pyk.clients.errors import error_for
from pyk.clients.security.credentials import Scram
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pyk.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from pyk.runtime import slotted
from pyk.runtime.secret import Secret

FIRST_VERSION_WITH_OWNER = 3


@slotted.frozen(order=True)
class KafkaPrincipal:
    """Who a client is for brokers, such as ``User:alice``."""

    principal_type: str
    name: str

    @classmethod
    def of(cls, given: KafkaPrincipal | str) -> KafkaPrincipal:
        """Return a principal, also of its text; raise ``TypeError`` or ``ValueError``."""
        if isinstance(given, KafkaPrincipal):
            return given
        if not isinstance(given, str):
            raise TypeError(f"a principal must be a str such as 'User:alice', not {given!r}")
        kind, colon, name = given.partition(":")
        if not (kind and colon and name):
            raise ValueError(f"a principal is written 'User:alice', not {given!r}")
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


@slotted.frozen(kw_only=True)
class DelegationToken:
    """A token. Its id is the user name of a SCRAM login, and its HMAC the password.

    Times are milliseconds since 1970.
    """

    token_id: str
    hmac: Secret
    """In base64, as it is a password; ``hmac.reveal()`` returns it."""
    owner: KafkaPrincipal
    """Who logs in with it is this principal."""
    token_requester: KafkaPrincipal
    """Who created it; the owner, unless it was created for somebody else."""
    renewers: tuple[KafkaPrincipal, ...] = ()
    """Who may renew it, besides the owner."""
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    """When it ends unless it is renewed."""
    max_timestamp_ms: int
    """When it ends however often it is renewed."""

    def credentials(self, mechanism: str = "SCRAM-SHA-512") -> Scram:
        """Return what logs in with this token, for ``auth=``."""
        return Scram(self.token_id, self.hmac, mechanism, is_delegation_token=True)


def hmac_of(given: DelegationToken | Secret | str | bytes) -> bytes:
    """Return the HMAC, which may be given in base64; raise ``TypeError`` or ``ValueError``."""
    if isinstance(given, bytes):
        return given
    text = given.hmac if isinstance(given, DelegationToken) else given
    if isinstance(text, str):
        text = Secret(text)
    if not isinstance(text, Secret):
        raise TypeError(
            f"give a DelegationToken, or its HMAC as str in base64 or bytes, not {type(given)}"
        )
    try:
        return base64.b64decode(text.reveal(), validate=True)
    except ValueError:
        pass
    raise ValueError("the HMAC of a token is not base64")  # out here: the other error shows it


def create_request(
    owner: KafkaPrincipal | None,
    renewers: Iterable[KafkaPrincipal],
    max_lifetime_ms: int | None,
) -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(
        # Empty, and not None, which brokers before 3.3 could not be sent.
        owner_principal_type="" if owner is None else owner.principal_type,
        owner_principal_name="" if owner is None else owner.name,
        renewers=[
            CreatableRenewers(principal_type=one.principal_type, principal_name=one.name)
            for one in renewers
        ],
        max_lifetime_ms=-1 if max_lifetime_ms is None else max_lifetime_ms,
    )


def created(
    response: CreateDelegationTokenResponse, renewers: Iterable[KafkaPrincipal]
) -> DelegationToken:
    """Return the new token."""
    return DelegationToken(
        token_id=response.token_id,
        hmac=_secret(response.hmac),
        **_principals(response),
        renewers=tuple(renewers),
        issue_timestamp_ms=response.issue_timestamp_ms,
        expiry_timestamp_ms=response.expiry_timestamp_ms,
        max_timestamp_ms=response.max_timestamp_ms,
    )


def describe_request(
    owners: Iterable[KafkaPrincipal] | None,
) -> DescribeDelegationTokenRequest:
    if owners is None:
        return DescribeDelegationTokenRequest(owners=None)
    return DescribeDelegationTokenRequest(
        owners=[
            DescribeDelegationTokenOwner(principal_type=one.principal_type, principal_name=one.name)
            for one in owners
        ]
    )


def described(response: DescribeDelegationTokenResponse) -> list[DelegationToken]:
    """Return the tokens, the oldest first."""
    found = [_token(one) for one in response.tokens]
    return sorted(found, key=lambda one: (one.issue_timestamp_ms, one.token_id))


def check(response: Any) -> None:
    """Raise the error of a response."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, api_key=response.api_key)


def _token(one: DescribedDelegationToken) -> DelegationToken:
    return DelegationToken(
        token_id=one.token_id,
        hmac=_secret(one.hmac),
        **_principals(one),
        renewers=tuple(
            KafkaPrincipal(each.principal_type, each.principal_name) for each in one.renewers
        ),
        issue_timestamp_ms=one.issue_timestamp,
        expiry_timestamp_ms=one.expiry_timestamp,
        max_timestamp_ms=one.max_timestamp,
    )


def _principals(one: Any) -> dict[str, KafkaPrincipal]:
    owner = KafkaPrincipal(one.principal_type, one.principal_name)
    kind, name = one.token_requester_principal_type, one.token_requester_principal_name
    # Brokers before 3.3 do not say it, and have no other requesters.
    requester = KafkaPrincipal(kind, name) if name else owner
    return {"owner": owner, "token_requester": requester}


def _secret(hmac: bytes) -> Secret:
    return Secret(base64.b64encode(hmac).decode("ascii"))
