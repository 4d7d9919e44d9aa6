"""Hosts of a simulated world: clocks that are wrong, disks that lose power, randomness by name."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

import pytest

from pyk.runtime.filesystem import read_if_exists
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import START_MS, virtual_time


@virtual_time
async def test_each_host_has_a_wall_clock_of_its_own() -> None:
    world = World()
    right, wrong = world.host("right").clock, world.host("wrong").clock

    wrong.step(-5.0)
    await asyncio.sleep(10)

    assert right.time_ms() == START_MS + 10_000
    assert wrong.time_ms() == START_MS + 5_000
    assert wrong.seconds_ahead == -5.0


@virtual_time
async def test_a_clock_that_drifts_gains_time_until_its_rate_is_set_right() -> None:
    clock = World().host("fast").clock

    clock.set_drift(0.1)
    await asyncio.sleep(100)
    clock.set_drift(0.0)
    await asyncio.sleep(100)

    assert clock.seconds_ahead == pytest.approx(10.0)
    assert clock.time_ms() == START_MS + 210_000


@virtual_time
async def test_timeouts_of_a_host_with_a_wrong_clock_are_those_of_all_others() -> None:
    world = World()
    clock = world.host("fast").clock

    clock.set_drift(0.5)
    clock.step(3600)
    await asyncio.sleep(10)

    assert clock.now() == world.clock.now() == 10


@virtual_time
async def test_a_host_is_the_same_each_time_and_its_randomness_depends_on_seed_and_name() -> None:
    def draw(seed: int, name: str) -> float:
        return World(seed).host(name).random.random()

    world = World(1)
    world.host("first")

    assert world.host("second") is world.host("second")
    assert world.host("second").random.random() == draw(1, "second")
    assert len({draw(1, "first"), draw(1, "second"), draw(2, "first")}) == 3


@virtual_time
async def test_a_power_cut_loses_only_what_the_disk_of_that_host_had_not_flushed() -> None:
    world = World()
    for name in ("one", "other"):
        disk = world.host(name).disk
        file = disk.open("/log", create=True)
        disk.sync_directory("/")
        file.write_at(0, [b"flushed"])
        file.flush()
        file.write_at(7, [bytes(range(1, 200))])

    world.host("one").cut_power()

    kept = read_if_exists(world.host("one").disk, "/log")
    assert kept is not None
    assert kept.startswith(b"flushed")
    assert world.host("other").disk.size("/log") == 7 + 199


@virtual_time
async def test_a_link_to_an_unknown_host_is_refused() -> None:
    world = World()
    world.host("shop")
    world.host("broker")

    for cut in (
        lambda: world.network.cut("shop", "brokr"),
        lambda: world.network.isolate("brokr"),
        lambda: world.network.delay("brokr", "shop", 1.0),
        lambda: world.network.heal("brokr"),
        lambda: world.network.reset("brokr"),
    ):
        with pytest.raises(ValueError, match=r"no host 'brokr' .* 'shop', 'broker'"):
            cut()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: World("7"), TypeError, "seed must be an int, not '7'"),
        (lambda: World(latency="1"), TypeError, "latency must be a number, not '1'"),
        (lambda: World(latency=-1), ValueError, "latency must be a finite number from 0 on"),
        (lambda: World(observe=5), TypeError, r"observe must be a function .*, not 5"),
        (lambda: World().host(5), TypeError, "the name of a host must be a str, not 5"),
        (lambda: World().host(""), ValueError, "the name of a host is empty"),
        (lambda: World().network.cut("localhost", 5), TypeError, "name of a host must be a str"),
        (
            lambda: World().network.delay("localhost", "localhost", -1),
            ValueError,
            "latency must be a finite number from 0 on, not -1",
        ),
        (
            lambda: World().network.cut("localhost", "localhost", one_way="x"),
            TypeError,
            "one_way must be True or False, not 'x'",
        ),
        (lambda: World().host("a").clock.step("1h"), TypeError, "seconds must be a number"),
        (lambda: World().host("a").clock.step(float("inf")), ValueError, "seconds must be a fini"),
        (lambda: World().host("a").clock.set_drift(None), TypeError, "rate must be a number"),
        (lambda: World().run(5), TypeError, r"run\(\) takes a coroutine, as in run\(main\(\)\), "),
        (lambda: World().run(asyncio.sleep), TypeError, r"run\(\) takes a coroutine, as in run"),
    ],
)
def test_what_no_world_has_is_refused_where_it_is_written(
    make: Callable[[], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make()


@virtual_time
async def test_a_world_is_not_run_inside_of_a_running_loop() -> None:
    main = asyncio.sleep(1)

    with pytest.raises(RuntimeError, match="an event loop is running here already: await the cor"):
        World().run(main)

    assert inspect.getcoroutinestate(main) == inspect.CORO_CLOSED
