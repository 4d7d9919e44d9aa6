"""What handlers may return to be written."""

from __future__ import annotations

import pytest

from pyk.clients import ProducerRecord
from pyk.clients.processing.results import results_of

FIRST, SECOND = ProducerRecord("bills", b"1"), ProducerRecord("bills", b"2")


@pytest.mark.parametrize(
    ("returned", "records"),
    [
        (None, ()),
        (FIRST, (FIRST,)),
        ([], ()),
        ([FIRST, SECOND], (FIRST, SECOND)),
        ((one for one in (SECOND, FIRST)), (SECOND, FIRST)),
    ],
)
def test_a_handler_returns_records_in_their_order(returned, records):
    assert results_of(returned) == records


@pytest.mark.parametrize(
    ("returned", "kind"),
    [
        ("a bill", "str"),
        ("", "str"),
        (b"a bill", "bytes"),
        (b"", "bytes"),
        (7, "int"),
        (False, "bool"),
        ([FIRST, "a bill"], "str"),
        ([None], "NoneType"),
        ({"bills": FIRST}, "str"),
    ],
)
def test_anything_else_is_refused_by_its_type(returned, kind):
    with pytest.raises(TypeError, match=f"several of them, or None, not {kind}$"):
        results_of(returned)


def test_all_but_the_topic_of_a_record_may_be_left_out():
    record = ProducerRecord("bills")

    assert (record.value, record.key, record.partition) == (None, None, None)
    assert (record.headers, record.timestamp_ms) == (None, None)


def test_what_is_rare_in_a_record_is_named():
    with pytest.raises(TypeError, match="positional"):
        ProducerRecord("bills", b"value", b"key", None)  # type: ignore[misc]
