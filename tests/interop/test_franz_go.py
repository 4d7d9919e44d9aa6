"""The Go client franz-go with the reference broker: its groups of each protocol, and transactions.

Needs Go, and a network where its modules come from, once.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pyk.clients import Admin, AlterConfig, ConfigResource, NewTopic, read

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.xdist_group("franz-go"),
    pytest.mark.skipif(shutil.which("go") is None, reason="franz-go needs go"),
]
RECORDS = 2_000
SOURCES = Path(__file__).parent / "franz_go"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program that drives franz-go."""
    download = ["go", "mod", "download"]
    fetched = subprocess.run(download, check=False, cwd=SOURCES, capture_output=True, text=True)
    if fetched.returncode:
        pytest.skip(f"the modules of franz-go cannot be downloaded: {fetched.stderr[-300:]}")
    built = tmp_path_factory.mktemp("franz-go") / "franz-go"
    subprocess.run(["go", "build", "-o", built, "."], check=True, cwd=SOURCES)
    return built


def run(program: Path, mode: str, bootstrap: str) -> str:
    """Let three members of a group read all records; return the name of topic and group."""
    name = f"franz-go-{mode}"
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(name, 6), NewTopic(f"{name}-copy", 3)])
        if mode == "share":
            earliest = AlterConfig("share.auto.offset.reset", "earliest")
            admin.incremental_alter_configs({ConfigResource.group(name): [earliest]})
    command = [str(program), mode, bootstrap, name, name, str(RECORDS)]

    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=90)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(RECORDS)
    return name


def lag(bootstrap: str, group: str) -> int:
    with Admin(bootstrap) as admin:
        lags = admin.lag(group)
    assert len(lags) == 6
    return sum(one.lag or 0 for one in lags.values())


@pytest.mark.parametrize("mode", ["classic", "consumer"])
def test_members_that_come_and_go_read_and_commit_every_record(
    program: Path, mode: str, bootstrap: str
) -> None:
    group = run(program, mode, bootstrap)

    assert lag(bootstrap, group) == 0


def test_members_that_come_and_go_copy_every_record_exactly_once(
    program: Path, bootstrap: str
) -> None:
    group = run(program, "transactions", bootstrap)

    copies = read(bootstrap, f"{group}-copy", isolation_level="read_committed")
    values = Counter(value for table in copies for value in table["value"].to_pylist())
    assert values == Counter(b"%d" % number for number in range(RECORDS))
    assert lag(bootstrap, group) == 0


def test_members_of_a_share_group_that_come_and_go_accept_every_record(
    program: Path, bootstrap: str
) -> None:
    group = run(program, "share", bootstrap)

    with Admin(bootstrap) as admin:
        offsets = admin.list_share_group_offsets(group)
    assert len(offsets) == 6
    assert [one.lag for one in offsets.values() if one] == [0] * 6
