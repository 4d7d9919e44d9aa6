"""Look at a cluster as a client does, step by step, and print what is found."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence

import attrs
import click

from pyk.clients import AsyncAdmin, ConfigResource, Node, OffsetSpec, TopicPartition
from pyk.clients.config import AdminConfig
from pyk.clients.engine.connection import NEVER, Connection, new_pending
from pyk.clients.engine.dialer import Dialer, Progress
from pyk.clients.errors import ClosedError, KafkaError, NodeUnavailableError, Stage
from pyk.command_line.checks.cluster_state import (
    clock_findings,
    controller_findings,
    version_findings,
)
from pyk.command_line.checks.connections import (
    Reached,
    Unreached,
    advertised_findings,
    connection_findings,
)
from pyk.command_line.checks.finding import Finding, Status, failed, ok
from pyk.command_line.checks.groups import group_findings
from pyk.command_line.checks.topics import PartitionState, TopicState, topic_findings
from pyk.command_line.frame.connecting import options_for
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.output import print_json, wants_json
from pyk.command_line.text import printable
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from pyk.protocol.versions import ALL_VERSIONS
from pyk.runtime.network.system import SystemNetwork
from pyk.runtime.system_clock import SystemClock

FIRST_VERSION_OF_OPERATIONS = 8
MARKS = {Status.OK: ("ok", "green"), Status.WARNING: ("warning", "yellow"),
         Status.FAILED: ("failed", "red")}  # fmt: skip


def diagnose(topics: Sequence[str], groups: Sequence[str], timeout: float) -> ExitCode:
    """Print what is found out; return the exit code."""
    options = options_for(AdminConfig)
    config = AdminConfig.from_properties(options)
    diagnosis = Diagnosis(config, options, timeout)
    asyncio.run(diagnosis.run(topics, groups))
    return diagnosis.exit_code


class Diagnosis:
    """One run of the doctor."""

    def __init__(self, config: AdminConfig, options: Mapping[str, object], timeout: float) -> None:
        self._config, self._options, self._timeout = config, options, timeout
        self._clock, self._network = SystemClock(), SystemNetwork()
        self._dialer = Dialer(config, self._clock, self._network, random.Random())  # noqa: S311
        self._statuses: list[Status] = []
        self._has_reached_a_broker = False

    @property
    def exit_code(self) -> ExitCode:
        if not self._has_reached_a_broker:
            return ExitCode.UNREACHABLE
        return ExitCode.FAILED if Status.FAILED in self._statuses else ExitCode.DONE

    async def run(self, topics: Sequence[str], groups: Sequence[str]) -> None:
        """Check all that can be checked."""
        connection: Connection | None = None
        try:
            for server in self._config.bootstrap_servers:
                reached = await self._reach(Node(-1, server.host, server.port))
                if connection is None:
                    connection = reached
                elif reached is not None:
                    reached.close()
            if connection is None:
                return
            self._tell(version_findings(str(connection.node), connection.versions.apis))
            metadata = await self._metadata(connection, topics)
            if metadata is not None:
                await self._brokers(metadata)
                await self._by_admin(metadata, topics, groups)
        finally:
            if connection is not None:
                connection.abort(ClosedError("the doctor is done"))

    async def _reach(self, node: Node, *, is_advertised: bool = False) -> Connection | None:
        """Connect to one server, and print how far it came."""
        server, began = node.address, self._clock.now()
        progress = Progress(server)
        addresses = await self._addresses(node)
        connection = None
        try:
            connection = await self._dialer.dial(node, self._timeout, progress)
        except NodeUnavailableError as error:
            outcome: Reached | Unreached = Unreached(server, progress.stage, error, error.attempts)
        except KafkaError as error:
            self._has_reached_a_broker |= progress.stage is Stage.SASL
            outcome = Unreached(server, progress.stage, error)
        else:
            self._has_reached_a_broker = True
            took_ms = (self._clock.now() - began) * 1000
            credentials = self._config.credentials()
            outcome = Reached(
                server,
                progress.address or server,
                took_ms,
                progress.is_encrypted,
                None if credentials is None else credentials.mechanism,
            )
        self._tell(connection_findings(outcome, addresses, is_advertised=is_advertised))
        return connection

    async def _addresses(self, node: Node) -> list[str]:
        if self._config.proxy is not None:
            return []
        try:
            async with asyncio.timeout(self._timeout):
                found = await self._network.resolve(node.host, node.port)
        except (OSError, ValueError):  # TimeoutError is an OSError; dialing says what is wrong
            return []
        return [str(address) for address in found]

    async def _metadata(
        self, connection: Connection, topics: Sequence[str]
    ) -> MetadataResponse | None:
        version = connection.versions.version_for(ApiKey.METADATA)
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=False,
        )
        if version >= FIRST_VERSION_OF_OPERATIONS:
            request.include_topic_authorized_operations = True
        response: asyncio.Future[MetadataResponse] = asyncio.get_running_loop().create_future()
        pending = new_pending(request, response, ALL_VERSIONS, 0.0, NEVER)
        connection.write(pending, version, self._clock.now())
        try:
            async with asyncio.timeout(self._timeout):
                return await response
        except (KafkaError, TimeoutError) as error:
            cause = str(error) or f"no answer within {self._timeout:.3g} s"
            meaning = "the broker accepts the client, and does not say who leads which partition"
            advice = "look at the log of the broker: is it overloaded, or still starting?"
            self._tell([failed(Stage.METADATA.value, str(connection.node), cause, meaning, advice)])
            return None

    async def _brokers(self, metadata: MetadataResponse) -> None:
        """Check what brokers advertise, each address."""
        nodes = [Node(one.node_id, one.host, one.port) for one in metadata.brokers]
        nodes.sort(key=lambda node: node.node_id)
        named = ", ".join(f"{node.node_id} ({node.address})" for node in nodes)
        self._tell([ok(Stage.METADATA.value, "cluster", f"brokers {named}")])
        self._tell(controller_findings(metadata.controller_id, {node.node_id for node in nodes}))
        hosts = [server.host for server in self._config.bootstrap_servers]
        self._tell(advertised_findings(hosts, nodes))
        known = {str(server) for server in self._config.bootstrap_servers}
        for node in nodes:
            if node.address not in known:
                reached = await self._reach(attrs.evolve(node, node_id=-1), is_advertised=True)
                if reached is not None:
                    reached.close()

    async def _by_admin(
        self, metadata: MetadataResponse, topics: Sequence[str], groups: Sequence[str]
    ) -> None:
        """Check topics and groups by an admin client."""
        if not topics and not groups:
            return
        limits = {"default_api_timeout_ms": round(self._timeout * 1000)}
        try:
            async with AsyncAdmin.from_properties({**self._options, **limits}) as admin:
                known = await admin.list_topics(internal=True) if topics else {}
                for topic in metadata.topics:
                    state = _topic_state(topic)
                    minimum = await _min_in_sync(admin, state)
                    self._tell(topic_findings(state, minimum, known))
                    await self._clocks(admin, state)
                for group_id in groups:
                    await self._group(admin, group_id)
        except KafkaError as error:
            meaning = "the client works up to here"
            advice = "correct what failed above first; then see the words of the error"
            self._tell([failed("requests", "cluster", str(error), meaning, advice)])

    async def _clocks(self, admin: AsyncAdmin, topic: TopicState) -> None:
        led = [TopicPartition(topic.name, p.partition) for p in topic.partitions if p.leader >= 0]
        try:
            found = await admin.list_offsets(dict.fromkeys(led, OffsetSpec.MAX_TIMESTAMP))
        except KafkaError:  # brokers before 3.0 do not know it, and others may refuse it
            return
        times = [at.timestamp for at in found.values() if at is not None and at.timestamp]
        self._tell(clock_findings(topic.name, max(times, default=None), self._clock.time_ms()))

    async def _group(self, admin: AsyncAdmin, group_id: str) -> None:
        try:
            described = (await admin.describe_consumer_groups([group_id]))[group_id]
            lags = await admin.lag(group_id)
        except KafkaError as error:
            if not await self._share_group(admin, group_id):
                self._tell(group_findings(group_id, error, {}))
        else:
            self._tell(group_findings(group_id, described, lags))

    async def _share_group(self, admin: AsyncAdmin, group_id: str) -> bool:
        """Return whether that is a share group; tell what was found out about it."""
        try:
            described = (await admin.describe_share_groups([group_id]))[group_id]
            offsets = await admin.list_share_group_offsets(group_id)
        except KafkaError:  # brokers before 4.1 have no share groups
            return False
        lags = {one: at for one, at in offsets.items() if at is not None}
        self._tell(group_findings(group_id, described, lags))
        return True

    def _tell(self, findings: Iterable[Finding]) -> None:
        """Print findings at once: a step may take long, and the user sees which one."""
        for finding in findings:
            self._statuses.append(finding.status)
            if wants_json():
                print_json(finding.form())
                continue
            word, colour = MARKS[finding.status]
            head, *notes = map(printable, finding.lines())
            click.echo(f"{click.style(f'{word:<7}', fg=colour, bold=True)}  {head}")
            for note in notes:
                click.echo(f"         {note}")


def _topic_state(topic: MetadataResponseTopic) -> TopicState:
    return TopicState(
        topic.name or "",
        topic.error_code,
        tuple(
            PartitionState(
                one.partition_index,
                one.leader_id,
                tuple(one.replica_nodes),
                tuple(one.isr_nodes),
            )
            for one in sorted(topic.partitions, key=lambda one: one.partition_index)
        ),
        topic.topic_authorized_operations,
    )


async def _min_in_sync(admin: AsyncAdmin, topic: TopicState) -> int | None:
    """Return ``min.insync.replicas`` of a topic, None if the client may not see it."""
    if topic.error_code:
        return None
    resource = ConfigResource.topic(topic.name)
    try:
        entries = (await admin.describe_configs([resource]))[resource]
        return int(entries["min.insync.replicas"].value or "")
    except (KafkaError, KeyError, ValueError):
        return None
