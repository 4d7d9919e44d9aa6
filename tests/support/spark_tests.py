"""How tests that need Spark are run: in one process, and again if Spark had no time to start.

Spark starts a Python process of its own to plan each run of a streaming query, and gives it 10
seconds to import pyspark and to connect. No option changes that. Beside enough other work the start
takes longer: the query fails before any code of pyk has run in that process. So a test that fails
with just this error is run again, with new fixtures of its own, and the summary names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

NOT_STARTED = "Python worker failed to connect back"
ATTEMPTS = 4
REPEATED = "repeated: Spark's Python worker did not start in time"

WORKERS = Path(__file__).parent / "spark_workers"


def import_installed_pyspark_in_workers() -> None:
    """Have Spark's Python processes start sooner: see ``spark_workers/sitecustomize.py``."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(WORKERS) not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(WORKERS), *filter(None, entries)])


@pytest.hookimpl(tryfirst=True)  # xdist looks at groups in this hook, too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests that need Spark in one worker: a session is a JVM, and one is enough."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test marked ``spark`` until another reason decides how it ends, at most so often."""
    if item.get_closest_marker("spark") is None:
        return None
    import_installed_pyspark_in_workers()
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for attempt in range(1, ATTEMPTS):
        if not any(_tells_of_no_start(report) for report in reports):
            break
        item.user_properties.append((REPEATED, attempt))
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that were repeated, also those that passed in the end."""
    repeated = sorted(set(_repeated(terminalreporter.getreports("passed"))))
    repeated += sorted(set(_repeated(terminalreporter.getreports("failed"))))
    for line in repeated:
        terminalreporter.write_line(line)


def _tells_of_no_start(report: pytest.TestReport) -> bool:
    return report.failed and NOT_STARTED in report.longreprtext


def _repeated(reports: Sequence[pytest.TestReport]) -> Iterator[str]:
    for report in reports:
        times = sum(name == REPEATED for name, _ in report.user_properties)
        if times:
            yield f"{REPEATED}, {times + 1} attempts: {report.nodeid}"
