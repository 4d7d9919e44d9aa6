"""Where the fields of a batch header lie is written down once, in ``records/layout``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from struct import Struct, calcsize

import pytest

from pyk.protocol.records import layout

ROOT = Path(__file__).parents[2]
PARTS = ("runtime", "protocol", "clients", "reference_broker", "spark_connector", "command_line")
LAYOUT = ROOT / "protocol/pyk/protocol/records/layout.py"
OLD_FORMATS = LAYOUT.with_name("legacy.py")
"""Messages of magic 0 and 1 have a layout of their own."""

FIELDS = dict(
    zip(
        (
            *("base offset", "length", "leader epoch", "magic", "crc", "attributes"),
            *("last offset delta", "base timestamp", "max timestamp"),
            *("producer id", "producer epoch", "base sequence", "count"),
        ),
        layout.HEADER.format.removeprefix(">"),
        strict=True,
    )
)
STARTS = dict(
    zip(
        FIELDS,
        accumulate((calcsize(f">{form}") for form in FIELDS.values()), initial=0),
        strict=False,
    )
)
EXTENTS = {(start, start + calcsize(f">{FIELDS[name]}")) for name, start in STARTS.items()}


def layouts() -> list[str]:
    """Return the layouts of several fields of the header, as struct formats."""
    forms = [each.format for each in vars(layout).values() if isinstance(each, Struct)]
    return [form for form in forms if sum(map(str.isalpha, form)) > 1]


def sources() -> Iterator[Path]:
    for part in PARTS:
        for path in (ROOT / part).rglob("*.py"):
            if "messages" not in path.parts and path not in (LAYOUT, OLD_FORMATS):
                yield path


def restatements(source: str) -> Iterator[str]:
    """Yield what in a source says again how a batch header is laid out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in layouts():
            yield ast.unparse(node)
        if isinstance(node, ast.Slice) and _extent(node) in EXTENTS:
            yield ast.unparse(node)


def _extent(node: ast.Slice) -> tuple[object, object]:
    known = {**vars(layout)}
    ends = (node.lower, node.upper)
    is_written_out = any(isinstance(each, ast.Constant) and each.value for each in ends)
    if not is_written_out:
        return None, None
    first, last = (
        each.value if isinstance(each, ast.Constant) else known.get(getattr(each, "id", ""))
        for each in ends
    )
    return first, last


def test_header_has_the_size_of_its_fields() -> None:
    assert layout.HEADER.size == layout.HEADER_BYTES
    assert layout.MIN_LENGTH == layout.HEADER_BYTES - layout.LENGTH_END
    assert STARTS["leader epoch"] == layout.LENGTH_END
    assert STARTS["crc"] == layout.START_BYTES


@pytest.mark.parametrize(
    ("position", "field"),
    [
        (layout.LENGTH_AT, "length"),
        (layout.LEADER_EPOCH_AT, "leader epoch"),
        (layout.MAGIC_AT, "magic"),
        (layout.CRC_AT, "crc"),
        (layout.ATTRIBUTES_AT, "attributes"),
        (layout.MAX_TIMESTAMP_AT, "max timestamp"),
        (layout.PRODUCER_ID_AT, "producer id"),
    ],
)
def test_position_of_a_field_is_that_in_the_whole_header(position: int, field: str) -> None:
    assert position == STARTS[field]


@pytest.mark.parametrize(
    ("part", "start", "fields"),
    [
        (layout.HEADER_START, 0, ["base offset", "length", "magic"]),
        (
            layout.HEADER_AS_STORED,
            0,
            [each for each in FIELDS if each not in ("crc", "base timestamp", "count")],
        ),
        (layout.HEADER_EXTENT, 0, ["base offset", "length", "magic", "last offset delta"]),
        (layout.PRODUCER, layout.PRODUCER_ID_AT, [*FIELDS][9:12]),
        (layout.PLACEMENT, 0, ["base offset", "length", "leader epoch"]),
    ],
)
def test_part_of_a_header_reads_what_the_whole_one_reads(
    part: Struct, start: int, fields: list[str]
) -> None:
    values = dict(zip(FIELDS, range(1, 14), strict=True))
    header = layout.HEADER.pack(*values.values())

    assert part.unpack_from(header, start) == tuple(values[each] for each in fields)


@pytest.mark.parametrize(
    "source",
    [
        'HEADER = Struct(">qiibIhiqqqhii")',
        'PLACEMENT = struct.Struct(">qii")',
        "length = int.from_bytes(data[8:12])",
        "length = int.from_bytes(data[8:LENGTH_END])",
        "crc = data[17:21]",
    ],
)
def test_a_second_layout_is_found(source: str) -> None:
    assert list(restatements(source))


def test_batch_header_layout_is_defined_once() -> None:
    found = {str(path): list(restatements(path.read_text())) for path in sources()}

    assert {path: texts for path, texts in found.items() if texts} == {}
