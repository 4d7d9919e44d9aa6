"""The reference broker lets users do what Apache Kafka 4.3.1 lets them do, and hides the same.

``acl_answers.json`` has the answers of Apache Kafka to the ACL matrix (``support.acl_matrix``), for
each request the groups of users that get the same answer. ``python -m support.acl_matrix renew``
writes it again.
"""

from __future__ import annotations

import asyncio

from pyk.reference_broker.handlers.table import APIS
from support.acl_matrix.all_requests import REQUESTS, requests_of
from support.acl_matrix.answers import Answers, differences
from support.acl_matrix.brokers import reference_broker
from support.acl_matrix.golden import kept_answers
from support.acl_matrix.requests import EXEMPT
from support.acl_matrix.running import answers_of
from support.acl_matrix.users import users

KAFKA: Answers = kept_answers()


def test_users_may_do_and_see_the_same_as_on_apache_kafka() -> None:
    with reference_broker() as kafka:
        found = asyncio.run(answers_of(kafka.sasl_bootstrap))

    assert sum(map(len, found.values())) > 10_000
    assert differences(KAFKA, found) == {}


def test_every_api_of_the_broker_is_in_the_matrix() -> None:
    asked = {request.api_key for request in REQUESTS.values()}

    assert set(APIS) <= asked | set(EXEMPT), "add requests of the new APIs to support.acl_matrix"
    assert not asked & set(EXEMPT)


def test_the_answers_are_those_of_all_users_to_all_requests() -> None:
    assert KAFKA.keys() == users().keys()
    assert all(of_user.keys() == requests_of(user).keys() for user, of_user in KAFKA.items())


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
