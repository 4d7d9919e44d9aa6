"""Format messages and record batches as text for people: the bytes on the wire, field by field.

Short values share a line; long values, and structs with structs inside, get lines of their own. A
field that the version lacks, or a tagged field at its default, is not on the wire and not shown.
``secret`` fields are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pyk.protocol import ApiKey, ErrorCode, Message, ProtocolError, Struct
from pyk.protocol.fields import ArrayKind, Field, Kind, StructKind
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from pyk.protocol.persisted import decode_versioned
from pyk.protocol.records import (
    Compression,
    LegacyBatch,
    Record,
    RecordBatch,
    RecordBatchError,
    parse_any_batch,
)
from pyk.protocol.records.layout import COMPRESSION_MASK
from pyk.runtime import slotted

WIDTH = 100
LONGEST_BYTES = 64
MOST_RECORDS = 10

_EMBEDDED: dict[tuple[str, str], type[Message]] = {
    ("JoinGroupRequestProtocol", "metadata"): ConsumerProtocolSubscription,
    ("JoinGroupResponseMember", "metadata"): ConsumerProtocolSubscription,
    ("SyncGroupRequestAssignment", "assignment"): ConsumerProtocolAssignment,
    ("SyncGroupResponse", "assignment"): ConsumerProtocolAssignment,
    ("DescribedGroupMember", "member_metadata"): ConsumerProtocolSubscription,
    ("DescribedGroupMember", "member_assignment"): ConsumerProtocolAssignment,
    ("MemberMetadata", "subscription"): ConsumerProtocolSubscription,
    ("MemberMetadata", "assignment"): ConsumerProtocolAssignment,
}
_CODECS = {each.codec: str(each) for each in Compression}


@slotted.frozen
class Style:
    """The options of a text: how much to show."""

    is_full: bool = False
    """Show all bytes and all records."""
    shows_secrets: bool = False

    def lines(self, message: Struct, version: int) -> Iterator[str]:
        """Yield the fields that ``message`` has in ``version``."""
        for field in message.fields:
            value = getattr(message, field.name)
            is_left_out = field.tag is not None and field.is_default(value)
            if version in field.versions and not is_left_out:
                yield from self._field(type(message).__name__, field, value, version)
        for tag, data in sorted(message.unknown_tagged_fields.items()):
            yield f"unknown tagged field {tag}: {self.data(data)}"

    def data(self, value: bytes | memoryview) -> str:
        """Return bytes as a Python literal; only their beginning if they are long."""
        if self.is_full or len(value) <= LONGEST_BYTES:
            return repr(bytes(value))
        return f"{bytes(value[:LONGEST_BYTES])!r}… {len(value)} bytes"

    def json_form(self, message: Message, version: int) -> dict[str, Any]:
        """Return the JSON form of Kafka's tools: the fields on the wire, with secrets hidden."""
        form = message.to_json(version)
        self._trim(form, message)
        return form

    def _trim(self, form: dict[str, Any], struct: Struct) -> None:
        """Remove fields that are not on the wire from ``form``, and hide secrets."""
        for field in struct.fields:
            value, name = getattr(struct, field.name), field.json_name
            if field.tag is not None and field.is_default(value):
                form.pop(name, None)
            elif not form.get(name):
                continue
            elif field.secret and not self.shows_secrets:
                form[name] = "<hidden>"
            elif isinstance(field.kind, StructKind):
                self._trim(form[name], value)
            elif isinstance(field.kind, ArrayKind) and isinstance(field.kind.of, StructKind):
                for item_form, item in zip(form[name], value, strict=True):
                    self._trim(item_form, item)

    def _field(self, owner: str, field: Field, value: Any, version: int) -> Iterator[str]:
        if field.secret and value and not self.shows_secrets:
            yield f"{field.name}: <hidden>"
        elif value is None:
            yield f"{field.name}: null"
        elif isinstance(field.kind, StructKind):
            yield from self._nested(f"{field.name}:", list(self.lines(value, version)))
        elif isinstance(field.kind, ArrayKind) and isinstance(field.kind.of, StructKind):
            yield f"{field.name}:" if value else f"{field.name}: []"
            for item in value:
                yield from self._nested("  -", list(self.lines(item, version)))
        elif field.kind.name == "records":
            yield from self._records(field.name, value)
        elif (found := _embedded(owner, field.name, value)) is not None:
            yield from self._nested(f"{field.name}:", list(self.lines(*found)))
        else:
            yield f"{field.name}: {self._scalar(field, field.kind, value)}"

    def _nested(self, head: str, lines: list[str]) -> Iterator[str]:
        """Yield the fields of a struct after ``head``: the name of a field, or a dash."""
        is_item = head.endswith("-")
        joined = f"{head} {', '.join(lines)}" if is_item else f"{head} {{{', '.join(lines)}}}"
        is_flat = not any(line.startswith(" ") or line.endswith(":") for line in lines)
        if is_flat and len(joined) <= WIDTH:
            yield joined
            return
        yield f"{head} {lines[0]}" if is_item else head
        indent = " " * (len(head) + 1 if is_item else 2)
        yield from (indent + line for line in lines[is_item:])

    def _scalar(self, field: Field, kind: Kind, value: Any) -> str:
        if isinstance(kind, ArrayKind):
            return f"[{', '.join(self._scalar(field, kind.of, item) for item in value)}]"
        if kind.name == "bytes":
            return self.data(value)
        if kind.name in {"uuid", "bool"}:
            return str(value).lower()
        if field.name == "api_key":
            return f"{value} {_member(ApiKey, value, 'api_name')}".rstrip()
        is_error = field.name.endswith("error_code") and value != 0
        return f"{value} {_member(ErrorCode, value, 'name')}".rstrip() if is_error else repr(value)

    def _records(self, name: str, data: Any) -> Iterator[str]:
        view = memoryview(data)
        yield f"{name}: {len(view)} bytes"
        position = 0
        try:
            while (batch := parse_any_batch(view, position)) is not None:
                yield from (f"  {line}" for line in self._batch(batch))
                position += batch.size_in_bytes
        except RecordBatchError as error:
            yield f"  cannot be read from byte {position} on: {error}"
            return
        if position < len(view):
            yield f"  - {len(view) - position} bytes of an incomplete batch"

    def _batch(self, batch: RecordBatch | LegacyBatch) -> Iterator[str]:
        try:
            batch.check()
            block = batch.open()
        except RecordBatchError as error:
            yield f"- batch: {', '.join(_outer_facts(batch))}"
            yield f"  cannot be read: {error.reason}"
            return
        yield f"- batch: {', '.join(_facts(batch))}"
        shown = batch.count if self.is_full else min(batch.count, MOST_RECORDS)
        for record in islice(block, shown):
            yield f"  {record.offset}: {self._record(record)}"
        if batch.count > shown:
            yield f"  … {batch.count - shown} more; --full shows all"

    def _record(self, record: Record) -> str:
        key, value = (
            "null" if each is None else self.data(each) for each in (record.key, record.value)
        )
        headers = "".join(
            f", {name!r}: {'null' if each is None else self.data(each)}"
            for name, each in record.headers
        )
        return f"{key} → {value}, timestamp {record.timestamp}{headers}"


def _embedded(owner: str, name: str, value: Any) -> tuple[Message, int] | None:
    """Return the message of the consumer protocol in a bytes field, and its version, or None."""
    cls = _EMBEDDED.get((owner, name))
    if cls is None:
        return None
    try:
        version = int.from_bytes(value[:2], signed=True)
        return decode_versioned(cls, value), version
    except ProtocolError:  # connect, streams and others have formats of their own
        return None


def _outer_facts(batch: RecordBatch | LegacyBatch) -> Iterator[str]:
    """Yield the facts about a batch whose records cannot be read."""
    if isinstance(batch, RecordBatch):
        yield from _facts(batch)
    else:
        yield f"up to offset {batch.last_offset}"
        yield f"{batch.size_in_bytes} bytes"
        yield f"magic {batch.magic}"


def _facts(batch: RecordBatch | LegacyBatch) -> Iterator[str]:
    yield f"offsets {batch.base_offset} to {batch.last_offset}"
    yield f"{batch.count} records"
    yield f"{batch.size_in_bytes} bytes"
    if isinstance(batch, LegacyBatch):
        yield f"magic {batch.magic}"
    else:
        yield f"leader epoch {batch.partition_leader_epoch}"
    if batch.has_producer_id:
        yield (
            f"producer {batch.producer_id} epoch {batch.producer_epoch} "
            f"sequence {batch.base_sequence}"
        )
    if batch.is_transactional:
        yield "transactional"
    if batch.is_control:
        yield "control"
    if batch.attributes & COMPRESSION_MASK:
        yield codec_name(batch)


def codec_name(batch: RecordBatch | LegacyBatch) -> str:
    """Return the name of the batch's codec, or the number of an unknown codec."""
    codec = batch.attributes & COMPRESSION_MASK
    return _CODECS.get(codec, f"codec {codec}")


def _member(cls: type[ErrorCode] | type[ApiKey], value: int, name: str) -> str:
    try:
        return str(getattr(cls(value), name))
    except ValueError:
        return ""
