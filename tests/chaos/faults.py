"""What goes wrong with the nodes of a cluster, its clients, and the connections between them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from random import Random

from pyk.protocol import ApiKey

from .nodes import ChaosCluster, Node
from .processes import Processes

TRANSACTIONAL = ("writer", "stage")
LOST_RESPONSES = (
    *(ApiKey.PRODUCE,) * 4,
    *(ApiKey.OFFSET_COMMIT,) * 2,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.HEARTBEAT,
    *(ApiKey.INIT_PRODUCER_ID,) * 2,
    ApiKey.JOIN_GROUP,
    ApiKey.METADATA,
    ApiKey.OFFSET_FETCH,
    ApiKey.SYNC_GROUP,
    *(ApiKey.END_TXN,) * 4,
    *(ApiKey.TXN_OFFSET_COMMIT,) * 2,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    *(ApiKey.SHARE_ACKNOWLEDGE,) * 2,
    *(ApiKey.SHARE_FETCH,) * 2,
    ApiKey.SHARE_GROUP_HEARTBEAT,
)
LATE_REQUESTS = (
    *(ApiKey.PRODUCE,) * 2,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    *(ApiKey.TXN_OFFSET_COMMIT,) * 2,
    *(ApiKey.END_TXN,) * 3,
)
"""Not OffsetCommit: a late one of the same member takes offsets back, in Kafka as well. Not
InitProducerId: a late one aborts a transaction of which the history says that it is open."""


class Faults:
    """Let things go wrong at random; ``counts`` says how often, by kind."""

    def __init__(self, cluster: ChaosCluster, processes: Processes, random: Random) -> None:
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._processes = processes
        self._random = random
        self._version = 2
        self._repairs: list[tuple[float, Callable[[], None]]] = []
        """What is to be done, and when. A node that is down or stopped has one."""
        self._node_is_away = False

    def run(self, seconds: float) -> None:
        """Let things go wrong for so long, then repair all that is broken."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self._random.uniform(0.2, 3.0))
            self._repair(time.monotonic())
            self._replace_ended()
            self._pick()()
        self._cluster.to_lose.clear()
        self._cluster.to_delay.clear()
        self._repair(float("inf"))
        self._cluster.wait()
        self._replace_ended()

    def _pick(self) -> Callable[[], None]:
        faults = {
            self._lose_a_response: 8,
            self._delay_a_request: 4,
            self._kill_a_client: 4,
            self._stop_a_client: 3,
            self._disturb_a_node: 4,
            self._cut_connections: 1,
            self._switch_the_transaction_version: 2,
        }
        return self._random.choices(list(faults), list(faults.values()))[0]

    def _repair(self, now: float) -> None:
        due = [each for each in self._repairs if each[0] <= now]
        self._repairs = [each for each in self._repairs if each[0] > now]
        for _, repair in due:
            repair()

    def _later(self, seconds: float, repair: Callable[[], None]) -> None:
        self._repairs.append((time.monotonic() + seconds, repair))

    def _replace_ended(self) -> None:
        for job in self._processes.replace_ended():
            self.counts[f"{job.role} ended"] += 1

    # -- clients and connections -------------------------------------------------------------------

    def _lose_a_response(self) -> None:
        api = self._random.choice(LOST_RESPONSES)
        self.counts[f"response to {api.api_name} lost"] += 1
        self._cluster.to_lose.append(api)

    def _delay_a_request(self) -> None:
        """Let a request arrive late, perhaps when its client has gone on to something else."""
        api = self._random.choice(LATE_REQUESTS)
        self.counts[f"{api.api_name} late"] += 1
        self._cluster.to_delay[api] = self._random.choice((0.1, 1.0, 8.0))

    def _cut_connections(self) -> None:
        self.counts["connections cut"] += 1
        self._cluster.cut_connections()

    def _kill_a_client(self) -> None:
        job = self._processes.pick(self._random)
        self.counts[f"{job.role} killed"] += 1
        self._processes.kill(job)

    def _stop_a_client(self) -> None:
        """Stop a process for some seconds, so that its group goes on without it."""
        job = self._processes.pick(self._random)
        self.counts[f"{job.role} stopped"] += 1
        self._processes.stop(job)
        if job.role in TRANSACTIONAL and self._random.random() < 0.5:
            self.counts[f"{job.role} replaced while stopped"] += 1
            self._processes.start(job.slot)
        self._later(self._random.choice((1.0, 8.0, 15.0)), lambda: self._processes.go_on(job))

    # -- nodes -------------------------------------------------------------------------------------

    def _disturb_a_node(self) -> None:
        """Kill, end or stop one node, if all are there: a majority stays, and leaders move."""
        if self._node_is_away or not self._cluster.is_whole:
            return
        self._node_is_away = True
        node = self._random.choice(self._cluster.nodes)
        kind = self._random.choice(("killed", "ended", "stopped"))
        self.counts[f"node {kind}"] += 1
        match kind:
            case "killed":
                node.kill()
                self._later(self._random.choice((0.0, 3.0, 8.0)), lambda: self._launch(node))
            case "ended":
                node.shut_down()
                self._later(self._random.choice((0.0, 3.0)), lambda: self._launch(node))
            case "stopped":
                self._cluster.freeze(node)
                self._later(self._random.choice((1.0, 8.0)), lambda: self._thaw(node))

    def _launch(self, node: Node) -> None:
        node.launch()
        self._node_is_away = False

    def _thaw(self, node: Node) -> None:
        self._cluster.thaw(node)
        self._node_is_away = False

    def _switch_the_transaction_version(self) -> None:
        if self._node_is_away or not self._cluster.is_whole:
            return
        level = 3 - self._version
        if not self._cluster.finalize_transaction_version(level):
            self._version = level
            self.counts[f"transaction.version {level}"] += 1
