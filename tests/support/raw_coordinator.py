"""The coordinator of a group or a transactional id, request by request."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.raw_client import RawClient

GROUP_KEY, TRANSACTION_KEY = 0, 1
MOVED = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
RETRIED = {
    *MOVED,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
PATIENCE_SECONDS = 20
PARTS = (
    "groups",
    "topics",
    "partitions",
    "results",
    "results_by_topic_v3_and_below",
    "results_by_partition",
)


class RawCoordinator:
    """A connection to the coordinator of one key, wherever it moves."""

    def __init__(self, bootstrap: str, key_type: int, key: str) -> None:
        self._bootstrap = bootstrap
        self._request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])

    async def __aenter__(self) -> Self:
        self._client = await RawClient(await self._find()).__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(*exc)

    async def ask(self, request: Any, version: int) -> Any:
        """Ask once, and return the response as it is."""
        return await self._client.ask(request, version)

    async def ask_until_ready(self, request: Any, version: int) -> Any:
        """Ask until the coordinator is ready for the next transaction."""
        code = ErrorCode.NONE
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (code := code_of(response := await self.ask(request, version))) in RETRIED:
                    await asyncio.sleep(0.02)
                    if code in MOVED:
                        await self.__aexit__()
                        await self.__aenter__()
        except TimeoutError as error:
            raise AssertionError(f"the last answer was {code.name} to {request}") from error
        return response

    async def _find(self) -> str:
        async with asyncio.timeout(PATIENCE_SECONDS), RawClient(self._bootstrap) as client:
            while True:
                (found,) = (await client.ask(self._request)).coordinators
                if not found.error_code:
                    return f"{found.host}:{found.port}"
                await asyncio.sleep(0.02)


def code_of(message: Any) -> ErrorCode:
    """Return the first error code in a response."""
    code = getattr(message, "error_code", 0) or getattr(message, "partition_error_code", 0)
    for name in PARTS:
        for each in getattr(message, name, ()):
            code = code or code_of(each)
    return ErrorCode(code)
