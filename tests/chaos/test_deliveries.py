"""The checks of ``make chaos`` for groups find what groups may not do, and nothing else."""

from __future__ import annotations

from chaos.deliveries import ShareAudit, commits_that_went_back, two_owners, unhandled

P = "orders-0"


def notes(*lines):
    """Return notes of (process, kind, fields), one second after another."""
    return [
        {"process": process, "f": kind, "time": float(time), "group": "g", "partition": P} | fields
        for time, (process, kind, fields) in enumerate(lines)
    ]


def shared(log, *lines):
    audit = ShareAudit(limit=5)
    for note in notes(*lines):
        audit.add(note)
    return audit.anomalies(log), dict(audit.outcomes)


def delivered(kind, count=1, offset=0):
    return "delivered", {"offset": offset, "value": f"v{offset}", "count": count, "said": kind}


def confirmed(error=None):
    return "acknowledged", {"ranges": [[0, 1]], "error": error}


def moved(process, kind):
    return process, kind, {"partitions": [P]}


def test_a_value_that_no_member_of_the_group_handled_is_found():
    handled = notes(("a", "handled", {"offset": 0, "value": "v0"}))

    assert unhandled("g", handled, {(P, 0): "v0"}) == []
    assert unhandled("g", handled, {(P, 0): "other"}) == [f"g never handled other at {P}@0"]
    assert unhandled("other", handled, {(P, 0): "v0"}) == [f"other never handled v0 at {P}@0"]


def test_a_commit_below_the_one_before_is_found():
    forward = [("g", P, 5), ("g", "orders-1", 2), ("g", P, 5), ("h", P, 1), ("g", P, 6)]

    assert commits_that_went_back(forward) == []
    assert commits_that_went_back([*forward, ("g", P, 4)]) == [f"g went back from 6 to 4 in {P}"]


def test_a_partition_that_is_given_up_after_another_member_got_it_has_two_owners():
    taken = (moved("a", "assigned"), moved("b", "assigned"))

    assert two_owners("g", notes(*taken, moved("a", "revoked"))) == [
        f"g: a gave up {P} at 2.000, b had it since 1.000"
    ]
    assert two_owners("g", notes(*taken, moved("a", "lost"))) == []
    assert two_owners("g", notes(*taken, ("a", "stopped", {}), moved("a", "revoked"))) == []
    handed_over = (moved("a", "assigned"), moved("a", "revoked"), moved("b", "assigned"))
    assert two_owners("g", notes(*handed_over, moved("b", "revoked"))) == []


def test_a_record_that_was_never_delivered_is_found():
    assert shared({(P, 0): "v0"}) == ([f"v0 at {P}@0 was never delivered"], {"never delivered": 1})


def test_accepted_and_unconfirmed_records_are_finished():
    log = {(P, 0): "v0"}

    assert shared(log, ("a", *delivered("accept")), ("a", *confirmed())) == (
        [],
        {"accepted or rejected": 1},
    )
    assert shared(log, ("a", *delivered("accept"))) == (
        [],
        {"acknowledged without confirmation": 1},
    )


def test_a_record_that_is_delivered_again_after_it_was_accepted_is_found():
    log = {(P, 0): "v0"}
    first = (("a", *delivered("accept")), ("a", *confirmed()))
    second = ("b", *delivered("accept", count=2))

    found, _ = shared(log, *first, second, ("b", *confirmed()))
    assert found == [f"{P}@0 was delivered again after it was finished"]


def test_a_late_acknowledgement_of_a_record_that_another_member_has_accepted_may_be_confirmed():
    log = {(P, 0): "v0"}
    late, first = ("a", *delivered("accept")), ("b", *delivered("accept", count=2))

    found, _ = shared(log, late, first, ("b", *confirmed()), ("a", *confirmed()))
    assert found == []


def test_a_delivery_past_the_limit_is_found():
    released = [("a", *delivered("release", count=count)) for count in range(1, 6)]

    assert shared({(P, 0): "v0"}, *released) == ([], {"ended by its limit": 1})
    found, _ = shared({(P, 0): "v0"}, *released, ("a", *delivered("release", count=6)))
    assert found == ["v0 had delivery count 6"]


def test_a_record_that_was_given_back_unread_is_counted_by_itself():
    found, outcomes = shared({(P, 0): "v0"}, ("a", *delivered("release", count=2)))

    assert found == []
    assert outcomes == {"ended, partly unread": 1}


def test_a_delivery_of_another_value_is_found():
    found, _ = shared({(P, 0): "w"}, ("a", *delivered("accept")), ("a", *confirmed()))

    assert found == [f"w at {P}@0 was delivered as v0"]
