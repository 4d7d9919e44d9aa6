"""Every command of ``pyk``, with a terminal and without, prints the same of every broker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
import pytest

from pyk.command_line.main import main
from support.brokers import Kafka
from support.pyk_command import run, run_on_terminal
from support.record_batches import sealed

ID = r"\d+"
TIME = r"\d{4}-\d\d-\d\dT[\d:.]+Z"


@attrs.frozen
class Case:
    """A command: its words, what it prints into a pipe, and a part of what a terminal shows."""

    words: str
    piped: str
    shown: str
    code: int = 0


DISABLED = r"error: SECURITY_DISABLED \(54\)"
CASES = {
    "acl list": Case("", "", DISABLED, code=1),
    "acl create": Case("-p ann -o read --topic a", "", DISABLED, code=1),
    "acl delete": Case("-p ann -y", "", DISABLED, code=1),
    "cluster": Case("", rf"(?s)Cluster id\t\S+\n.*{ID}\t(localhost|127\.0\.0\.1)\t\d+.*", "Host"),
    "completion": Case("bash", r"(?s)\s*_pyk_completion\(\).*", r"_pyk_completion\(\)"),
    "config show": Case(
        "topic {topic} cleanup.policy", r"cleanup\.policy\tdelete\tdefault\n", "Setting +Value"
    ),
    "config set": Case("topic {topic} retention.ms=1", "", "topic {topic} changed: retention.ms"),
    "config unset": Case("topic {topic} retention.ms", "", "changed: retention.ms"),
    "consume": Case("{topic}", "one\ntwo\n", "one"),
    "copy": Case("{topic} {topic}-copy", "", "2"),
    "decode": Case("HeartbeatResponse 0 0000", "HeartbeatResponse v0, 2 bytes\n.*\n", "v0, 2"),
    "doctor": Case("-t {topic} -g {group}", r"(?s)ok +TCP .*", "ok .*ApiVersions"),
    "dump-log": Case("{segment}", r"(?s)Dumping .*baseOffset: 0 .*", "baseOffset: 0"),
    "group list": Case("{group}", r"{group}\tEmpty\tclassic\t.*\n", "Group +State"),
    "group describe": Case("{group}", r"(?s)Group\t{group}\nState\tEmpty\n.*", "State +Empty"),
    "group lag": Case("{group}", r"{topic}\t0\t0\t2\t2\n", "Total lag: 2"),
    "group reset": Case("{group} --to latest -y", r"{topic}\t0\t0\t2\n", "Committed +New"),
    "group delete": Case("{group} -y", "", "group {group} deleted"),
    "perf produce": Case("{topic} -n 10", r"(?s)Test\tproduce\nRecords\t10\n.*", "Records +10"),
    "perf consume": Case("{topic} -n 2", r"(?s)Test\tconsume\nRecords\t2\n.*", "Records +2"),
    "perf latency": Case("{topic} -n 2", r"(?s)Test\tlatency\nRecords\t2\n.*", "Records +2"),
    "produce": Case(
        "{topic} {segment} --format whole --json", r'\{"topic":"{topic}",.*\n', "offset"
    ),
    "quota list": Case("--user {group}", "", "Limit +Value"),
    "quota set": Case("producer_byte_rate=1000000 --user {group}", "", "changed: producer_byte"),
    "quota unset": Case("producer_byte_rate --user {group}", "", "changed: producer_byte"),
    "topic list": Case("{topic}", "{topic}\t3\n", "Topic +Partitions"),
    "topic create": Case("{topic}-new -p 2", "", "topic {topic}-new created: 2 partitions"),
    "topic describe": Case("{topic}", r"(?s)Topic\t{topic}\n.*\n0\t\d\t.*", "Leader +Replicas"),
    "topic alter": Case("{topic} -p 4", "", "topic {topic} "),
    "topic delete": Case("{topic} -y", "", "topic {topic} deleted"),
    "topic records": Case("{topic} -p 0", r"{topic}\t0\t0\t2\t2\n", "Start offset +End offset"),
    "transaction list": Case("--state Ongoing", "", "Transactional id +State"),
    "transaction describe": Case("{group}", "", "no coordinator knows", code=1),
    "transaction producers": Case(
        "{topic}:0", rf"{{topic}}\t0\t{ID}\t0\t1\t{TIME}\t-\n", "Producer id +Epoch"
    ),
    "transaction abort": Case(
        "{topic}:0 --start-offset 7 -y", "", "has no open transaction that starts at 7", code=1
    ),
    "transaction fence": Case("{group} -y", "", "producers of {group} fenced"),
    "user list": Case("", r"(?s).*", "User +Mechanism"),
    "user set": Case("{group} --password-from env:USER_SECRET", "", "can log in by SCRAM-SHA-512"),
    "user delete": Case("{group}", "", "user '{group}' does not exist", code=1),
}
STARTS_A_SERVER = {"broker"}
"""Commands that run until they are stopped; tests/integration/reference_broker has theirs."""
NEED_NO_CLUSTER = {"completion", "decode", "dump-log"}


def paths(group: click.Group, before: str = "") -> Iterator[str]:
    """Yield the commands below a group, as they are typed."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from paths(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def test_every_command_has_a_case() -> None:
    assert set(paths(main)) - STARTS_A_SERVER == set(CASES)


@attrs.frozen
class Scene:
    """A topic with two records, and a group that has read none of them."""

    bootstrap: str
    topic: str
    group: str
    segment: Path

    def words(self, name: str, case: Case) -> list[str]:
        cluster = [] if name in NEED_NO_CLUSTER else ["-b", self.bootstrap]
        return [*name.split(), *self.filled(case.words).split(), *cluster]

    def filled(self, text: str) -> str:
        for name, value in (("topic", self.topic), ("group", self.group)):
            text = text.replace(f"{{{name}}}", value)
        return text.replace("{segment}", str(self.segment))


@pytest.fixture
def scene(kafka: Kafka, topic: str, group: str, tmp_path: Path) -> Scene:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(sealed(b"one"))
    cluster = ("-b", kafka.bootstrap)
    assert run("produce", topic, "-p", 0, *cluster, stdin="one\ntwo\n").code == 0
    assert run("topic", "create", f"{topic}-copy", "-p", 3, *cluster).code == 0
    reset = run("group", "reset", group, "--to", "earliest", "-t", f"{topic}:0", *cluster)
    assert reset.code == 0, reset.err
    return Scene(kafka.bootstrap, topic, group, segment)


SECRET = {"USER_SECRET": "secret"}


@pytest.mark.parametrize("name", CASES)
def test_a_command_prints_lines_into_a_pipe(scene: Scene, name: str) -> None:
    case = CASES[name]

    ran = run(*scene.words(name, case), env=SECRET)

    assert ran.code == case.code, ran.err
    assert re.fullmatch(scene.filled(case.piped), ran.out), ran.out
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("name", CASES)
def test_a_command_shows_people_more_on_a_terminal(scene: Scene, name: str) -> None:
    case = CASES[name]

    ran = run_on_terminal(*scene.words(name, case), env=SECRET)

    assert ran.code == case.code, ran.out
    assert re.search(scene.filled(case.shown), "\n".join(ran.lines)), ran.out
