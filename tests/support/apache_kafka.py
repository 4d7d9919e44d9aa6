"""A real Apache Kafka on loopback, from the jars of Maven Central. Needs Java 17 and Maven.

A node is broker and controller in one process; :class:`ApacheKafkaCluster` has several. Each has
two listeners for clients: the plain one, and one that is advertised at the port of a proxy, so that
a test can stand between client and broker.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom

VERSION = "4.3.1"
LAST_OF_3 = "3.9.2"
"""Has no version 2 of transactions (KIP-890)."""

JARS = Path(os.environ.get("APACHE_KAFKA_JARS", Path.home() / ".cache" / "apache-kafka"))
START_TIMEOUT = 180.0
SHUTDOWN_TIMEOUT = 20.0
PORTS = 12_000, 32_000

# For processes that live for seconds: most of their time is their start.
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

KAFKA_PARTS = ("org.apache.kafka:kafka_2.13", "org.apache.kafka:kafka-tools")
LOGGING = ("org.slf4j:slf4j-simple", "1.7.36")


def missing() -> str | None:
    """Return why Apache Kafka cannot run here, or None."""
    absent = [program for program in ("java", "mvn") if shutil.which(program) is None]
    return f"Apache Kafka needs {' and '.join(absent)}" if absent else None


def fetch(version: str = VERSION) -> Path:
    """Return the folder with the jars of that release, downloading them once."""
    folder = JARS / version
    if folder.exists():
        return folder
    with _one_process(), tempfile.TemporaryDirectory(dir=JARS) as work:
        Path(work, "pom.xml").write_text(_pom(version))
        copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
        done = subprocess.run(copy, check=False, cwd=work, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"Maven could not fetch Apache Kafka {version}:\n{done.stdout}")
        for other_binding in Path(work, "jars").glob("slf4j-reload4j-*.jar"):
            other_binding.unlink()
        with contextlib.suppress(OSError):  # another process was faster
            Path(work, "jars").rename(folder)
    return folder


def share_classes(version: str = VERSION) -> None:
    """Write the classes that a broker loads to a file, once, as Java keeps them in memory.

    With it a broker starts, and a tool runs, in some 60 % of the CPU time.
    """
    fetch(version)
    archive = _class_archive(version)
    if archive.exists():
        return
    with _one_process(), tempfile.TemporaryDirectory(dir=JARS) as work:
        if archive.exists():  # another process was faster
            return
        written = Path(work, archive.name)
        node = ApacheKafka(
            jvm_options=(*QUICK_START, f"-XX:ArchiveClassesAtExit={written}"),
            folder=_new_folder(Path(work, "node")),
            version=version,
        )
        try:
            node.format()
            node.start()
        finally:
            node.kill(signal.SIGTERM)  # it writes the file as its last step, which may take long
        with contextlib.suppress(FileNotFoundError):  # a Java that cannot: all starts take longer
            written.rename(archive)


def _class_archive(version: str) -> Path:
    return JARS / version / "classes.jsa"


@contextlib.contextmanager
def _one_process() -> Iterator[None]:
    """Let one process at a time fill the folder of jars; Maven's own folder two would damage."""
    JARS.mkdir(parents=True, exist_ok=True)
    with (JARS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def tool(
    main: str, *arguments: str, version: str = VERSION, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's command-line tools, named by its class, and return its output."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command(main, *arguments, jvm_options=QUICK_START, version=version),
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        **options,
    )


def new_cluster_id() -> str:
    # Behind an A: an id that begins with a dash would be taken for an option.
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


class ApacheKafka:
    """One node, started in :meth:`__enter__` on free ports, with its data in a temporary folder.

    A ``folder`` that is given is kept, with the logs of all its starts. ``controller_ports`` are
    those of all nodes of its cluster, of which it is number ``node_id``. A benchmark gives no
    ``jvm_options``: the default ones start quickly and run slowly. ``plugins`` is a folder with
    compiled classes that the configuration may name. With a dynamic quorum the metadata log names
    the voters, and ``format`` needs the option that says who they are.
    """

    def __init__(
        self,
        *,
        config: dict[str, str] | None = None,
        node_id: int = 0,
        controller_ports: Sequence[int] | None = None,
        cluster_id: str | None = None,
        jvm_options: Sequence[str] = QUICK_START,
        folder: Path | None = None,
        version: str = VERSION,
        plugins: Path | None = None,
        has_dynamic_quorum: bool = False,
    ) -> None:
        self._has_dynamic_quorum = has_dynamic_quorum
        self._jvm_options = jvm_options
        self._plugins = plugins
        self._version = version
        self._config = config or {}
        self._is_kept = folder is not None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="apache-kafka-"))
        self._port, self.proxied_port, self.proxy_port, own_port = free_ports(4)
        self._node_id = node_id
        self._controller_ports = controller_ports or [own_port]
        self._cluster_id = cluster_id or new_cluster_id()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def controller_port(self) -> int:
        """The port of the controller in this node."""
        return self._controller_ports[self._node_id]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _properties_file(self) -> Path:
        return self._folder / "server.properties"

    def data_folder(self) -> Path:
        return self._folder / "data"

    def __enter__(self) -> ApacheKafka:
        share_classes(self._version)
        try:
            self.format()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if not self._is_kept:
            shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the node and return when it says that it has started."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the node's process; it gets on only with most of the other nodes."""
        log = self._folder / "server.log"
        if self._is_kept and log.exists():
            log.rename(self._folder / f"server.{len(list(self._folder.glob('server.*.log')))}.log")
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command(
                    "kafka.Kafka", str(self._properties_file),
                    jvm_options=self._jvm_options, version=self._version, plugins=self._plugins,
                ),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def wait(self) -> None:
        """Return when the node says that it has started."""
        assert self._process is not None
        give_up_at = time.monotonic() + START_TIMEOUT
        while time.monotonic() < give_up_at and self._process.poll() is None:
            if self.has_started:
                return
            time.sleep(0.05)
        raise RuntimeError(f"Apache Kafka did not start:\n{self._log[-4000:]}")

    @property
    def has_started(self) -> bool:
        """Whether the node runs, and has said since its last launch that it has started."""
        if self._process is None or self._process.poll() is not None:
            return False
        return "Kafka Server started" in self._log

    @property
    def _log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal and wait for the end of the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait()

    def shut_down(self) -> None:
        """Let the node hand over what it leads, and end; kill it if that takes too long."""
        assert self._process is not None
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SHUTDOWN_TIMEOUT)
        self.kill()

    def _properties(self) -> dict[str, str]:
        clients = f"PLAINTEXT://127.0.0.1:{self._port}"
        controllers = [f"127.0.0.1:{port}" for port in self._controller_ports]
        replicas = str(min(3, len(controllers)))
        in_sync = str(min_insync_replicas(len(controllers)))
        return {
            "process.roles": "broker,controller",
            "node.id": str(self._node_id),
            **self._quorum(controllers),
            "listeners": f"{clients},PROXIED://127.0.0.1:{self.proxied_port},"
            f"CONTROLLER://{controllers[self._node_id]}",
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "advertised.listeners": f"{clients},PROXIED://127.0.0.1:{self.proxy_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.data_folder()),
            "offsets.topic.replication.factor": replicas,
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.num.partitions": "5",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.num.partitions": "5",
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "group.initial.rebalance.delay.ms": "0",
            # Minutes after a test has killed a node, leaders and coordinators would go back to it
            # in the middle of another test, which may ask the coordinator it once found.
            "auto.leader.rebalance.enable": "false",
            # With the topics of all tests the heap of 512 MB would not be enough: by default 1,000
            # answered requests are kept with all their partitions, and the cleaner takes 128 MB.
            "fetch.purgatory.purge.interval.requests": "20",
            "log.cleaner.dedupe.buffer.size": str(8 << 20),
        } | self._config

    def _quorum(self, controllers: Sequence[str]) -> dict[str, str]:
        if self._has_dynamic_quorum:
            return {"controller.quorum.bootstrap.servers": ",".join(controllers)}
        voters = (f"{node_id}@{address}" for node_id, address in enumerate(controllers))
        return {"controller.quorum.voters": ",".join(voters)}

    def write_properties(self) -> None:
        """Write the node's configuration."""
        properties = self._properties().items()
        self._properties_file.write_text("".join(f"{k}={v}\n" for k, v in properties))

    def format(self, *options: str) -> None:
        """Write the node's configuration, and prepare its data folder."""
        self.write_properties()
        file = str(self._properties_file)
        arguments = ("format", "-t", self._cluster_id, "-c", file, *options)
        done = tool("kafka.tools.StorageTool", *arguments, version=self._version)
        if done.returncode:
            raise RuntimeError(f"formatting the storage failed:\n{done.stdout}{done.stderr}")


class ApacheKafkaCluster:
    """Several nodes, started in :meth:`__enter__`; every topic has up to three replicas.

    With a ``folder`` their data and logs are kept there. With racks, node 0 is in ``rack-0``,
    and so on.
    """

    def __init__(
        self,
        nodes: int = 3,
        *,
        config: dict[str, str] | None = None,
        folder: Path | None = None,
        has_racks: bool = False,
    ) -> None:
        ports, cluster_id = free_ports(nodes), new_cluster_id()
        self.nodes = [
            ApacheKafka(
                config={
                    **(config or {}),
                    **({"broker.rack": f"rack-{number}"} if has_racks else {}),
                },
                node_id=number,
                controller_ports=ports,
                cluster_id=cluster_id,
                folder=None if folder is None else _new_folder(folder / f"node{number}"),
            )
            for number in range(nodes)
        ]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)

    @property
    def min_insync_replicas(self) -> int:
        return min_insync_replicas(len(self.nodes))

    def __enter__(self) -> ApacheKafkaCluster:
        share_classes()
        try:
            with ThreadPoolExecutor() as threads:
                list(threads.map(ApacheKafka.format, self.nodes))
            for node in self.nodes:
                node.launch()
            for node in self.nodes:
                node.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.__exit__()


def _new_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def min_insync_replicas(nodes: int) -> int:
    """Return ``min.insync.replicas``: one node of three may fail."""
    return min(2, nodes)


def free_ports(count: int) -> list[int]:
    """Return ports that are free and differ: all are held until the last is found.

    No system gives them to outgoing connections, which could take the port of a node that is down.
    Each process of a test run has a range of its own.
    """
    random = SystemRandom()
    ports_of_process = _ports_of_process()
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                port = random.choice(ports_of_process)
                probe.bind(("127.0.0.1", port))
                ports.append(port)
    return ports


def _ports_of_process() -> range:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return range(PORTS[0] + worker, PORTS[1], workers)


def fetch_streams(version: str = VERSION) -> Path:
    """Return the jar of Kafka Streams, downloaded once: it needs no other for stores in memory."""
    jar = JARS / "streams" / f"kafka-streams-{version}.jar"
    if not jar.exists():
        artifact = f"-Dartifact=org.apache.kafka:kafka-streams:{version}"
        copy = ["mvn", "-q", "-B", "dependency:copy", artifact, f"-DoutputDirectory={jar.parent}"]
        with _one_process():
            done = subprocess.run(copy, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    return jar


def compile_java(source: Path, folder: Path, *jars: Path) -> None:
    """Compile a class that uses Kafka's own, and what is in ``jars``, into a folder."""
    class_path = ":".join((f"{fetch()}/*", *map(str, jars)))
    done = subprocess.run(
        ["javac", "-nowarn", "-cp", class_path, "-d", str(folder), str(source)],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def command(
    main: str,
    *arguments: str,
    jvm_options: Sequence[str] = (),
    version: str = VERSION,
    plugins: Path | None = None,
) -> list[str]:
    level = "info" if main == "kafka.Kafka" else "warn"
    quiet = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}"
    class_path = f"{fetch(version)}/*" if plugins is None else f"{fetch(version)}/*:{plugins}"
    archive = _class_archive(version)
    if archive.exists():
        jvm_options = (f"-XX:SharedArchiveFile={archive}", *jvm_options)
    return ["java", "-Xmx512m", *jvm_options, quiet, "-cp", class_path, main, *arguments]


def _pom(version: str) -> str:
    parts = (*((name, version) for name in KAFKA_PARTS), LOGGING)
    dependencies = "".join(_dependency(*name.split(":"), of_part) for name, of_part in parts)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>local</groupId><artifactId>kafka</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def _dependency(group: str, artifact: str, version: str) -> str:
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )
