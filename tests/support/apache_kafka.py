"""A real Apache Kafka on loopback, from the jars of Maven Central. Needs Java 17 and Maven.

One node, broker and controller in one process. It has two listeners for clients: the plain one, and
one that is advertised at the port of a proxy, so that a test can stand between client and broker.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

VERSION = "4.3.1"
JARS = Path(os.environ.get("APACHE_KAFKA_JARS", Path.home() / ".cache" / "apache-kafka"))
START_TIMEOUT = 90.0

DEPENDENCIES = (
    ("org.apache.kafka:kafka_2.13", VERSION),
    ("org.apache.kafka:kafka-tools", VERSION),
    ("org.slf4j:slf4j-simple", "1.7.36"),
)


def missing() -> str | None:
    """Return why Apache Kafka cannot run here, or None."""
    absent = [program for program in ("java", "mvn") if shutil.which(program) is None]
    return f"Apache Kafka needs {' and '.join(absent)}" if absent else None


def fetch(version: str = VERSION) -> Path:
    """Return the folder with the jars of that release, downloading them once."""
    folder = JARS / version
    if folder.exists():
        return folder
    JARS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=JARS) as work:
        Path(work, "pom.xml").write_text(_pom())
        copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
        done = subprocess.run(copy, check=False, cwd=work, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"Maven could not fetch Apache Kafka {version}:\n{done.stdout}")
        for other_binding in Path(work, "jars").glob("slf4j-reload4j-*.jar"):
            other_binding.unlink()
        with contextlib.suppress(OSError):  # another process was faster
            Path(work, "jars").rename(folder)
    return folder


def tool(main: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's command-line tools, named by its class, and return what it printed."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command(main, *arguments),
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        **options,
    )


class ApacheKafka:
    """One node, started in :meth:`__enter__` on free ports, with its data in a temporary folder."""

    def __init__(self, *, config: dict[str, str] | None = None) -> None:
        self._config = config or {}
        self._folder = Path(tempfile.mkdtemp(prefix="apache-kafka-"))
        self._port, self._controller_port, self.proxied_port, self.proxy_port = free_ports(4)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def data_folder(self) -> Path:
        return self._folder / "data"

    def __enter__(self) -> ApacheKafka:
        try:
            self._format()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the node and return when it says that it has started."""
        log = self._folder / "server.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command("kafka.Kafka", str(self._folder / "server.properties")),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        give_up_at = time.monotonic() + START_TIMEOUT
        while time.monotonic() < give_up_at and self._process.poll() is None:
            if "Kafka Server started" in log.read_text(errors="replace"):
                return
            time.sleep(0.05)
        raise RuntimeError(
            f"Apache Kafka did not start:\n{log.read_text(errors='replace')[-4000:]}"
        )

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal and wait for the end of the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait()

    def _properties(self) -> dict[str, str]:
        clients = f"PLAINTEXT://127.0.0.1:{self._port}"
        return {
            "process.roles": "broker,controller",
            "node.id": "0",
            "controller.quorum.voters": f"0@127.0.0.1:{self._controller_port}",
            "listeners": f"{clients},PROXIED://127.0.0.1:{self.proxied_port},"
            f"CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"{clients},PROXIED://127.0.0.1:{self.proxy_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.data_folder()),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        } | self._config

    def _format(self) -> None:
        file = self._folder / "server.properties"
        file.write_text("".join(f"{k}={v}\n" for k, v in self._properties().items()))
        # Behind an A: an id that begins with a dash would be taken for an option.
        cluster_id = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        done = tool("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(file))
        if done.returncode:
            raise RuntimeError(f"formatting the storage failed:\n{done.stdout}{done.stderr}")


def free_ports(count: int) -> list[int]:
    """Return ports that are free and differ: all are held until the last is found."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def command(main: str, *arguments: str) -> list[str]:
    level = "info" if main == "kafka.Kafka" else "warn"
    quiet = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}"
    return ["java", "-Xmx512m", quiet, "-cp", f"{fetch()}/*", main, *arguments]


def _pom() -> str:
    dependencies = "".join(_dependency(*name.split(":"), version) for name, version in DEPENDENCIES)
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
