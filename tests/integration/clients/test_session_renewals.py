"""Sessions that are renewed each second under full load (KIP-368): nothing is lost or repeated.

``python -m support.session_renewals`` runs the same for as long as is wanted.
"""

from __future__ import annotations

import pytest

from support import apache_kafka
from support.session_renewals import counted_renewals, renew_under_load, renewing_broker

SECONDS = 3


@pytest.mark.parametrize(
    "broker", ["reference", pytest.param("apache", marks=pytest.mark.conformance)]
)
def test_nothing_is_lost_or_reordered_while_sessions_are_renewed_each_second(broker: str) -> None:
    if broker == "apache" and (why := apache_kafka.missing()):
        pytest.skip(why)
    with renewing_broker(broker) as options, counted_renewals() as renewals:
        account = renew_under_load(options, "all", SECONDS)
        assert (account.failed, account.missing) == (0, 0)
        assert (account.repeated, account.out_of_order) == (0, 0)

        account = renew_under_load(options, "1", SECONDS)  # a retry may repeat a record
        assert (account.failed, account.missing) == (0, 0)

        # What is under way on a connection that ends is lost, but what arrives is whole.
        account = renew_under_load(options, "0", SECONDS)
        assert account.read > 0
        assert account.out_of_order == 0

    assert renewals.logins > 3 * SECONDS
