"""``pyk doctor`` where something does not answer, or does not end: in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from pyk.clients import AsyncConsumer, TopicPartition
from pyk.command_line.checks.finding import Finding, Status
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.work.diagnosis import Diagnosis
from pyk.reference_broker import AsyncCluster, World

TIMEOUT = 5.0


async def doctor(bootstrap: str, *, group: str | None = None) -> tuple[ExitCode, list[Finding]]:
    """Return the exit code, and the findings that are not ok."""
    found: list[Finding] = []
    diagnosis = Diagnosis({"bootstrap.servers": bootstrap}, TIMEOUT, found.append)
    await diagnosis.run(["orders"], [] if group is None else [group])
    return diagnosis.exit_code, [one for one in found if one.status is not Status.OK]


@asynccontextmanager
async def orders() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        yield cluster


def test_no_connection_stays_open() -> None:
    world = World()

    async def main() -> tuple[int, int]:
        async with (
            AsyncCluster(host="other") as other,
            AsyncCluster(host="kafka", port=9092, advertise=other.bootstrap),
        ):
            before = world.network.open_connections
            await doctor("kafka:9092")
            await asyncio.sleep(1)
            return before, world.network.open_connections

    before, after = world.run(main())

    assert after == before


def test_the_time_that_a_connection_takes_is_told_in_milliseconds() -> None:
    found: list[Finding] = []

    async def main() -> None:
        async with orders() as cluster:
            cluster.faults.on("ApiVersions").once().delay(4_000)
            await Diagnosis({"bootstrap.servers": cluster.bootstrap}, TIMEOUT, found.append).run(
                [], []
            )

    World().run(main())

    (finding,) = [one for one in found if one.check == "ApiVersions"]
    assert finding.seen == "it is a Kafka broker (4000 ms)"


def test_a_second_server_that_does_not_say_who_it_is_ends_nothing() -> None:
    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster, AsyncCluster(host="other") as other:
            other.faults.on("Metadata").delay(60_000)
            found = await doctor(f"{cluster.bootstrap},{other.bootstrap}")
            other.faults.clear()
            return found

    assert World().run(main()) == (ExitCode.DONE, [])


def test_a_request_that_fails_after_the_client_has_connected_is_told() -> None:
    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster:
            cluster.faults.on("Metadata").after(1).error("CLUSTER_AUTHORIZATION_FAILED")
            found = await doctor(cluster.bootstrap)
            cluster.faults.clear()
            return found

    code, (finding,) = World().run(main())

    assert (code, finding.check, finding.subject) == (ExitCode.FAILED, "requests", "cluster")
    assert finding.advice


def test_packets_that_are_dropped_are_told() -> None:
    world = World()

    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster:
            world.network.cut("app", "kafka")
            return await doctor(cluster.bootstrap)

    code, (finding,) = world.run(main())

    assert code == ExitCode.UNREACHABLE
    assert (finding.check, finding.seen) == ("TCP", "no answer within 5 s")
    assert finding.advice == "a firewall drops packets, or the address is wrong"


@pytest.mark.parametrize(
    ("broken", "check", "seen", "code"),
    [
        (lambda cluster: cluster.faults.pause(), "ApiVersions", "no answer within 5 s",
         ExitCode.UNREACHABLE),
        (lambda cluster: cluster.faults.on("Metadata").delay(60_000), "Metadata",
         "no answer within 5 s", ExitCode.FAILED),
        (lambda cluster: cluster.faults.on("FindCoordinator").error("COORDINATOR_NOT_AVAILABLE"),
         "group", "COORDINATOR_NOT_AVAILABLE", ExitCode.FAILED),
    ],
)  # fmt: skip
def test_a_broker_that_does_not_answer_is_told(
    broken: Callable[[AsyncCluster], object], check: str, seen: str, code: ExitCode
) -> None:
    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster:
            broken(cluster)
            found = await doctor(cluster.bootstrap, group="billing")
            cluster.faults.clear()
            return found

    ended, (finding,) = World().run(main())

    assert (ended, finding.check, finding.status) == (code, check, Status.FAILED)
    assert seen in finding.seen
    assert finding.meaning
    assert finding.advice


def member(cluster: AsyncCluster, **options: object) -> AsyncConsumer:
    return AsyncConsumer(
        cluster.bootstrap, topics=["orders"], group_id="billing", auto_offset_reset="earliest",
        **options,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_rebalance_that_does_not_end_is_told() -> None:
    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster, member(cluster) as first, member(cluster) as second:
            await first.poll(1)
            await first.commit({})
            joining = asyncio.create_task(second.poll(60))
            await asyncio.sleep(4)
            try:
                return await doctor(cluster.bootstrap, group="billing")
            finally:
                await asyncio.gather(joining, first.poll(1))

    code, found = World().run(main())

    assert code == ExitCode.FAILED
    finding = next(one for one in found if one.check == "group")
    assert finding.seen.startswith("PreparingRebalance for 5 s")
    assert finding.advice.startswith("find the member that does not poll")


def test_a_rebalance_that_ends_is_waited_for() -> None:
    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster, member(cluster) as first, member(cluster) as second:
            await first.poll(1)
            joining = asyncio.create_task(second.poll(60))
            await asyncio.sleep(4)
            looking = asyncio.create_task(doctor(cluster.bootstrap, group="billing"))
            await asyncio.sleep(2)
            for _ in range(6):
                await first.poll(0.5)
            found = await looking
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
            return found

    code, found = World().run(main())

    assert code == ExitCode.DONE
    assert found == []


def test_a_group_whose_lag_cannot_be_read_is_still_one_of_consumers() -> None:
    async def main() -> tuple[ExitCode, list[Finding]]:
        async with orders() as cluster, member(cluster) as consumer:
            await consumer.poll(1)
            await consumer.commit({TopicPartition("orders", 0): 0})
            cluster.faults.on("ListOffsets").error("NOT_LEADER_OR_FOLLOWER")
            found = await doctor(cluster.bootstrap, group="billing")
            cluster.faults.clear()
            return found

    code, (finding,) = World().run(main())

    assert (code, finding.check) == (ExitCode.FAILED, "group")
    assert "NOT_LEADER_OR_FOLLOWER" in finding.seen
