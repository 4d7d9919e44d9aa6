"""What is said of a consumer that is never closed."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.faces.closing import warn_of_dropped


@pytest.mark.parametrize(
    ("can_leave", "says"),
    [(True, "it leaves its group now"), (False, "its group keeps it until its session ends")],
)
def test_a_dropped_consumer_says_whether_it_can_leave_its_group(can_leave, says):
    with pytest.warns(ResourceWarning, match=says):
        warn_of_dropped("consumer", can_leave=can_leave)
