"""What all suites share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from support.spark_tests import (  # noqa: F401 - pytest finds them here
    pytest_collection_modifyitems,
    pytest_runtest_protocol,
    pytest_terminal_summary,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What takes long says that the machine is busy, nothing of the code. Examples are the same in every
# run, so that a run fails because of the code; PYK_RANDOM_EXAMPLES=1 looks for others.
hypothesis.settings.register_profile(
    "pyk",
    deadline=None,
    derandomize="PYK_RANDOM_EXAMPLES" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("pyk")

# A suite that a shell started in the background would ignore Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)


# PYK_SWITCH_INTERVAL=1e-5 lets threads take turns 500 times as often as Python does by itself. That
# brings out races that hardly ever show otherwise.
if interval := os.environ.get("PYK_SWITCH_INTERVAL"):
    sys.setswitchinterval(float(interval))

# PYK_PAUSES=SEED stops each process that runs tests now and then, as other work on a busy machine
# does: tests that hope for a moment that may be over fail.
if seed := os.environ.get("PYK_PAUSES"):
    from support.pauses import pause_now_and_then

    pause_now_and_then(seed)


def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes `-n auto` starts: more than processors, as many tests wait."""
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return usable * 3 // 2


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Return what gives tests to processes, for `--dist loadgroup`."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from support.forgetful_scheduling import ForgetfulScheduling

    return ForgetfulScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what collecting makes from the garbage collector: modules and tests live as long as the
    process does, and searching them again and again would take a tenth of the time of all tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of this process."""
    from pyk.spark_connector import prepare_local_spark

    prepare_local_spark()
    from pyspark.sql import SparkSession

    interrupted = signal.getsignal(signal.SIGINT)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.driver.memory", "768m")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.python.authenticate.socketTimeout", "300s")  # on a busy machine
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    signal.signal(signal.SIGINT, interrupted)  # Spark's handler is not for tests of other things
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
