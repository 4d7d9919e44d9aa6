"""The ACL matrix: every API beside users with every kind of ACL, on any broker.

A *cell* is one request of one user. The users (:mod:`.users`) have ACLs that make a difference, the
requests (:mod:`.requests`) ask for every resource that an API checks, and :mod:`.running` sends
each request as each user and notes what the response gives away: error codes, and which names are
visible. The answers of Apache Kafka are kept in ``tests/golden/acl_answers.json``. After a change
of requests or users renew them in ``tests`` with ``python -m support.acl_matrix renew``.
"""
