"""Show keys and values of records: as text, or decoded for Kafka's internal topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from pyk.command_line.readable import Style
from pyk.protocol import Message, ProtocolError
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from pyk.protocol.names import snake_case
from pyk.protocol.persisted import (
    decode_coordinator_key,
    decode_coordinator_value,
    decode_metadata_record,
    decode_versioned,
    read_metadata_frame,
)
from pyk.protocol.records import Record

METADATA_TOPICS = ("__cluster_metadata", "__remote_log_metadata")
COORDINATOR_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")

Decoder: TypeAlias = Callable[[Record], dict[str, Any]]
"""Return what to show of the key and value of a record."""


def decoder_for(topic: str, style: Style) -> Decoder:
    """Return the decoder for the records of ``topic``: text, unless the topic is internal."""
    if topic in METADATA_TOPICS:
        return partial(_raw_if_unknown, _metadata, topic, style)
    if topic in COORDINATOR_TOPICS:
        return partial(_raw_if_unknown, _coordinator, topic, style)
    return as_text


def as_text(record: Record) -> dict[str, Any]:
    """Return key and value as text; bytes that are not UTF-8 become ``\\xff``."""
    shown = {}
    if record.key is not None:
        shown["key"] = record.key.decode("utf-8", "backslashreplace")
    if record.value is not None:
        shown["payload"] = record.value.decode("utf-8", "backslashreplace")
    return shown


def _raw_if_unknown(
    decode: Callable[[str, Style, Record], dict[str, Any]], topic: str, style: Style, record: Record
) -> dict[str, Any]:
    try:
        return decode(topic, style, record)
    except ProtocolError as error:
        raw = {"key": record.key, "payload": record.value}
        shown = {name: data.hex() for name, data in raw.items() if data is not None}
        return shown | {"undecoded": str(error)}


def _metadata(topic: str, style: Style, record: Record) -> dict[str, Any]:
    value = record.value or b""
    _, version, _ = read_metadata_frame(value)
    message = decode_metadata_record(value, topic)
    kind = snake_case(type(message).__name__).upper()
    data = style.json_form(message, version)
    return {"payload": {"type": kind, "version": version, "data": data}}


def _coordinator(topic: str, style: Style, record: Record) -> dict[str, Any]:
    key = decode_coordinator_key(record.key or b"", topic)
    shown: dict[str, Any] = {
        "key": {"type": str(key.api_key), "data": style.json_form(key, 0)},
        "payload": "<DELETE>",
    }
    message = decode_coordinator_value(key, record.value)
    if message is not None and record.value is not None:
        version = int.from_bytes(record.value[:2], signed=True)
        data = style.json_form(message, version)
        _open_members(data)
        shown["payload"] = {"version": str(version), "data": data}
    return shown


def _open_members(group: dict[str, Any]) -> None:
    """Decode the subscriptions and assignments of the members, if this is a consumer group."""
    if group.get("protocolType") != "consumer":
        return
    members: Iterable[dict[str, Any]] = group.get("members", ())
    for member in members:
        _open(member, "subscription", ConsumerProtocolSubscription)
        _open(member, "assignment", ConsumerProtocolAssignment)


def _open(member: dict[str, Any], name: str, cls: type[Message]) -> None:
    data = bytes.fromhex(member[name])
    try:
        message = decode_versioned(cls, data, accept_newer=True)
    except ProtocolError:
        return
    version = min(int.from_bytes(data[:2], signed=True), cls.versions.highest)
    member[name] = message.to_json(version)
