"""Calls about delegation tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import delegation_tokens
from pyk.clients.admin.access_arguments import checked_principals
from pyk.clients.admin.arguments import checked_milliseconds
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.delegation_tokens import DelegationToken, KafkaPrincipal, hmac_of
from pyk.clients.admin.routes import ToAnyNode
from pyk.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pyk.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from pyk.runtime.secret import Secret


class TokenCalls:
    """Carries out the calls about delegation tokens; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create_delegation_token(
        self,
        *,
        owner: KafkaPrincipal | str | None,
        renewers: Iterable[KafkaPrincipal | str],
        max_lifetime_ms: int | None,
        timeout: float | None,
    ) -> DelegationToken:
        others = checked_principals(renewers)
        lifetime = checked_milliseconds(max_lifetime_ms, "max_lifetime_ms")
        of = None if owner is None else KafkaPrincipal.of(owner)
        request = delegation_tokens.create_request(of, others, lifetime)
        first = None if of is None else delegation_tokens.FIRST_VERSION_WITH_OWNER
        response = await self._send(request, timeout, min_version=first)
        return delegation_tokens.created(response, others)

    async def renew_delegation_token(
        self,
        token: DelegationToken | Secret | str | bytes,
        *,
        renew_period_ms: int | None,
        timeout: float | None,
    ) -> int:
        period = checked_milliseconds(renew_period_ms, "renew_period_ms")
        request = RenewDelegationTokenRequest(
            hmac=hmac_of(token), renew_period_ms=-1 if period is None else period
        )
        expiry: int = (await self._send(request, timeout)).expiry_timestamp_ms
        return expiry

    async def expire_delegation_token(
        self,
        token: DelegationToken | Secret | str | bytes,
        *,
        expiry_period_ms: int | None,
        timeout: float | None,
    ) -> int:
        period = checked_milliseconds(expiry_period_ms, "expiry_period_ms")
        request = ExpireDelegationTokenRequest(
            hmac=hmac_of(token), expiry_time_period_ms=-1 if period is None else period
        )
        expiry: int = (await self._send(request, timeout)).expiry_timestamp_ms
        return expiry

    async def describe_delegation_token(
        self, owners: Iterable[KafkaPrincipal | str] | None, *, timeout: float | None
    ) -> list[DelegationToken]:
        asked = None if owners is None else checked_principals(owners)
        request = delegation_tokens.describe_request(asked)
        return delegation_tokens.described(await self._send(request, timeout, is_change=False))

    async def _send(
        self,
        request: Any,
        timeout: float | None,
        *,
        min_version: int | None = None,
        is_change: bool = True,
    ) -> Any:
        """Return the response of any broker, which has no error."""
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, _: Sequence[str]) -> Any:
            response = await self._calls.send(node_id, request, deadline, min_version=min_version)
            delegation_tokens.check(response)
            return {"token": response}

        route = ToAnyNode(self._calls.client)
        carry_out = self._calls.change if is_change else self._calls.settle
        return (await carry_out(["token"], route, ask, deadline))["token"]
