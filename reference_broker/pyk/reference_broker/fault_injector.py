"""Carries out fault rules around the dispatcher, and remembers what arrived."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import Request, RequestError
from pyk.protocol.schema import ZERO_UUID, Message
from pyk.protocol.versions import NO_VERSIONS
from pyk.runtime import slotted
from pyk.runtime.network.file_region import FileRegion

from .cluster_arguments import check_criteria
from .deferred import Deferred, HandlerResult
from .errors import ConnectionClosedError
from .fault_facts import named_groups, named_topics
from .fault_names import api_key_of
from .faults import Effect, FaultRules, Pause, RequestFacts, RequestFilter
from .handlers.dispatcher import Dispatcher
from .pretended import Served, advertised_as, served_as
from .storage.file_records import FileRecords

if TYPE_CHECKING:
    from .controller.image import MetadataImage
    from .network.connection import Connection

MAX_REMEMBERED_REQUESTS = 10_000


@slotted.frozen
class ReceivedRequest:
    """A request that arrived, without its body."""

    node: int
    api: str
    version: int
    client_id: str
    time_ms: int


class RequestLog:
    """The last requests that arrived at a cluster. May be read by any thread."""

    def __init__(self) -> None:
        # What each ReceivedRequest is made of: that is only done for those that are selected.
        self._requests: deque[tuple[int, ApiKey, int, str, int]] = deque(
            maxlen=MAX_REMEMBERED_REQUESTS
        )

    def add(self, node: int, request: Request, time_ms: int) -> None:
        header = request.header
        self._requests.append(
            (node, request.api_key, request.version, header.client_id or "", time_ms)
        )

    def select(
        self, api: str | None, client_id: str | None, node: int | None
    ) -> list[ReceivedRequest]:
        """Return those that match all that is given, oldest first."""
        check_criteria({"client_id": client_id}, {})
        key = None if api is None else api_key_of(api)
        return [
            ReceivedRequest(at, api_key.api_name, version, sender, time_ms)
            for at, api_key, version, sender, time_ms in tuple(self._requests)
            if key in (None, api_key) and client_id in (None, sender) and node in (None, at)
        ]


class FaultServices(Protocol):
    """The services that the fault injector uses."""

    @property
    def node_id(self) -> int: ...
    @property
    def image(self) -> MetadataImage: ...
    def time_ms(self) -> int: ...


class StaleServices:
    """The services of a broker, with the metadata of an earlier moment."""

    def __init__(self, services: FaultServices, image: MetadataImage) -> None:
        self._services = services
        self.image = image

    def __getattr__(self, name: str) -> Any:
        return getattr(self._services, name)


class FaultInjector:
    """A request handler around another; implements ``network.connection.RequestHandler``."""

    def __init__(
        self,
        inner: Dispatcher,
        services: FaultServices,
        rules: FaultRules,
        request_log: RequestLog,
    ) -> None:
        self._inner = inner
        self._services = services
        self._rules = rules
        self._request_log = request_log
        self._effects: WeakKeyDictionary[Connection, tuple[Request, Effect]] = WeakKeyDictionary()
        """Effects on responses to come. A connection that ends before takes its effect along."""
        self._held: list[tuple[RequestFilter, Callable[[], None]]] = []
        """Requests that are carried out after the next one that a filter selects."""
        self._has_ended = False

    def end(self) -> None:
        """Carry nothing out any more that is held back: the node has ended."""
        self._has_ended = True

    def handle(self, request: Request, connection: Connection) -> HandlerResult:
        self._request_log.add(self._services.node_id, request, self._services.time_ms())
        if not (self._rules.has_any or self._held):
            return self._inner.handle(request, connection)
        pause = self._rules.pause_of(self._services.node_id)
        if pause is None:
            return self._handle(request, connection)
        return self._hold(pause, request, connection)

    def _handle(self, request: Request, connection: Connection) -> HandlerResult:
        if self._rules.release is not None and not self._is_ours(request):
            served = served_as(self._rules.release)
            if request.version not in served.get(request.api_key, NO_VERSIONS):
                return self._refuse_version(request, served)
            if request.api_key is ApiKey.API_VERSIONS:
                advertised: HandlerResult = advertised_as(
                    self._rules.release, self._inner.handle(request, connection)
                )
                return advertised
        facts = self._facts(request)
        overtaken = self._take_overtaken(facts)
        effect = self._rules.effect_on(facts)
        try:
            if effect is None:
                return self._inner.handle(request, connection)
            if effect.overtaken_by is not None and not overtaken:
                return self._hold_until_overtaken(effect, request, connection)
            if effect.delay_ms:
                return self._apply_later(effect, request, connection)
            return self._apply(effect, request, connection)
        finally:
            for carry_out in overtaken:
                carry_out()

    def _is_ours(self, request: Request) -> bool:
        """Return whether a request comes from this broker itself, which knows what it serves."""
        ours = f"broker-{self._services.node_id}"
        return request.header.client_id in (ours, f"{ours}-actions")

    def _refuse_version(self, request: Request, served: Served) -> HandlerResult:
        if request.api_key is ApiKey.API_VERSIONS:
            from .handlers.api_versions import unsupported_version

            request.response_version = 0
            return unsupported_version(served[ApiKey.API_VERSIONS])
        # As Kafka does it. A client that was connected before learns the versions when it connects.
        raise ConnectionClosedError

    def _hold(self, pause: Pause, request: Request, connection: Connection) -> HandlerResult:
        """Carry a request out when a pause is over, even if its client has gone meanwhile."""
        deferred: Deferred[Any] = Deferred()
        has_resumed = False

        def resume() -> None:
            nonlocal has_resumed
            if has_resumed:
                return
            has_resumed = True
            self._complete(deferred, connection, lambda: self._handle(request, connection))

        loop = asyncio.get_running_loop()

        def wake_up() -> None:
            if not self._has_ended:  # the loop may have ended with the node
                loop.call_soon_threadsafe(resume)

        pause.when_over(wake_up)
        return deferred

    def _hold_until_overtaken(
        self, effect: Effect, request: Request, connection: Connection
    ) -> HandlerResult:
        deferred: Deferred[Any] = Deferred()

        def carry_out() -> None:
            self._complete(deferred, connection, lambda: self._apply(effect, request, connection))

        assert effect.overtaken_by is not None
        self._held.append((effect.overtaken_by, carry_out))
        return deferred

    def _take_overtaken(self, facts: RequestFacts) -> list[Callable[[], None]]:
        """Return what to do after a request: the requests that were held until it came."""
        if not self._held:
            return []
        taken = [each for each in self._held if each[0].select(facts) is not None]
        self._held = [each for each in self._held if each not in taken]
        return [carry_out for _, carry_out in taken]

    def failed(self, request: Request, error: Exception) -> Message | None:
        return self._inner.failed(request, error)

    def requests_begin(self) -> None:
        self._inner.requests_begin()

    def requests_end(self) -> None:
        self._inner.requests_end()

    def refuse(self, error: RequestError) -> Message | None:
        return self._inner.refuse(error)

    def outgoing(self, request: Request, connection: Connection, parts: list[Any]) -> list[Any]:
        if not self._effects:
            return parts
        expected, effect = self._effects.pop(connection, (None, None))
        if effect is None or expected is not request:
            return parts
        if effect.is_response_lost:
            if not effect.is_half_open:
                raise ConnectionClosedError
            connection.fall_silent()
            return []
        data = bytearray().join(_bytes_of(part) for part in parts)
        if effect.corrupt_at is not None:
            data[max(-len(data), min(effect.corrupt_at, len(data) - 1))] ^= 0xFF
        if effect.truncate_to is not None:
            connection.transport.write([data[: effect.truncate_to]])
            raise ConnectionClosedError
        return [data]

    def _facts(self, request: Request) -> RequestFacts:
        return RequestFacts(
            api_key=request.api_key,
            node=self._services.node_id,
            version=request.version,
            client_id=request.header.client_id or "",
            groups=tuple(named_groups(request.body)),
            partitions=tuple(self._partitions(request)),
        )

    def _partitions(self, request: Request) -> Iterator[tuple[str, int | None]]:
        from .handlers.partitioned import SHAPES, partition_number, topic_name, topics_of

        if request.api_key in SHAPES:
            for topic, partitions in topics_of(request.api_key, request.body):
                name = self._name_of(topic_name(request.api_key, topic), topic)
                for partition in partitions:
                    yield name, partition_number(request.api_key, partition)
            return
        for given, topic in named_topics(request.body):
            if name := self._name_of(given, topic):
                yield name, None

    def _name_of(self, given: str, topic: Any) -> str:
        """Return the name of a topic in a request that may name it by id."""
        if given:
            return given
        known = self._services.image.topics_by_id.get(getattr(topic, "topic_id", ZERO_UUID))
        return known.name if known else ""

    def _apply_later(
        self, effect: Effect, request: Request, connection: Connection
    ) -> HandlerResult:
        deferred: Deferred[Any] = Deferred()

        def apply() -> None:
            if not deferred.is_done:
                self._complete(
                    deferred, connection, lambda: self._apply(effect, request, connection)
                )

        asyncio.get_running_loop().call_later(effect.delay_ms / 1000, apply)
        return deferred

    def _complete(
        self,
        deferred: Deferred[Any],
        connection: Connection,
        carry_out: Callable[[], HandlerResult],
    ) -> None:
        """Carry a request out that was held back, and answer it."""
        if self._has_ended:
            return
        try:
            result = carry_out()
        except ConnectionClosedError:
            connection.close()
            return
        except Exception as error:
            deferred.fail(error)
            return
        if isinstance(result, Deferred):
            deferred.when_abandoned(result.abandon)
            result.when_done(deferred.complete, deferred)
        else:
            deferred.complete(result)

    def _apply(self, effect: Effect, request: Request, connection: Connection) -> HandlerResult:
        if effect.is_closed:
            raise ConnectionClosedError
        if effect.is_dropped:
            connection.fall_silent()
            return Deferred()
        if effect.ends_request and effect.error is None:
            self._effects[connection] = (request, effect)
        if effect.error is None:
            result = self._handler(effect).handle(request, connection)
        else:
            result = self._answer_with_error(effect, request, connection)
        if effect.is_duplicated:
            with suppress(ConnectionClosedError):
                self._inner.handle(request, connection)
        if not effect.throttle_ms:
            return result
        if isinstance(result, Deferred):
            return result.then(lambda response: _throttled(response, effect.throttle_ms))
        throttled: HandlerResult = _throttled(result, effect.throttle_ms)
        return throttled

    def _handler(self, effect: Effect) -> Dispatcher:
        stale = effect.stale
        if stale is None:
            return self._inner
        if stale.image is None:
            stale.image = self._services.image.frozen()
        services: Any = StaleServices(self._services, stale.image)
        return Dispatcher(services)

    def _answer_with_error(
        self, effect: Effect, request: Request, connection: Connection
    ) -> HandlerResult:
        from .handlers.error_responses import error_response
        from .handlers.partitioned import (
            SHAPES,
            error_partitions,
            merge,
            partition_number,
            split,
            topic_name,
            topics_of,
        )

        assert effect.error is not None
        api_key, code = request.api_key, effect.error
        if not request.expects_response:
            raise ConnectionClosedError
        chosen = effect.partitions
        if chosen is None or api_key not in SHAPES:
            return error_response(api_key, request.body, code, request.version)

        def is_chosen(topic: Any, partition: Any) -> bool:
            number = partition_number(api_key, partition)
            return (self._name_of(topic_name(api_key, topic), topic), number) in chosen

        failing, others = split(api_key, request.body, is_chosen)
        failed = error_partitions(api_key, failing, code)
        if not others.fields or not list(topics_of(api_key, others)):
            return failed
        request.body = others
        result = self._inner.handle(request, connection)

        def merged(response: Message) -> Message:
            merge(api_key, response, failed)
            return response

        return result.then(merged) if isinstance(result, Deferred) else merged(result or failed)


def _throttled(response: Any, milliseconds: int) -> Any:
    if response is not None and hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = milliseconds
    return response


def _bytes_of(part: Any) -> Any:
    if isinstance(part, FileRecords):
        return part.read()
    if not isinstance(part, FileRegion):
        return part
    file: Any = part.file
    return file.read_at(part.offset, part.size)
