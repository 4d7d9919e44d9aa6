"""The fixtures, marks and settings that pytest users get."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.pytest_sessions import passed, run

RECORDS = """
from pyk.clients import Admin, AsyncAdmin, AsyncProducer, Producer


def test_records(kafka, kafka_topic):
    with Producer(**kafka.client_options()) as producer:
        assert producer.send_and_wait(kafka_topic, b"one").offset == 0


def test_others(kafka, kafka_topic):
    with Admin(**kafka.client_options()) as admin:
        assert len(admin.list_topics()) == 2  # the cluster is that of the session
"""
ASYNC = """
import asyncio

from pyk.clients import AsyncAdmin, AsyncProducer


async def check(kafka, kafka_topic, async_kafka):
    async with AsyncProducer(**kafka.client_options()) as producer:
        assert (await producer.send_and_wait(kafka_topic, b"one")).offset == 0
    async with async_kafka, AsyncAdmin(**async_kafka.client_options()) as admin:
        assert await admin.list_topics() == {}
"""
HOURS = """
import asyncio

import pytest

from pyk.clients import AsyncProducer


@pytest.mark.virtual_time
async def test_hours(async_kafka, kafka_world):
    async with async_kafka as cluster, AsyncProducer(cluster.bootstrap) as producer:
        await asyncio.sleep(3600)
        await producer.send_and_wait("orders", b"one")
        assert kafka_world.clock.now() >= 3600
"""


def test_a_test_gets_a_cluster_and_a_topic(tmp_path: Path) -> None:
    passed(tmp_path, 2, test_shop=RECORDS)


def test_options_of_a_project_are_those_of_its_cluster(tmp_path: Path) -> None:
    options = """
import pytest


@pytest.fixture(scope="session")
def kafka_options():
    return {"tls": True, "sasl": {"alice": "secret"}}
"""

    passed(tmp_path, 2, conftest=options, test_shop=RECORDS)


@pytest.mark.parametrize("security", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "sasl_ssl"])
def test_security_is_a_setting(tmp_path: Path, security: str) -> None:
    checks = f"""
def test_protocol(kafka):
    options = kafka.client_options()
    assert options.get("security_protocol", "PLAINTEXT") == {security.upper()!r}
"""

    passed(tmp_path, 3, f"--kafka-security={security}", test_shop=RECORDS, test_protocol=checks)


def test_configuration_of_the_project_and_of_the_command_line_count_both(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nkafka_config =\n    num.partitions=3\n")
    checks = """
from pyk.clients import Admin


def test_config(kafka):
    kafka.create_topic("orders", partitions=-1)
    with Admin(**kafka.client_options()) as admin:
        assert len(admin.describe_topics(["orders"])["orders"].partitions) == 3
        assert "missing" not in admin.list_topics()
    assert kafka.records("orders") == []
"""

    passed(tmp_path, 1, "--kafka-config", "auto.create.topics.enable=false", test_configured=checks)


def test_a_release_to_pretend_holds_in_each_test(tmp_path: Path) -> None:
    checks = """
import pytest

from pyk.clients import Producer


@pytest.mark.parametrize("time", [1, 2])
def test_versions(kafka, kafka_topic, time):
    with Producer(**kafka.client_options(), client_id=f"shop-{time}") as producer:
        producer.send_and_wait(kafka_topic, b"one")
    assert {each.version for each in kafka.requests("Produce")} == {7}
    kafka.faults.clear()
"""

    passed(tmp_path, 2, "--kafka-pretend=2.1", test_old=checks)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("--kafka-security=TLS", "kafka_security must be one of PLAINTEXT, SSL, "),
        ("--kafka-log-level=loud", "kafka_log_level must be one of DEBUG, INFO, "),
        ("--kafka-config=num.partitions", "kafka_config must be NAME=VALUE, not 'num.partitions'"),
        ("--kafka-pretend=1.0", "kafka_pretend must be one of 2.1, 2.2, "),
        ("--kafka-seed=x", "kafka_seed must be an int, not 'x'"),
    ],
)
def test_a_wrong_setting_ends_the_session_before_its_tests(
    tmp_path: Path, setting: str, words: str
) -> None:
    status, output = run(tmp_path, setting, test_shop=RECORDS)

    assert status == pytest.ExitCode.USAGE_ERROR
    assert words in output


@pytest.mark.parametrize("where", ["app.py", "app.py/sub"])
def test_a_folder_for_data_that_cannot_be_made_is_named(tmp_path: Path, where: str) -> None:
    (tmp_path / "app.py").write_text("")

    status, output = run(tmp_path, f"--kafka-data-dir={tmp_path / where}", test_shop=RECORDS)

    assert status == pytest.ExitCode.TESTS_FAILED
    assert f"kafka_data_dir: cannot make the folder '{tmp_path / where}': " in output


def test_a_topic_is_as_its_mark_says_and_a_factory_makes_several(tmp_path: Path) -> None:
    checks = """
import pytest

from pyk.clients import Admin


@pytest.mark.kafka_topic(partitions=3)
def test_topics(kafka, kafka_topic, kafka_topic_factory):
    other, third = kafka_topic_factory(), kafka_topic_factory(2)
    with Admin(**kafka.client_options()) as admin:
        described = admin.describe_topics([kafka_topic, other, third])
    assert [len(one.partitions) for one in described.values()] == [3, 1, 2]
"""

    passed(tmp_path, 1, test_topics=checks)


def test_a_test_begins_with_a_cluster_that_works_whatever_the_last_one_did(tmp_path: Path) -> None:
    checks = """
from pyk.clients import Producer


def test_breaks_everything(kafka, kafka_topic):
    kafka.faults.on("Produce").close()
    kafka.faults.pause()
    kafka.disk.full()
    kafka.skew_clock(-3600)
    kafka.kill()


def test_works(kafka, kafka_topic):
    with Producer(**kafka.client_options()) as producer:
        assert producer.send_and_wait(kafka_topic, b"one").offset == 0
"""

    passed(tmp_path, 2, test_faults=checks)


ASYNCIO_TESTS = (
    ASYNC
    + """

async def test_it(kafka, kafka_topic, async_kafka):
    await check(kafka, kafka_topic, async_kafka)
"""
)
ANYIO_TESTS = (
    ASYNC
    + """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_it(kafka, kafka_topic, async_kafka):
    await check(kafka, kafka_topic, async_kafka)
"""
)
PLAIN_TESTS = (
    ASYNC
    + """
def test_it(kafka, kafka_topic, async_kafka):
    asyncio.run(check(kafka, kafka_topic, async_kafka))
"""
)
NO_ASYNCIO, NO_ANYIO = ("-p", "no:asyncio"), ("-p", "no:anyio")


@pytest.mark.parametrize(
    ("tests", "arguments"),
    [
        (ASYNCIO_TESTS, ("-o", "asyncio_mode=auto")),
        (ANYIO_TESTS, NO_ASYNCIO),
        (PLAIN_TESTS, NO_ASYNCIO + NO_ANYIO),
    ],
    ids=["pytest-asyncio", "anyio", "neither"],
)
def test_asyncio_tests_get_clusters_with_any_plugin_or_none(
    tmp_path: Path, tests: str, arguments: tuple[str, ...]
) -> None:
    passed(tmp_path, 1, *arguments, test_async=tests)


@pytest.mark.parametrize(
    "arguments",
    [("-o", "asyncio_mode=auto"), ("-o", "asyncio_mode=strict"), NO_ASYNCIO + NO_ANYIO],
    ids=["auto", "strict", "no plugin"],
)
def test_a_marked_test_runs_in_virtual_time(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    passed(tmp_path, 1, *arguments, test_hours=HOURS)


def test_marks_of_classes_and_parameters_work_in_virtual_time(tmp_path: Path) -> None:
    checks = """
import asyncio

import pytest


@pytest.mark.virtual_time(7, latency=0.001)
class TestHours:
    hours = 2

    @pytest.mark.parametrize("minutes", [30, 60])
    async def test_minutes(self, kafka_world, minutes, tmp_path):
        assert (kafka_world.seed, self.hours) == (7, 2)
        await asyncio.sleep(60 * minutes)
        assert kafka_world.clock.now() == 60 * minutes
"""

    passed(tmp_path, 2, test_hours=checks)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (
            "@pytest.mark.virtual_time\ndef test_it(): pass",
            "virtual_time is for async tests: write async def test_it",
        ),
        ("def test_it(kafka_world): pass", "is for async tests marked @pytest.mark.virtual_time"),
        (
            "@pytest.mark.virtual_time\nasync def test_it(kafka): pass",
            "kafka runs in real time, on sockets: a test in virtual time uses async_kafka",
        ),
        (
            "@pytest.mark.virtual_time(sead=1)\nasync def test_it(): pass",
            "@pytest.mark.virtual_time has no argument 'sead' (did you mean 'seed'?)",
        ),
        (
            "@pytest.mark.virtual_time('7')\nasync def test_it(): pass",
            "@pytest.mark.virtual_time: seed must be an int, not '7'",
        ),
        (
            "@pytest.mark.virtual_time(1, 2)\nasync def test_it(): pass",
            "@pytest.mark.virtual_time: World.__init__() takes from 1 to 2 positional arguments",
        ),
        (
            "@pytest.mark.kafka_topic(partition=3)\ndef test_it(kafka_topic): pass",
            "@pytest.mark.kafka_topic has no argument 'partition' (did you mean 'partitions'?), ",
        ),
        (
            "@pytest.mark.kafka_topic(name='orders')\ndef test_it(kafka_topic): pass",
            "@pytest.mark.kafka_topic has no argument 'name', only partitions, replication_factor",
        ),
        (
            "@pytest.mark.kafka_topic('orders')\ndef test_it(kafka_topic): pass",
            "@pytest.mark.kafka_topic: partitions must be an int, not 'orders'",
        ),
        (
            "@pytest.mark.kafka_topic(configs={'retention': 1})\ndef test_it(kafka_topic): pass",
            "@pytest.mark.kafka_topic: INVALID_CONFIG: unknown topic configuration 'retention'",
        ),
        (
            "def test_it(kafka): kafka.close()\ndef test_next(kafka): pass",
            "a test before this one closed the cluster of the session: end a node with stop()",
        ),
    ],
)
def test_what_is_wrong_with_a_mark_is_told(tmp_path: Path, test: str, words: str) -> None:
    status, output = run(tmp_path, test_marks=f"import pytest\n\n{test}\n")

    assert status == pytest.ExitCode.TESTS_FAILED, output
    assert words in output


def test_a_cluster_that_a_test_asks_for_while_it_runs_has_no_faults_of_others(
    tmp_path: Path,
) -> None:
    checks = """
def test_faults(kafka):
    kafka.faults.on("Produce").close()
    kafka.kill(0)

def test_after(request):
    kafka = request.getfixturevalue("kafka")
    kafka.seed({"orders": ["one"]})
    assert len(kafka.records("orders")) == 1
"""
    passed(tmp_path, 2, test_faults=checks)


def test_a_closed_cluster_fails_only_the_tests_that_use_it(tmp_path: Path) -> None:
    closing = (
        "def test_it(kafka): kafka.close()\ndef test_other(): pass\ndef test_next(kafka): pass\n"
    )

    status, output = run(tmp_path, test_closing=closing)

    assert status == pytest.ExitCode.TESTS_FAILED, output
    assert "2 passed, 1 error" in output


def test_a_failed_test_shows_the_requests_and_the_seed(tmp_path: Path) -> None:
    checks = """
import asyncio

import pytest

from pyk.clients import Producer


def test_real(kafka, kafka_topic):
    with Producer(**kafka.client_options(), client_id="shop") as producer:
        producer.send_and_wait(kafka_topic, b"one")
    assert 0


@pytest.mark.virtual_time
async def test_virtual():
    await asyncio.sleep(60)
    assert 0
"""

    status, output = run(tmp_path, "--kafka-seed=12", test_failing=checks)

    assert status == pytest.ExitCode.TESTS_FAILED
    assert "requests during this test" in output
    assert "of 'shop'" in output
    assert "virtual time: seed=12, 60.000 s have passed" in output


@pytest.mark.parametrize(("fails", "kept"), [("", 0), ("\n    assert 0", 1)])
def test_data_are_kept_of_sessions_with_failed_tests(tmp_path: Path, fails: str, kept: int) -> None:
    checks = f"""
def test_it(kafka):
    kafka.seed({{"orders": [b"one"]}}){fails}
"""

    run(tmp_path, "--kafka-data-dir=data", test_data=checks)

    folders = list((tmp_path / "data").iterdir())
    assert len(folders) == kept
    assert all((one / "node0" / "orders-0").is_dir() for one in folders)


def test_each_process_of_xdist_has_a_cluster_of_its_own(tmp_path: Path) -> None:
    checks = """
import pytest


@pytest.mark.parametrize("number", range(4))
def test_it(kafka, number):
    kafka.create_topic(f"orders-{number}")
    kafka.faults.on("Fetch").close()
"""

    passed(tmp_path, 4, "-n", "2", test_many=checks)


def test_a_project_that_uses_no_fixture_imports_no_broker(tmp_path: Path) -> None:
    checks = """
import sys


def test_it():
    loaded = {name for name in sys.modules if name.startswith(("pyk.clients", "pyk.runtime"))}
    assert loaded <= {"pyk.runtime", "pyk.runtime.first_use"}  # which import nothing of pyk
"""

    passed(tmp_path, 1, *NO_ASYNCIO, *NO_ANYIO, "-n", "0", test_other=checks)


LEFT = """
import os
import threading
from pathlib import Path

import pytest


def held():
    links = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    return sorted(one for one in links if one.startswith("socket") or "/tmp" in one)


def pytest_sessionstart(session):
    session.config.before = held()


@pytest.fixture(scope="session")
def kafka_options(tmp_path_factory):
    return {"tls": True, "sasl": {"alice": "secret"}}


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    threads = [one.name for one in threading.enumerate() if "pyk" in one.name]
    files = [one for one in os.listdir(os.environ["TMPDIR"]) if not one.startswith("pytest-of")]
    print("\\nleft:", threads, [one for one in held() if one not in config.before], files)
"""


@pytest.mark.parametrize(
    "ending", ["pass", "assert 0", "raise KeyboardInterrupt", "kafka.kill()", "pytest.exit('now')"]
)
def test_no_ending_leaves_threads_sockets_or_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    checks = f"""
import pytest


def test_it(kafka, kafka_topic):
    kafka.client_properties()
    kafka.faults.pause()
    {ending}
"""

    _, output = run(
        tmp_path, *NO_ASYNCIO, *NO_ANYIO, "-n", "0", "-s", conftest=LEFT, test_ending=checks
    )

    assert "left: [] [] []" in output, output
