"""``pyk broker`` as its users see it."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from support.broker_process import COMMAND, BrokerProcess
from support.broker_requests import TOPIC, create_topic, produce_one
from support.raw_client import RawClient


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *options], capture_output=True, text=True, timeout=20, check=False
    )


def test_it_prints_only_the_ready_line_to_standard_output(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        host, _, port = broker.bootstrap.partition(":")
        with socket.create_connection((host, int(port)), timeout=5):
            pass

        assert broker.terminate() == (0, "", "")

    assert broker.ready == f"READY {broker.bootstrap}\n"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_and_the_end_of_its_terminal_stop_it_cleanly(
    tmp_path: Path, sent: signal.Signals
) -> None:
    with children_with(sent, signal.SIG_DFL), BrokerProcess(tmp_path) as broker:
        broker.process.send_signal(sent)
        _, err = broker.process.communicate(timeout=10)

    assert (broker.process.returncode, err) == (0, "")
    assert (tmp_path / "node0" / ".kafka_cleanshutdown").exists()


def test_with_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    with children_with(signal.SIGHUP, signal.SIG_IGN), BrokerProcess(tmp_path) as broker:
        broker.process.send_signal(signal.SIGHUP)
        host, _, port = broker.bootstrap.partition(":")

        socket.create_connection((host, int(port)), timeout=5).close()
        assert broker.terminate() == (0, "", "")


@contextlib.contextmanager
def children_with(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    """Start processes that inherit this; the tests themselves may run under nohup."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def test_the_ready_line_has_the_advertised_address(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, "--host", "0.0.0.0", "--advertise", "localhost") as broker:
        host, _, port = broker.bootstrap.partition(":")

        assert host == "localhost"
        socket.create_connection((host, int(port)), timeout=5).close()


def test_the_error_for_a_port_in_use_names_the_port() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        failed = run("--port", str(port))

    assert failed.returncode == 1
    assert failed.stdout == ""
    assert f"uses the port of 127.0.0.1:{port}" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_second_broker_cannot_use_the_same_data_directory(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path):
        failed = run("--port", "0", "--data-dir", str(tmp_path))

    assert failed.returncode == 1
    assert "another broker is using this directory" in failed.stderr


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--config", "num.partitons=3"], 2, "did you mean 'num.partitions'?"),
        (["--config", "foo=bar"], 2, "unknown broker configuration 'foo'"),
        (["--config", "num.partitions=many"], 2, "num.partitions='many'"),
        (["--config", "num.partitions"], 2, "must be NAME=VALUE, not 'num.partitions'"),
        (["--config", "=3"], 2, "must be NAME=VALUE, not '=3'"),
        (["--data-dir", ""], 2, "--data-dir: it must name a folder, not ''"),
        (["--data-dir", ","], 2, "--data-dir: it must name a folder, not ','"),
        (["--port", "65536"], 2, "65536 is not in the range 0<=x<=65535"),
        (["--brokers", "3"], 2, "this release runs clusters of one broker"),
        (["--advertise", "0.0.0.0"], 2, "clients cannot connect to '0.0.0.0'"),
        (["--config", "listeners=PLAINTEXT://:0"], 2, "listeners and port= (--port) were given"),
        (["--host", "256.0.0.1"], 1, "cannot listen on 256.0.0.1"),
    ],
)
def test_a_failed_start_is_explained_in_one_line(options: list[str], code: int, text: str) -> None:
    failed = run("--port", "0", *options)

    assert (failed.returncode, failed.stdout) == (code, "")
    assert text in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        ("> /dev/full", 1, "error: standard output: No space left on device\n"),
        (">&-", 1, "error: standard output or input is closed\n"),
        ("| true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_an_output_that_does_not_take_the_ready_line_ends_it(
    output: str, code: int, text: str
) -> None:
    program = f"{' '.join(COMMAND)} --port 0 {output}"

    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=20, check=False
    )

    assert (done.returncode, done.stderr) == (code, text)


def test_configuration_takes_effect(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, "--config", "num.partitions=3") as broker:
        assert broker.terminate()[0] == 0


def test_the_error_for_missing_click_says_what_to_install() -> None:
    program = "import sys; sys.modules['click'] = None; import pyk.command_line.main"

    failed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert failed.returncode == 1
    assert "pip install 'pyk-kafka[cli]'" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_the_broker_starts_without_optional_modules() -> None:
    program = (
        "import sys; from pyk.command_line.main import main; "
        "main.get_command(None, 'broker'); "
        "print(*sorted({'asyncio', 'ssl', 'difflib', 'encodings.idna', 'multiprocessing', "
        "'pyk.runtime.network.memory', 'pyk.protocol.messages.metadata_change_records', "
        "'pyk.reference_broker.handlers.partitioned', 'pyk.clients'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout.split() == ["asyncio"]


def test_without_a_data_directory_nothing_is_flushed_to_disk() -> None:
    program = (
        "import os, sys\n"
        "del os.fsync\n"
        "from pyk.command_line.main import main\n"
        "main(['broker', '--port', '0'], standalone_mode=False)\n"
        "costly = {'ssl', '_hashlib', 'bz2', 'lzma', 'concurrent.futures.thread'}\n"
        "print(*costly & set(sys.modules))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        process.terminate()
        rest = process.stdout.read()

    assert ready.startswith(b"READY ")
    assert (process.returncode, rest) == (0, b"\n")


async def test_it_exits_with_an_error_if_it_cannot_flush_everything(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        async with RawClient(broker.bootstrap) as client:
            await client.ask(create_topic())
            await produce_one(client, b"one")
        shutil.rmtree(tmp_path / "node0" / f"{TOPIC}-0")

        status, _, err = broker.terminate()

    assert status == 1
    assert "could be written" in err
    assert not (tmp_path / "node0" / ".kafka_cleanshutdown").exists()


def test_a_data_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "node0" / "meta.properties").mkdir(parents=True)

    failed = run("--port", "0", "--data-dir", str(tmp_path))

    assert failed.returncode == 1
    assert f"cannot use data directory {tmp_path / 'node0'}" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_broker_serves_tls_from_the_command_line(tmp_path: Path) -> None:
    authority = trustme.CA()
    path = tmp_path / "broker.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
    listeners = ["--config", "listeners=SSL://127.0.0.1:0"]
    context = ssl.create_default_context()
    authority.configure_trust(context)

    with BrokerProcess(
        tmp_path / "data", *listeners, "--config", f"ssl.keystore.location={path}", port=None
    ) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        with (
            socket.create_connection((host, int(port))) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            assert secured.version() == "TLSv1.3"
