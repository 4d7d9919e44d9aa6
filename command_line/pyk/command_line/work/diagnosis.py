"""Look at a cluster as a client does, step by step, and tell what is found."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from pyk.clients import AsyncAdmin, Node
from pyk.clients.config import AdminConfig
from pyk.clients.engine.connection import NEVER, Connection, new_pending
from pyk.clients.engine.dialer import SILENCE, Dialer, Progress
from pyk.clients.engine.metadata_source import CUT_OFF
from pyk.clients.errors import (
    ClosedError,
    KafkaError,
    NodeDisconnectedError,
    NodeUnavailableError,
    Stage,
)
from pyk.command_line.checks.cluster_state import controller_findings, version_findings
from pyk.command_line.checks.connections import (
    Identity,
    Reached,
    Unreached,
    advertised_findings,
    connection_findings,
    identity_findings,
)
from pyk.command_line.checks.finding import Finding, Status, failed, ok
from pyk.command_line.frame.connecting import options_for
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.output import print_json, wants_json
from pyk.command_line.text import printable
from pyk.command_line.work.cluster_diagnosis import OFFSETS_TOPIC, ClusterDiagnosis
from pyk.command_line.work.interruptible import run_async
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from pyk.protocol.schema import Message
from pyk.protocol.versions import ALL_VERSIONS
from pyk.runtime import slotted
from pyk.runtime.current_host import current_host
from pyk.runtime.network.system import SystemNetwork
from pyk.runtime.system_clock import SystemClock

FIRST_VERSION_OF_OPERATIONS = 8
BROKER_RESOURCE = 4
BOOTSTRAP = ("bootstrap.servers", "bootstrap_servers")
Tell = Callable[[Finding], object]
MARKS = {Status.OK: ("ok", "green"), Status.WARNING: ("warning", "yellow"),
         Status.FAILED: ("failed", "red")}  # fmt: skip


def diagnose(topics: Sequence[str], groups: Sequence[str], timeout: float) -> ExitCode:
    """Print what is found out; return the exit code."""
    diagnosis = Diagnosis(options_for(AdminConfig), timeout, _print)
    run_async(diagnosis.run(topics, groups))
    return diagnosis.exit_code


def _print(finding: Finding) -> None:
    """Print a finding at once: the next step may take long, and the user sees which one."""
    if wants_json():
        print_json(finding.form())
        return
    word, colour = MARKS[finding.status]
    head, *notes = map(printable, finding.lines())
    click.echo(f"{click.style(f'{word:<7}', fg=colour, bold=True)}  {head}")
    for note in notes:
        click.echo(f"         {note}")


class Diagnosis:
    """One run of the doctor: ``tell`` gets each finding."""

    def __init__(self, options: Mapping[str, object], timeout: float, tell: Tell) -> None:
        host = current_host()
        self._config, self._options = AdminConfig.from_properties(options), options
        self._timeout = timeout
        self._clock = SystemClock() if host is None else host.clock
        self._network = SystemNetwork() if host is None else host.network
        self._dialer = Dialer(self._config, self._clock, self._network, random.Random())  # noqa: S311
        self._to = tell
        self._statuses: list[Status] = []
        self._has_reached_a_broker = False
        self._cluster_id: str | None = None
        self._reached = Node(-1, "", 0)
        """The first server that answered, which is asked for all else."""

    @property
    def exit_code(self) -> ExitCode:
        if not self._has_reached_a_broker:
            return ExitCode.UNREACHABLE
        return ExitCode.FAILED if Status.FAILED in self._statuses else ExitCode.DONE

    async def run(self, topics: Sequence[str], groups: Sequence[str]) -> None:
        """Check all that can be checked."""
        metadata: MetadataResponse | None = None
        for server in self._config.bootstrap_servers:
            connection = await self._reach(Node(-1, server.host, server.port))
            if connection is None:
                continue
            try:
                if metadata is None:
                    self._tell(version_findings(str(connection.node), connection.versions.apis))
                    metadata = await self._metadata(connection, topics, has_groups=bool(groups))
                else:
                    await self._identify(connection)
            finally:
                _close(connection)
        if metadata is not None:
            await self._brokers(metadata)
            await self._by_admin(metadata, topics, groups)

    async def _reach(self, node: Node, *, is_advertised: bool = False) -> Connection | None:
        """Connect to one server, and tell how far it came."""
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
            credentials = self._config.credentials()
            outcome = Reached(
                server,
                progress.address or server,
                (self._clock.now() - began) * 1000,
                progress.is_encrypted,
                None if credentials is None else credentials.mechanism,
                tuple(progress.failures),
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
        self, connection: Connection, topics: Sequence[str], *, has_groups: bool
    ) -> MetadataResponse | None:
        version = connection.versions.version_for(ApiKey.METADATA)
        asked = [*topics, OFFSETS_TOPIC] if has_groups else topics
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in asked],
            allow_auto_topic_creation=False,
        )
        if version >= FIRST_VERSION_OF_OPERATIONS:
            request.include_topic_authorized_operations = True
        try:
            response: MetadataResponse = await self._ask(connection, request)
        except (KafkaError, TimeoutError) as error:
            cause = str(error) or f"no answer within {self._timeout:.3g} s"
            meaning = "the broker accepts the client, and does not say who leads which partition"
            uses_sasl = self._config.uses_sasl
            is_cut_off = isinstance(error, NodeDisconnectedError) and not uses_sasl
            advice = CUT_OFF if is_cut_off else SILENCE[Stage.METADATA]
            self._tell([failed(Stage.METADATA.value, str(connection.node), cause, meaning, advice)])
            return None
        self._cluster_id, self._reached = response.cluster_id, connection.node
        return response

    async def _ask(self, connection: Connection, request: Message) -> Any:
        """Return the response to a request; raise ``TimeoutError`` if it takes too long."""
        version = connection.versions.version_for(ApiKey(request.api_key))
        response: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        pending = new_pending(request, response, ALL_VERSIONS, 0.0, NEVER)
        connection.write(pending, version, self._clock.now())
        async with asyncio.timeout(self._timeout):
            return await response

    async def _identify(self, connection: Connection, node: Node | None = None) -> None:
        """Ask a server for its cluster, and whether it is the broker that it is taken for."""
        try:
            metadata = await self._ask(connection, MetadataRequest(topics=[]))
            identity = Identity(metadata.cluster_id)
            if node is not None:
                me = DescribeConfigsResource(
                    resource_type=BROKER_RESOURCE,
                    resource_name=str(node.node_id),
                    configuration_keys=["node.id"],
                )
                configs = await self._ask(connection, DescribeConfigsRequest(resources=[me]))
                is_another = configs.results[0].error_code == ErrorCode.INVALID_REQUEST
                identity = slotted.evolve(identity, is_the_broker=not is_another)
        except (KafkaError, TimeoutError):  # what was told of the first server, for this one too
            return
        self._tell(identity_findings(str(connection.node), identity, self._cluster_id, node))

    async def _brokers(self, metadata: MetadataResponse) -> None:
        """Check what brokers advertise, each address."""
        nodes = [Node(one.node_id, one.host, one.port) for one in metadata.brokers]
        nodes.sort(key=lambda node: node.node_id)
        named = ", ".join(f"{node.node_id} ({node.address})" for node in nodes)
        self._tell([ok(Stage.METADATA.value, "cluster", f"brokers {named}")])
        self._tell(controller_findings(metadata.controller_id, {node.node_id for node in nodes}))
        self._tell(advertised_findings(self._reached.host, nodes))
        known = {str(server) for server in self._config.bootstrap_servers}
        for node in nodes:
            if node.address in known:
                continue
            connection = await self._reach(slotted.evolve(node, node_id=-1), is_advertised=True)
            if connection is not None:
                try:
                    await self._identify(connection, node)
                finally:
                    _close(connection)

    async def _by_admin(
        self, metadata: MetadataResponse, topics: Sequence[str], groups: Sequence[str]
    ) -> None:
        """Check the controller, topics and groups by an admin client."""
        options = {
            **{name: value for name, value in self._options.items() if name not in BOOTSTRAP},
            "bootstrap_servers": self._reached.address,
            "default_api_timeout_ms": round(self._timeout * 1000),
        }
        try:
            async with AsyncAdmin.from_properties(options) as admin:
                cluster = ClusterDiagnosis(admin, self._clock, self._timeout, self._tell)
                await cluster.run(metadata, topics, groups)
        except KafkaError as error:
            meaning = "the client works up to here"
            advice = "correct what failed above first; then see the words of the error"
            self._tell([failed("requests", "cluster", str(error), meaning, advice)])

    def _tell(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self._statuses.append(finding.status)
            self._to(finding)


def _close(connection: Connection) -> None:
    connection.abort(ClosedError("the doctor is done"))
