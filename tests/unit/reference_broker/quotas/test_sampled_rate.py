"""Rates over sliding windows: the figures of Apache Kafka's Rate."""

from __future__ import annotations

import pytest

from pyk.reference_broker.quotas.sampled_rate import LONGEST_THROTTLE_MS, SampledRate

LIMIT = 1000.0
# Milliseconds until the next use, what was used, and the throttle time that Kafka 4.3.1 computes
# after it with a limit of 1000 per second and 11 windows of a second.
USES = """
    398:1234:0 354:798:0 96:1354:0 50:1107:0 269:622:0 358:1165:0 266:895:0
    7184:1483:0 80:229:0 10436:366:0 217:1101:0 267:592:0 285:1965:0 109:1645:0
    186:755:0 10736:1025:0 174:1765:0 391:607:0 331:1070:0 2872:1442:0 223:1432:0
    932:1655:0 204:422:0 170:369:0 722:1477:1245 373:1068:1940 306:1075:2709 18:1842:4533
    294:725:5964 14740:567:0 250:1468:0 373:250:0 1266:287:0 153:587:0 73:1854:0
    356:251:0 159:1861:0 63:753:0 332:568:0 12:1597:6 16:540:530 7828:711:413
    194:1213:1432 221:816:2027 6186:241:0 303:150:0 42:275:0 12056:311:0 62:1421:0
    245:1618:0 208:1435:0 356:1513:0 168:708:0 342:1460:0 184:1587:0 273:42:0
    2714:1306:849 197:1752:2404 217:1638:3825 57:1986:6754 120:1470:8104 4580:1865:9389 99:933:10223
    12848:323:0 7650:965:0 98:1525:0 121:1184:0 313:1045:0 216:1304:0 31:864:0
    234:1378:0 76:1988:0 371:1267:1733 306:740:2167 274:967:2860 157:83:2786 47:333:3072
    271:630:4431 9414:1906:0 268:1738:0 101:1247:992 334:1364:2022 183:110:0 29:1641:0
    278:372:0 14980:567:0 300:1905:0 1:485:0 220:1805:0 169:94:0 185:1033:0
    10832:181:0 367:1710:0 152:92:0 11606:446:0 355:1204:0 364:1132:0 357:1132:0
"""


def test_throttle_times_are_those_of_kafka() -> None:
    uses = [tuple(map(int, use.split(":"))) for use in USES.split()]
    rate, now_ms, throttles = SampledRate(11, 1000), 5000, []

    for gap_ms, amount, _ in uses:
        now_ms += gap_ms
        rate.record(amount, now_ms)
        throttles.append(rate.throttle_ms(LIMIT, now_ms))

    assert throttles == [expected for _, _, expected in uses]


def test_ten_windows_may_be_used_at_once() -> None:
    rate = SampledRate(11, 1000)

    rate.record(10_000, 0)
    within = rate.throttle_ms(LIMIT, 0)
    rate.record(500, 0)

    assert (within, rate.throttle_ms(LIMIT, 0)) == (0, 500)


def test_what_is_taken_back_counts_for_nothing() -> None:
    rate = SampledRate(11, 1000)

    rate.record(50_000, 0)
    rate.record(-50_000, 0)

    assert rate.per_second(0) == 0


def test_a_rate_is_idle_when_all_its_windows_are_over() -> None:
    rate = SampledRate(11, 1000)
    rate.record(5, 0)

    assert not rate.is_idle(10_999)
    assert rate.is_idle(11_000)
    assert rate.per_second(11_000) == 0


def test_no_throttle_time_is_longer_than_a_response_can_say() -> None:
    rate = SampledRate(11, 1000)

    rate.record(1e300, 0)

    assert rate.throttle_ms(1.0, 0) == LONGEST_THROTTLE_MS


def test_a_window_ends_when_the_next_one_begins() -> None:
    rate = SampledRate(windows=2, window_ms=1000)
    rate.record(100, 0)
    rate.record(100, 1000)

    # Both in one window would count for as long as the later one does.
    assert rate.per_second(2001) == pytest.approx(100 / 1.001)
