"""The engine on real sockets: peers other than brokers, outages, leaks, signals."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
import trustme

from pyk.clients import Admin, AsyncAdmin, BootstrapError, NewTopic
from pyk.reference_broker import Cluster
from support.real_time import IN_TIME, left_open_by


def refused(port: int) -> tuple[str, float]:
    """Return the error for a port without a broker, and the seconds until it was raised."""
    began = time.monotonic()
    with pytest.raises(BootstrapError) as raised:
        Admin(f"127.0.0.1:{port}").__enter__()
    return str(raised.value), time.monotonic() - began


def test_the_error_for_a_web_server_says_that_it_is_one() -> None:
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            text, seconds = refused(server.server_port)
        finally:
            server.shutdown()
            serving.join()

    assert "it speaks HTTP: this is a web server, not a Kafka broker" in text
    assert seconds < IN_TIME


def test_the_error_for_a_tls_listener_suggests_tls() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            accepted, _ = server.accept()
            with accepted, contextlib.suppress(OSError):
                context.wrap_socket(accepted, server_side=True).close()

        serving = threading.Thread(target=serve)
        serving.start()
        text, seconds = refused(server.getsockname()[1])
        serving.join()

    assert "TLS" in text
    assert seconds < IN_TIME


def test_the_error_for_a_port_without_a_listener_names_the_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    text, seconds = refused(port)

    assert f"127.0.0.1:{port}: TCP: connection refused" in text
    assert seconds < IN_TIME


def test_the_client_works_again_when_its_broker_is_back(tmp_path: Path) -> None:
    with Cluster(data_dir=tmp_path) as cluster, Admin(cluster.bootstrap) as admin:
        admin.create_topics([NewTopic("orders")])

        cluster.kill(0)
        cluster.start(0)

        assert set(admin.list_topics(timeout=10)) == {"orders"}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_closed_clients_leave_no_socket_or_thread(cluster: Cluster) -> None:
    def use() -> None:
        with Admin(cluster.bootstrap) as admin:
            admin.list_groups()

    assert left_open_by(use, times=50) == (0, 0)


def test_closed_asyncio_clients_leave_no_task(cluster: Cluster) -> None:
    async def main() -> None:
        for _ in range(50):
            async with AsyncAdmin(cluster.bootstrap) as admin:
                await admin.list_groups()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main(), debug=True)


def run_program(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_interrupts_a_blocking_call_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        program = run_program(
            """
            import sys, threading
            from pyk.clients import Admin
            admin = Admin(sys.argv[1])
            threading.Timer(0, print, ["calling"], {"flush": True}).start()
            try:
                admin.list_topics()
            except KeyboardInterrupt:
                admin.close()
                print("interrupted")
            """,
            f"127.0.0.1:{silent.getsockname()[1]}",
        )
        assert program.stdout is not None
        with silent.accept()[0]:  # the call is in progress
            program.stdout.readline()
            program.send_signal(signal.SIGINT)
            began = time.monotonic()
            out, err = program.communicate(timeout=10)

    assert out == "interrupted\n"
    assert "Traceback" not in err  # on a loaded machine asyncio may log that it was slow
    assert time.monotonic() - began < IN_TIME


def test_a_program_that_does_not_close_its_client_exits(cluster: Cluster) -> None:
    program = run_program(
        """
        import sys
        from pyk.clients import Admin
        admin = Admin(sys.argv[1])
        print(len(admin.describe_cluster().nodes))
        """,
        cluster.bootstrap,
    )

    out, _ = program.communicate(timeout=10)

    assert (out, program.returncode) == ("1\n", 0)
