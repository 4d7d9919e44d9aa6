"""The reference broker lets users do what Apache Kafka 4.3.1 lets them do, and hides the same.

``acl_answers.json`` has the answers of Apache Kafka to the ACL matrix (``support.acl_matrix``), for
each request the groups of users that get the same answer. ``python -m support.acl_matrix renew``
writes it again.
"""

from __future__ import annotations

from pyk.reference_broker.handlers.table import APIS
from support.acl_matrix.admin_requests import REQUESTS
from support.acl_matrix.answers import Answers
from support.acl_matrix.golden import kept_answers
from support.acl_matrix.requests import EXEMPT
from support.acl_matrix.users import users

KAFKA: Answers = kept_answers()


def test_every_api_of_the_broker_is_in_the_matrix() -> None:
    asked = {request.api_key for request in REQUESTS.values()}

    assert set(APIS) <= asked | set(EXEMPT), "add requests of the new APIs to support.acl_matrix"
    assert not asked & set(EXEMPT)


def test_the_answers_are_those_of_all_users_to_all_requests() -> None:
    assert KAFKA.keys() == users().keys()
    assert all(of_user.keys() == REQUESTS.keys() for of_user in KAFKA.values())


def test_every_request_is_allowed_to_some_and_denied_to_others() -> None:
    indifferent = {name for name in REQUESTS if KAFKA["everything"][name] == KAFKA["no-acls"][name]}

    assert indifferent == {
        "create a delegation token",  # of oneself: everybody may
        "renew a delegation token",
        "expire a delegation token",
    }


def test_acls_of_other_hosts_change_nothing() -> None:
    assert KAFKA["everything-elsewhere"] == KAFKA["no-acls"]
    assert KAFKA["everything-but-elsewhere"] == KAFKA["everything-here"] == KAFKA["everything"]
