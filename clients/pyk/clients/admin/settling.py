"""Send several items until each has a result or an error that is not retriable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from pyk.clients.admin.routes import Route
from pyk.clients.engine.client import Client
from pyk.clients.engine.responses import result_for_each
from pyk.clients.errors import (
    ClosedError,
    KafkaError,
    KafkaTimeoutError,
    SeveralErrors,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.wording import because
from pyk.runtime import slotted

MAY_BE_DONE = "it may have been done"
MAY_BE_DONE_BEFORE = "an earlier attempt, whose outcome is unknown, may have done it"

# Sends some items to a node, and returns the result of each or the error that came instead.
Ask = Callable[[int, Sequence[Any]], Awaitable[Mapping[Any, Any]]]


@slotted.define
class Settlement:
    """The outcome of each item so far. Pure."""

    route: Route
    pending: list[Any]
    already_done: type[KafkaError] | None = None
    is_change: bool = False
    """Whether the call changes something, so that errors say whether it may have been done."""
    results: dict[Any, Any] = slotted.field(factory=dict)
    errors: dict[Any, KafkaError] = slotted.field(factory=dict)
    in_doubt: set[Any] = slotted.field(factory=set)
    """Items that an earlier attempt may have done although its response was lost."""

    def take(self, answers: Mapping[Any, Any]) -> dict[Any, KafkaError]:
        """Take the responses of one round; return which items to send again, and why."""
        again: dict[Any, KafkaError] = {}
        for item in self.pending:
            answer = answers[item]
            if not isinstance(answer, KafkaError):
                self.results[item] = answer
            elif self._is_done_already(item, answer):
                self.results[item] = None
            elif self.route.may_pass(answer):
                again[item] = answer
            else:
                self._fail(item, answer)
        self.in_doubt |= {item for item, error in again.items() if not error.definite}
        self.pending = list(again)
        return again

    def expire(self, again: Mapping[Any, KafkaError]) -> None:
        """Record the errors of items for which no time is left."""
        for item, error in again.items():
            self._fail(item, _timed_out(error))

    def outcome(self) -> dict[Any, Any]:
        """Return the results, or raise the errors."""
        if not self.errors:
            return self.results
        count = len(self.errors) + len(self.results)
        if count == 1:
            raise next(iter(self.errors.values()))
        raise SeveralErrors(f"{len(self.errors)} of {count} failed", self.errors, self.results)

    def _fail(self, item: Any, error: KafkaError) -> None:
        note, failure = MAY_BE_DONE, copy_to_raise(error)
        if error.definite and item in self.in_doubt:
            note, failure.definite = MAY_BE_DONE_BEFORE, False
        if self.is_change and not failure.definite:
            failure.args = (f"{str(failure.args[0]).removesuffix('.')}; {note}",)
        self.errors[item] = failure

    def _is_done_already(self, item: Any, error: KafkaError) -> bool:
        return (
            self.already_done is not None
            and item in self.in_doubt
            and isinstance(error, self.already_done)
        )


async def settle(
    client: Client,
    items: Iterable[Any],
    route: Route,
    ask: Ask,
    deadline: float,
    *,
    already_done: type[KafkaError] | None = None,
    is_change: bool = False,
) -> dict[Any, Any]:
    """Return the result of each item.

    Items with a retriable error are sent again until the deadline. ``already_done`` is the error of
    a broker when an earlier attempt, whose response was lost, has done the item. Raises the error
    of the only item, or :class:`SeveralErrors`; those of a change say if it may have been done.
    """
    settlement = Settlement(route, list(dict.fromkeys(items)), already_done, is_change)
    failures = 0
    with route.using(settlement.pending):
        while settlement.pending:
            answers = await _answers(client, settlement.pending, route, ask, deadline)
            again = settlement.take(answers)
            if not again:
                break
            failures += 1
            await route.went_wrong(deadline)
            wait = client.retry_backoff.delay(failures, client.random.random())
            if client.clock.now() + wait >= deadline:
                settlement.expire(again)
                break
            await asyncio.sleep(wait)
    return settlement.outcome()


async def _answers(
    client: Client, items: Sequence[Any], route: Route, ask: Ask, deadline: float
) -> Mapping[Any, Any]:
    """Ask every node once, and return a result or an error for every item."""
    answers: dict[Any, Any] = {}
    nodes: dict[Any, int] = {}
    try:
        async with asyncio.timeout_at(deadline):
            placement = await route.place(items, deadline)
            answers |= {item: _not_sent(error) for item, error in placement.errors.items()}
            by_node = placement.by_node.items()
            nodes = {item: node_id for node_id, some in by_node for item in some}
            await asyncio.gather(*(_ask(node_id, some, ask, answers) for node_id, some in by_node))
    except KafkaError as error:
        return {item: _not_sent(error) for item in items}
    except TimeoutError:
        pass
    missing = [item for item in items if item not in answers]
    return answers | {item: _not_answered(client, nodes.get(item)) for item in missing}


async def _ask(node_id: int, items: Sequence[Any], ask: Ask, answers: dict[Any, Any]) -> None:
    """Send some items to a node and add its responses to the answers."""
    try:
        found = await ask(node_id, items)
    except KafkaError as error:
        if isinstance(error, ClosedError):
            error.definite = False  # the request may have left before the client was closed
        answers |= {item: copy_to_raise(error) for item in items}
        return
    answers |= result_for_each(items, found, node_id)


def _not_sent(error: KafkaError) -> KafkaError:
    """Return the error of an item that went to no node, because none was found."""
    failure = copy_to_raise(error)
    failure.definite = True
    return failure


def _not_answered(client: Client, node_id: int | None) -> KafkaTimeoutError:
    """Return the error of an item whose node did not answer, or was not found, in time."""
    if node_id is None:
        error = client.metadata_keeper.last_error
        reason = f"the timeout ended before the node to ask was found{because(error)}"
        return KafkaTimeoutError(reason, definite=True)
    unreachable = client.pool.unreachable(node_id)
    error = None if unreachable is None else unreachable.error
    reason = f"node {node_id} did not answer within the timeout{because(error)}"
    return KafkaTimeoutError(reason, node_id=node_id)


def _timed_out(error: KafkaError) -> KafkaError:
    if isinstance(error, KafkaTimeoutError):
        return error
    timed_out = KafkaTimeoutError(
        f"not done in time: {error}",
        topic=error.topic,
        partition=error.partition,
        definite=error.definite,
    )
    timed_out.__cause__ = error
    return timed_out
