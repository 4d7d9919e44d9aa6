"""What works with other consumers and not with a share consumer is refused in words that help."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncShareConsumer, Consumer, ShareConsumer
from pyk.clients.share.foreign_calls import CALLS

KINDS: list[Any] = [ShareConsumer, AsyncShareConsumer]


def consumer_of(kind: Any) -> Any:
    return kind("127.0.0.1:1", group_id="g", topics=["orders"])


def public_names(kind: Any) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


async def outcome_of(call: Any) -> None:
    result = call()
    if asyncio.iscoroutine(result):
        await result


def test_every_call_that_only_other_consumers_have_is_explained() -> None:
    lacking = public_names(Consumer) - public_names(ShareConsumer)

    assert lacking == set(CALLS) - {"commit_sync"}
    assert public_names(AsyncConsumer) - public_names(AsyncShareConsumer) == lacking


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("seek_to_beginning", "no positions.*share.auto.offset.reset"),
        ("pause", "poll less"),
        ("assign", "call subscribe"),
        ("lag", "Admin.list_share_group_offsets"),
        ("process_batches", r"call process\(handler\)"),
        ("commit_sync", r"call commit\(\)"),
    ],
)
async def test_a_call_of_other_consumers_says_what_to_do(kind: Any, name: str, words: str) -> None:
    consumer = consumer_of(kind)

    assert not hasattr(consumer, name)
    with pytest.raises(AttributeError, match=f"'{kind.__name__}' object.*'{name}': .*{words}"):
        getattr(consumer, name)


async def test_a_mistyped_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'acknowlege'$") as refusal:
        consumer_of(AsyncShareConsumer).acknowlege()

    assert (refusal.value.name, type(refusal.value.obj)) == ("acknowlege", AsyncShareConsumer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda one: one.process(print, ordering="key"), r"process\(\) .* no ordering: .* order"),
        (lambda one: one.process(print, producer=object()), "no producer: .* transaction"),
        (lambda one: one.subscribe(pattern="o.*"), r"subscribe\(\) .* no pattern: .* by name"),
        (lambda one: one.subscribe(["o"], listener=object()), "no listener: .* assignment"),
        (lambda one: one.commit([object()]), r"commit\(\) .* no records: .*acknowledge\(record\)"),
    ],
)
async def test_an_argument_of_other_consumers_says_what_to_do(
    kind: Any, call: Any, words: str
) -> None:
    consumer = consumer_of(kind)

    with pytest.raises(TypeError, match=words):
        await outcome_of(lambda: call(consumer))


@pytest.mark.parametrize("callback", [lambda offsets: None, lambda: None])
async def test_a_callback_that_cannot_be_called_is_refused_at_once(callback: Any) -> None:
    consumer = AsyncShareConsumer("127.0.0.1:1", group_id="g", topics=["orders"])

    with pytest.raises(TypeError, match=r"callback is called as callback\(offsets, error\): "):
        consumer.set_acknowledgement_commit_callback(callback)
    consumer.set_acknowledgement_commit_callback(print)


async def test_an_offset_that_is_no_number_is_refused() -> None:
    consumer = AsyncShareConsumer(
        "127.0.0.1:1", group_id="g", topics=["orders"], share_acknowledgement_mode="explicit"
    )

    with pytest.raises(TypeError, match="offset must be an int, not '0'"):
        consumer.acknowledge_offset(("orders", 0), "0")  # type: ignore[arg-type]
