"""Ask for metadata: any broker that answers, or the bootstrap servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial

from pyk.clients.config.client_config import REBOOTSTRAP
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.connection_pool import ConnectionPool
from pyk.clients.engine.metadata import MetadataUpdate, TopicMetadata
from pyk.clients.engine.node_connection import Environment
from pyk.clients.engine.race import first_response
from pyk.clients.engine.topic_interest import TopicInterest
from pyk.clients.errors import (
    AuthenticationError,
    BrokerNotAvailableError,
    ConnectionAttempt,
    KafkaError,
    MalformedResponseError,
    NodeDisconnectedError,
    NodeUnavailableError,
    RebootstrapRequiredError,
    SslAuthenticationError,
    Stage,
    error_for,
)
from pyk.protocol.errors import ErrorCode, MalformedMessageError
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from pyk.protocol.versions import ALL_VERSIONS
from pyk.runtime import slotted

FIRST_VERSION_THAT_MAY_NOT_CREATE = 4
# How long one server may be silent before the next is asked as well.
HEAD_START = 0.5
CUT_OFF = (
    "a listener that requires SASL closes connections like this: give security_protocol and auth="
)


class MetadataSource:
    """Asks brokers for the metadata of the topics that a client is interested in.

    With ``allow_auto_topic_creation`` a missing topic is created, unless it is only remembered:
    ``has_partitions`` says of a topic that it existed, ``has_records_for`` that it is needed again.
    """

    def __init__(
        self,
        shared: Environment,
        pool: ConnectionPool,
        interest: TopicInterest,
        *,
        allow_auto_topic_creation: bool,
        has_records_for: Callable[[str], bool],
        has_partitions: Callable[[str], bool],
    ) -> None:
        self._shared = shared
        self._pool = pool
        self._interest = interest
        self._allow_auto_topic_creation = allow_auto_topic_creation
        self._has_records_for = has_records_for
        self._has_partitions = has_partitions

    async def ask_nodes(self, missing: Collection[str] | None = None) -> MetadataUpdate:
        """Return what the first node that answers says; raise :class:`NoResponseError`.

        ``missing`` are topics to ask for instead of all that are needed, if there are any. Raises
        :class:`AuthenticationError` if a node refuses the client's credentials, and
        :class:`RebootstrapRequiredError` if one sends it back to the bootstrap servers.
        """
        return await first_response(
            self._pool.candidates(),
            partial(self._ask, missing=missing),
            HEAD_START,
            is_final=self._ends_the_search,
        )

    def _ends_the_search(self, error: KafkaError) -> bool:
        """Return whether no other node is to be asked, as one sends the client away (KIP-1102), or
        all would refuse it."""
        follows = self._shared.config.metadata_recovery_strategy == REBOOTSTRAP
        is_sent_away = isinstance(error, RebootstrapRequiredError) and follows
        return is_sent_away or _refuses_credentials(error)

    async def ask_bootstrap_servers(self) -> MetadataUpdate:
        """Return what the first bootstrap server that answers says; raise as :meth:`ask_nodes`."""
        servers = list(self._pool.bootstrap_nodes)
        self._shared.random.shuffle(servers)
        return await first_response(servers, self._ask, HEAD_START, is_final=_refuses_credentials)

    def attempts(self, errors: list[KafkaError], timeout: float) -> list[ConnectionAttempt]:
        """Return how far each bootstrap server came, in the order of the configuration."""
        found: list[ConnectionAttempt] = []
        failed = {error.node_id: error for error in errors}
        for node_id in self._pool.bootstrap_nodes:
            progress = self._pool.connection(node_id, "main").progress
            error = failed.get(node_id)
            if isinstance(error, NodeUnavailableError) and error.attempts:
                found += error.attempts
            elif error is not None:
                progress.stage = Stage.METADATA
                uses_sasl = self._shared.config.uses_sasl
                is_cut_off = isinstance(error, NodeDisconnectedError) and not uses_sasl
                found.append(progress.failed(str(error), CUT_OFF if is_cut_off else ""))
            else:
                found.append(progress.silent(timeout))
        return found

    async def _ask(self, node_id: int, missing: Collection[str] | None = None) -> MetadataUpdate:
        """Ask a node, and let it create the topics that do not exist and may be created.

        This takes a separate request, because its permission to create is for all of its topics: a
        deleted topic that is only remembered would come back (``auto.create.topics.enable``).
        """
        needed = None if self._interest.wants_all else self._interest.topics
        topics = (missing or needed) if needed is not None else None
        answer = await self._answer(node_id, topics)
        to_create = {topic.name for topic in answer.topics if self._may_create(topic)}
        if not to_create:
            return answer
        created = await self._answer(node_id, to_create, may_create=True)
        others = [topic for topic in answer.topics if topic.name not in to_create]
        return slotted.evolve(answer, topics=(*others, *created.topics))

    def _may_create(self, topic: TopicMetadata) -> bool:
        """Return whether a missing topic is still in use, and not only remembered."""
        if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return False
        is_wanted = (
            not self._has_partitions(topic.name)
            or self._interest.is_awaited(topic.name)
            or self._has_records_for(topic.name)
        )
        return self._allow_auto_topic_creation and is_wanted

    async def _answer(
        self, node_id: int, topics: Collection[str] | None, *, may_create: bool = False
    ) -> MetadataUpdate:
        """Ask a node for topics, all if they are None."""
        question = _question_for(topics, may_create=may_create)
        connection = self._pool.connection(node_id, "main")
        timeout = self._shared.config.request_timeout_ms / 1000
        answered: asyncio.Future[MetadataResponse] = asyncio.get_running_loop().create_future()
        connection.submit(question, timeout, ALL_VERSIONS, answered)
        response = await answered
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code, node_id=node_id)
        if not response.brokers:
            raise BrokerNotAvailableError(
                f"{connection.node} knows of no broker yet, not even of itself: it is starting",
                node_id=node_id,
            )
        try:
            return MetadataUpdate.of(response, names_all_topics=topics is None)
        except MalformedMessageError as error:
            raise MalformedResponseError(
                f"{connection.node} sent invalid metadata: {error}", node_id=node_id
            ) from error


def _refuses_credentials(error: KafkaError) -> bool:
    """Return whether all nodes would refuse the client like this: the credentials are the same."""
    is_about_certificate = isinstance(error, SslAuthenticationError)
    return isinstance(error, AuthenticationError) and not is_about_certificate


def _question_for(topics: Collection[str] | None, *, may_create: bool = False) -> VersionedRequest:
    names = None if topics is None else sorted(topics)

    def question(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            # Older brokers create what they are asked about, and cannot be told not to.
            allow_auto_topic_creation=may_create or version < FIRST_VERSION_THAT_MAY_NOT_CREATE,
        )

    return VersionedRequest(MetadataRequest, question)
