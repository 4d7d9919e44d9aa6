from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from golden.protocol_facts import schemas
from pyk.protocol import known_messages, message_class
from support.message_values import message_values
from support.table_codec import Reader, Writer


@pytest.mark.parametrize("name", known_messages())
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_generated_codec_and_the_table_codec_agree_on_any_value(
    name: str, data: st.DataObject
) -> None:
    cls, schema = message_class(name), schemas()[name]
    version = data.draw(st.sampled_from(list(cls.versions)))
    value = data.draw(message_values(schema, version))

    judged = Writer(schema, version).message(value)

    message = cls.from_json(value, version)
    assert message.encode(version) == judged
    assert cls.decode(judged, version) == message
    assert message.to_json(version) == value == Reader(schema, version, judged).message()
