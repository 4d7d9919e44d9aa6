"""Requests of members of a streams group, drawn at random, with the answers of Apache Kafka.

``PYTHONPATH=tests python -m support.streams_traces`` asks Apache Kafka again, and writes them to
``tests/conformance/streams_group_traces.json``. Members join with one process or two, with standby
tasks or without, give up what they are to give up at once or later, say epochs that are out of
date, and leave.

Where several members could get a task, Kafka 4.3.1 goes by the order of hash tables: its assignor
compares processes by their load alone. So each trace is played with the names of members and
processes in every order. Where the answers differ, there was such a tie, and the trace is left out.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import uuid
from pathlib import Path
from typing import Any

import attrs

from support.apache_kafka import VERSION
from support.brokers import Kafka, RealKafka
from support.raw_streams_groups import (
    StreamsCoordinator,
    Tasks,
    named,
    owning,
    statuses,
    streams_coordinator,
)

FILE = Path(__file__).parents[1] / "conformance" / "streams_group_traces.json"
MEMBERS = "abc"
PROCESSES = {"a": "p", "b": "q", "c": "q"}
TRACES, STEPS = 80, 16

Step = list[Any]
"""Member, epoch, the active and standby tasks that it says it has (None: it does not say)."""
Answer = list[Any]


@attrs.define
class TracedGroup:
    """A group whose members send the heartbeats of traces under names that nobody else has."""

    coordinator: StreamsCoordinator
    names: dict[str, str]

    async def take(self, step: Step) -> Answer:
        """Send a heartbeat; return its answer, and how the group is described then."""
        letter, epoch, owned = step
        name = self.names[letter]
        if epoch == 0:
            answer = await self.coordinator.join(name, process_id=self.names[PROCESSES[letter]])
        else:
            said = {} if owned is None else owning(*owned)
            answer = await self.coordinator.beat(name, epoch, **said)
        group = await self.coordinator.describe()
        return [
            answer.error_code,
            (answer.error_message or "").replace(name, letter),
            answer.member_epoch,
            [code for code, _ in statuses(answer)],
            named(answer.active_tasks),
            named(answer.standby_tasks),
            [group.group_state, group.group_epoch, group.assignment_epoch],
        ]


def names_in_every_order() -> list[dict[str, str]]:
    """Return the names of members and processes, so that they come in every order that hash tables
    may have them in."""
    members, processes = tuple(MEMBERS), tuple(sorted(set(PROCESSES.values())))
    return [
        {
            letter: f"name-{name}"
            for letter, name in zip(members + processes, some + others, strict=True)
        }
        for some in itertools.permutations(members)
        for others in itertools.permutations(processes)
    ]


NAMES, *OTHER_NAMES = names_in_every_order()


@attrs.define
class _Member:
    """What a member of a trace knows, and how it behaves."""

    epoch: int = 0
    active: Tasks = attrs.field(factory=dict)
    standby: Tasks = attrs.field(factory=dict)
    is_behind: bool = False

    def learn(self, answer: Answer) -> None:
        code, _, epoch, _, active, standby, _ = answer
        if code:
            self.epoch, self.active, self.standby = 0, {}, {}
            return
        self.epoch = epoch
        if active is not None:
            self.active, self.standby = active, standby


def draw(chance: random.Random, members: dict[str, _Member]) -> Step:
    """Return the next request: mostly what a sane member would send."""
    letter = chance.choice(MEMBERS)
    member = members[letter]
    what = chance.random()
    if not member.epoch:
        return [letter, 0, None]
    if what < 0.08:
        return [letter, -1, None]
    if what < 0.14:
        return [letter, 0, None]
    if what < 0.22:
        epoch = member.epoch + chance.choice((-2, -1, 1))
        return [letter, max(epoch, 1), [member.active, member.standby]]
    if what < 0.36:
        return [letter, member.epoch, None]
    if what < 0.42:
        return [letter, member.epoch, [{}, {}]]
    return [letter, member.epoch, [member.active, member.standby]]


async def record(kafka: Kafka, seed: int) -> tuple[int, list[tuple[Step, Answer]]] | None:
    """Return how many standby tasks there are, and requests with answers, of one trace."""
    chance = random.Random(seed)
    standbys = chance.choice((0, 0, 1))
    members = {letter: _Member() for letter in MEMBERS}
    trace: list[tuple[Step, Answer]] = []
    async with streams_coordinator(kafka, f"traced-{uuid.uuid4()}") as coordinator:
        await coordinator.apply("streams.num.standby.replicas", str(standbys))
        group = TracedGroup(coordinator, NAMES)
        for _ in range(STEPS):
            step = draw(chance, members)
            answer = await group.take(step)
            trace.append((step, answer))
            members[step[0]].learn([*answer])
            if step[1] == -1:
                members[step[0]] = _Member()
    steps, expected = [step for step, _ in trace], [answer for _, answer in trace]
    for names in OTHER_NAMES:
        if await answers(kafka, standbys, steps, names) != expected:
            return None
    return standbys, trace


async def answers(
    kafka: Kafka, standbys: int, steps: list[Step], names: dict[str, str] = NAMES
) -> list[Answer]:
    """Return the answers to the requests of a trace, from a new group."""
    async with streams_coordinator(kafka, f"traced-{uuid.uuid4()}") as coordinator:
        await coordinator.apply("streams.num.standby.replicas", str(standbys))
        group = TracedGroup(coordinator, names)
        return [await group.take(step) for step in steps]


async def main() -> None:
    with RealKafka() as kafka:
        found = [await record(kafka, seed) for seed in range(TRACES)]
    traces = [list(each) for each in found if each is not None]
    print(f"{len(traces)} of {TRACES} traces of Apache Kafka {VERSION}", file=sys.stderr)
    FILE.write_text(json.dumps(traces).replace("], [[", "],\n [[") + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
