from __future__ import annotations

import subprocess

import pytest

from docs.admin_calls import (
    COMMAND,
    JAVA,
    MISSING,
    OURS,
    PAGE,
    THE_LAST,
    apis_of,
    brokers_by_call,
    calls,
    java_name,
    page,
)
from support import apache_kafka


def test_the_page_of_calls_matches_the_code() -> None:
    assert PAGE.read_text("utf-8") == page(), f"run  {COMMAND}"


@pytest.mark.parametrize("name", calls())
def test_a_call_sends_requests_and_is_tested_against_both_brokers(name: str) -> None:
    assert apis_of(name)
    assert brokers_by_call()[name] >= {OURS, THE_LAST}


def test_every_method_of_java_has_a_call_or_a_reason() -> None:
    ours = {java_name(name).strip("`") for name in calls()}

    assert set(JAVA) - ours - {"close"} == MISSING.keys()


@pytest.mark.conformance
def test_the_methods_of_java_are_those_of_its_jar() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    jars = apache_kafka.fetch()
    command = ["javap", "-cp", f"{jars}/kafka-clients-{apache_kafka.VERSION}.jar"]
    done = subprocess.run(
        [*command, "org.apache.kafka.clients.admin.Admin"],
        check=True,
        capture_output=True,
        text=True,
    )

    lines = [one.split("(")[0].split()[-1] for one in done.stdout.splitlines() if "(" in one]
    assert sorted(set(lines) - {"create"}) == sorted(JAVA)
