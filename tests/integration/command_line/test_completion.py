"""Shells complete topics, groups and profiles, and nothing is said where they cannot."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.clients import Admin, TopicPartition
from pyk.reference_broker import Cluster
from support.pyk_command import start
from support.real_time import IN_TIME, took


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        for topic in ("orders", "orders-eu", "bills"):
            cluster.create_topic(topic)
        with Admin(cluster.bootstrap) as admin:
            for group in ("shop", "shop two", "sum"):
                admin.reset_offsets(group, to="earliest", partitions=[TopicPartition("orders", 0)])
        yield cluster


def completed(shell: str, line: str, **env: str) -> tuple[list[str], str]:
    """Return what is offered for the last word of a line, and what is printed as an error."""
    words = line.split(" ")
    variables = {"_PYK_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, **env}
    variables["COMP_CWORD"] = words[-1] if shell == "fish" else str(len(words) - 1)
    with start(env=variables) as process:
        out, err = process.communicate(timeout=IN_TIME)
    assert process.returncode == 0
    kept = [word for word in out.decode().replace(",", "\n").split("\n") if word]
    return [word for word in kept if word not in ("plain", "_")], err.decode()


def completed_by_cluster(shell: str, line: str, **env: str) -> tuple[list[str], str]:
    """Return the same, asked again if nothing is offered: a cluster that does not answer in two
    seconds has no names, and a busy machine may take as long.
    """
    for _ in range(2):
        if (found := completed(shell, line, **env))[0]:
            return found
    return completed(shell, line, **env)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pyk consume or", ["orders", "orders-eu"]),
        ("pyk produce ", ["bills", "orders", "orders-eu"]),
        ("pyk topic describe orders or", ["orders-eu"]),
        ("pyk topic delete b", ["bills"]),
        ("pyk consume orders --group s", ["shop", "sum"]),
        ("pyk group lag sh", ["shop"]),
        ("pyk config show topic b", ["bills"]),
        ("pyk config show group su", ["sum"]),
        ("pyk config show broker ", []),
        ("pyk doctor -t b", ["bills"]),
        ("pyk consume nothing-like-it", []),
    ],
)
def test_names_of_the_cluster_are_completed(
    cluster: Cluster, shell: str, line: str, offered: list[str]
) -> None:
    ask = completed_by_cluster if offered else completed
    found, err = ask(shell, line, PYK_BOOTSTRAP=cluster.bootstrap)

    assert (found, err) == (offered, "")


def test_the_cluster_may_be_named_on_the_line_itself(cluster: Cluster) -> None:
    found, _ = completed_by_cluster("bash", f"pyk -b {cluster.bootstrap} consume b")

    assert found == ["bills"]


def test_a_profile_is_completed_and_used(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[profiles.near]\nbootstrap_servers = "{cluster.bootstrap}"\n')

    profiles, _ = completed("bash", "pyk copy a b --to-profile n", PYK_CONFIG=str(file))
    topics, err = completed_by_cluster("bash", "pyk --profile near consume b", PYK_CONFIG=str(file))

    assert profiles == ["near"]
    assert (topics, err) == (["bills"], "")


@pytest.mark.parametrize(
    "env",
    [
        {"PYK_BOOTSTRAP": "127.0.0.1:1"},
        {"PYK_BOOTSTRAP": "nowhere.invalid:9092"},
        {"PYK_BOOTSTRAP": "not an address"},
        {"PYK_PROFILE": "unknown"},
        {},
    ],
)
def test_nothing_is_said_where_a_cluster_cannot_be_asked(
    env: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("this is not TOML")

    assert completed("bash", "pyk consume or", PYK_CONFIG=str(file), **env) == ([], "")


def test_a_cluster_that_does_not_answer_is_given_up_soon(cluster: Cluster) -> None:
    with cluster.faults.pause():
        seconds = took(lambda: completed("bash", "pyk consume or", PYK_BOOTSTRAP=cluster.bootstrap))

    assert seconds < IN_TIME


def test_bash_offers_topics(cluster: Cluster, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    command = tmp_path / "pyk"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pyk.command_line "$@"\n')
    command.chmod(0o755)
    script = (
        f"PATH={tmp_path}:$PATH; export PYK_BOOTSTRAP={cluster.bootstrap}; "
        'eval "$(pyk completion bash)"; COMP_WORDS=(pyk consume or); COMP_CWORD=2; '
        '_pyk_completion pyk or consume; echo "${COMPREPLY[@]}"'
    )

    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["orders", "orders-eu"]
