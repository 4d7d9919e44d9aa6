"""Ask coordinators what a transaction needs, until they answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.errors import ConcurrentTransactionsError, KafkaError
from pyk.clients.producer.transactions.epochs import TransactionEpochs
from pyk.clients.producer.transactions.meanings import (
    Meaning,
    TransactionRequest,
    meaning_of_error,
)
from pyk.clients.producer.transactions.requests import CoordinatorCall
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.negotiation import TRANSACTION_V2, TRANSACTION_VERSION, FinalizedFeatures

log = logging.getLogger(__name__)

# The markers of the transaction before take milliseconds: waiting longer would double a short one.
CONCURRENT_TRANSACTIONS_SECONDS = 0.02


class RefusedCall(Exception):  # noqa: N818 - it never leaves this package
    """A call that is not worth repeating: ``meaning`` says what follows from its ``error``."""

    def __init__(self, meaning: Meaning, error: KafkaError) -> None:
        super().__init__(error)
        self.meaning = meaning
        self.error = error


class StoppedCall(Exception):  # noqa: N818 - it never leaves this package
    """A call that nobody wants any more."""


class TransactionRequester:
    """Sends the requests of one producer's transactions, one at a time."""

    def __init__(self, client: Client, epochs: TransactionEpochs) -> None:
        self._client = client
        self._epochs = epochs
        self._one_at_a_time = asyncio.Lock()
        self._errors: dict[int, KafkaError] = {}  # of the calls that are being repeated
        self._features = FinalizedFeatures()
        self._looked_at = float("-inf")

    @property
    def error(self) -> KafkaError | None:
        """Why the request that is being repeated has not succeeded, None if none is."""
        return next(reversed(self._errors.values()), None)

    async def ask(self, call: CoordinatorCall, is_wanted: Callable[[], bool]) -> Any:
        """Repeat a call until its response says that it is done, and return that.

        Raises :class:`RefusedCall`, and :class:`StoppedCall` as soon as it is not wanted any more;
        a request in flight is awaited first.
        """
        failures = 0
        try:
            while True:
                async with self._one_at_a_time:
                    if not is_wanted():
                        raise StoppedCall
                    meaning, error, response = await self._attempt(call)
                if error is None:
                    return response
                if meaning in (Meaning.ABORT, Meaning.FAIL):
                    raise RefusedCall(meaning, error)
                log.debug("%s is sent again: %s", call.request.value, error)
                failures += 1
                self._errors[id(call)] = error
                await asyncio.sleep(self._wait_after(error, failures))
        finally:
            self._errors.pop(id(call), None)

    async def _attempt(self, call: CoordinatorCall) -> tuple[Meaning, KafkaError | None, Any]:
        client = self._client
        kind, key = CoordinatorType.TRANSACTION, call.transactional_id
        if call.group_id is not None:
            kind, key = CoordinatorType.GROUP, call.group_id
        try:
            deadline = client.clock.now() + client.config.request_timeout_ms / 1000
            node_id = await client.coordinators.find(kind, key, deadline)
        except KafkaError as error:
            return meaning_of_error(TransactionRequest.FIND_COORDINATOR, error), error, None
        try:
            response = await client.send(
                node_id,
                call.message,
                min_version=call.versions.lowest,
                max_version=call.versions.highest,
            )
        except KafkaError as error:
            if not error.definite:
                self._epochs.in_doubt()
            client.coordinators.forget(kind, key)
            return meaning_of_error(call.request, error), error, None
        except asyncio.CancelledError:
            self._epochs.in_doubt()
            raise
        meaning, refusal = call.judge(response)
        if meaning is Meaning.FIND_COORDINATOR:
            client.coordinators.forget(kind, key)
        return meaning, refusal, response

    def _wait_after(self, error: KafkaError, failures: int) -> float:
        client = self._client
        wait = client.retry_backoff.delay(failures, client.random.random())
        if isinstance(error, ConcurrentTransactionsError):
            return min(wait, CONCURRENT_TRANSACTIONS_SECONDS)
        return wait

    # -- the version of the protocol ---------------------------------------------------------------

    def version(self) -> int:
        """Return the version of transactions that the cluster has finalized, as far as is known."""
        for node_id in self._client.pool.candidates():
            versions = self._client.pool.versions(node_id)
            if versions is not None:
                self._features = self._features.newer(versions.features)
        return 2 if self._features.level(TRANSACTION_VERSION) >= TRANSACTION_V2 else 1

    @property
    def must_look_at_features(self) -> bool:
        client = self._client
        age = client.clock.now() - self._looked_at
        return age >= client.config.metadata_max_age_ms / 1000

    async def look_at_features(self) -> None:
        """Ask what the cluster has finalized, once within ``metadata_max_age_ms``.

        Connections may live longer than a version: they have learned of it when they began.
        """
        if not self.must_look_at_features:
            return
        client, now = self._client, self._client.clock.now()
        is_first, self._looked_at = self._looked_at < 0, now
        if is_first:
            return  # the connections are new
        try:
            response = await client.send_to_any(
                ApiVersionsRequest(client_software_name="pyk", client_software_version="1"),
                now + client.config.request_timeout_ms / 1000,
            )
        except KafkaError as error:
            log.debug("The finalized features are not known: %s", error)
            return
        self._features = self._features.newer(FinalizedFeatures.from_response(response))
