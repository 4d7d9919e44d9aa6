"""Tests of Spark run in one process, and again where Spark had no time to start a worker."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
CONFTEST = "from support.spark_tests import *\n"
INI = f"[pytest]\npythonpath = {TESTS}\nmarkers = spark: starts a Spark session\n"
TEST = """
import pytest

runs = []

@pytest.fixture(scope="session")
def session():
    runs.append("session")

@pytest.fixture
def topic(session):
    runs.append("topic")
    return len(runs)
"""


def outcome_of(folder: Path, test: str, *options: str) -> str:
    """Return what pytest prints of these tests."""
    for name, text in (("conftest.py", CONFTEST), ("pytest.ini", INI), ("test_it.py", TEST + test)):
        (folder / name).write_text(text)
    without = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]  # hypothesis loads slowly
    own = [*without, "--basetemp", str(folder / "temporary")]
    command = [sys.executable, "-m", "pytest", *own, *options, str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=folder)
    return done.stdout


def test_a_test_whose_worker_did_not_start_is_run_again_with_new_fixtures_and_named(
    tmp_path: Path,
) -> None:
    printed = outcome_of(
        tmp_path,
        """
@pytest.mark.spark
def test_stream(topic):
    if topic < 4:
        raise RuntimeError("Query terminated: Python worker failed to connect back.")

def test_runs(session):
    assert runs == ["session", "topic", "topic", "topic"]
""",
    )

    assert "2 passed" in printed
    assert "did not start in time, 3 attempts: test_it.py::test_stream" in printed


@pytest.mark.parametrize(
    ("mark", "error", "expected_runs"),
    [
        pytest.param("spark", "Python worker failed to connect back", 4, id="never starts"),
        pytest.param("spark", "two rows too many", 1, id="wrong for another reason"),
        pytest.param("skipif(False, reason='')", "worker failed to connect back", 1, id="no Spark"),
    ],
)
def test_a_test_that_goes_on_to_fail_fails(
    tmp_path: Path, mark: str, error: str, expected_runs: int
) -> None:
    printed = outcome_of(
        tmp_path,
        f"""
@pytest.mark.{mark}
def test_stream(topic):
    raise RuntimeError({error!r})

def test_runs(session):
    assert runs.count("topic") == {expected_runs}
""",
    )

    assert "1 failed, 1 passed" in printed


def test_all_tests_of_spark_run_in_one_of_several_workers(tmp_path: Path) -> None:
    printed = outcome_of(
        tmp_path,
        """
@pytest.mark.spark
@pytest.mark.parametrize("number", range(8))
def test_stream(number):
    pass
""",
        *("-n", "2", "--dist", "loadgroup", "-v"),
    )

    assert "8 passed" in printed
    assert len(set(re.findall(r"\[(gw\d)\].* PASSED", printed))) == 1
