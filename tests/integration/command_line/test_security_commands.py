"""``pyk acl``, ``pyk user`` and ``pyk quota`` from scripts and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.clients import Admin, Scram
from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Run a cluster where ``admin`` may do everything, and others what ACLs allow."""
    with Cluster(sasl={"admin": "a", "shop": "s"}, super_users=["admin"]) as cluster:
        cluster.create_topic("orders")
        yield cluster


@pytest.fixture
def words(cluster: Cluster, tmp_path: Path) -> list[str]:
    """Return the options that log in as ``admin``."""
    path = tmp_path / "admin.properties"
    properties = cluster.client_properties(user="admin")
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return ["--properties", str(path)]


ALLOWED = "User:ann\tallow\tread\ttopic\torders\tliteral\t*\n"


def test_acls_are_created_listed_and_deleted(words: list[str]) -> None:
    created = run("acl", "create", "-p", "ann", "-o", "read", "--topic", "orders", *words)
    run("acl", "create", "-p", "ann", "-o", "all", "--group", "a-", "--prefixed", "--deny", *words)
    listed = run("acl", "list", *words)
    of_topics = run("acl", "list", "--topic", "orders", "--json", *words)
    tried = run("acl", "delete", "--topic", "orders", "--dry-run", *words)
    deleted = run("acl", "delete", "-p", "User:ann", *words)

    assert (created.code, created.out, created.err) == (0, "", "")
    assert listed.out == f"{ALLOWED}User:ann\tdeny\tall\tgroup\ta-\tprefixed\t*\n"
    assert of_topics.json == [
        {"principal": "User:ann", "permission": "allow", "operation": "read",
         "resourceType": "topic", "name": "orders", "pattern": "literal", "host": "*"}
    ]  # fmt: skip
    assert tried.out == ALLOWED
    assert sorted(deleted.lines) == sorted(listed.lines)
    assert run("acl", "list", *words).out == ""


def test_every_combination_of_the_options_is_an_acl(words: list[str]) -> None:
    ran = run(
        "acl", "create", "-p", "ann", "-p", "bob", "-o", "read", "-o", "DESCRIBE",
        "--topic", "a", "--cluster", "--host", "192.0.2.1", "--json", *words,
    )  # fmt: skip

    run("acl", "delete", "--all", *words)
    assert len({str(each) for each in ran.json}) == 8
    assert {each["name"] for each in ran.json} == {"a", "kafka-cluster"}
    assert {each["host"] for each in ran.json} == {"192.0.2.1"}


def test_a_match_finds_the_acls_about_a_resource(words: list[str]) -> None:
    run("acl", "create", "-p", "ann", "-o", "read", "--topic", "ord", "--prefixed", *words)
    run("acl", "create", "-p", "ann", "-o", "read", "--topic", "other", *words)

    found = run("acl", "list", "--topic", "orders", "--pattern", "match", *words)

    run("acl", "delete", "--all", *words)
    assert found.out == "User:ann\tallow\tread\ttopic\tord\tprefixed\t*\n"


def test_acls_on_a_terminal_are_tables_and_deleting_asks(words: list[str]) -> None:
    made = run_on_terminal("acl", "create", "-p", "ann", "-o", "read", "--topic", "a", *words)
    table = run_on_terminal("acl", "list", *words)
    kept = run_on_terminal("acl", "delete", "--topic", "a", *words, typed="n\n")
    gone = run_on_terminal("acl", "delete", "--topic", "a", *words, typed="y\n")

    assert made.lines == ["ACL created: User:ann allow read on topic a (literal) from *"]
    assert table.lines == [
        "Principal  Permission  Operation  Resource  Name  Pattern  Host",
        "User:ann   allow       read       topic     a     literal  *",
    ]
    assert (kept.code, gone.code) == (1, 0)
    assert "Delete User:ann allow read on topic a (literal) from *? [y/N]:" in kept.out
    assert run("acl", "list", *words).out == ""


def test_a_user_gets_a_password_and_loses_it(cluster: Cluster, words: list[str]) -> None:
    made = run("user", "set", "ann", *words, stdin="first\n")
    again = run("user", "set", "ann", "-m", "scram-sha-256", "--password-from", "env:ANN",
                "--iterations", 8192, "--json", *words, env={"ANN": "secret"})  # fmt: skip
    listed = run("user", "list", "ann", *words)
    auth = Scram("ann", "first")
    with Admin(cluster.bootstrap, security_protocol="SASL_PLAINTEXT", auth=auth) as ann:
        assert ann.describe_cluster().nodes
    deleted = run("user", "delete", "ann", "-m", "SCRAM-SHA-512", *words)

    assert (made.code, made.out, made.err) == (0, "", "")
    assert again.json == [{"user": "ann", "mechanism": "SCRAM-SHA-256", "iterations": 8192}]
    assert listed.out == "ann\tSCRAM-SHA-256\t8192\nann\tSCRAM-SHA-512\t4096\n"
    assert (deleted.code, deleted.out) == (0, "")
    assert run("user", "list", "ann", *words).out == "ann\tSCRAM-SHA-256\t8192\n"


def test_a_terminal_asks_for_a_password_without_showing_it(words: list[str]) -> None:
    made = run_on_terminal("user", "set", "eve", *words, secrets=["secret", "secret"])
    table = run_on_terminal("user", "list", "eve", *words)
    gone = run_on_terminal("user", "delete", "eve", "-y", *words)

    assert made.code == 0
    assert made.lines[-1] == "user eve can log in by SCRAM-SHA-512"
    assert table.lines == [
        "User  Mechanism      Iterations",
        "eve   SCRAM-SHA-512        4096",
    ]
    assert gone.lines == ["user eve cannot log in by SCRAM-SHA-512 any more"]


def test_limits_are_set_listed_and_lifted(words: list[str]) -> None:
    tried = run("quota", "set", "producer_byte_rate=10", "--user", "ann", "--dry-run", *words)
    empty = run("quota", "list", *words)
    run("quota", "set", "producer_byte_rate=1000", "request_percentage=12.5",
        "--user", "ann", "--default", "client-id", *words)  # fmt: skip
    run("quota", "set", "connection_creation_rate=5", "--ip", "192.0.2.1", *words)
    listed = run("quota", "list", *words)
    of_ip = run("quota", "list", "--ip", "192.0.2.1", "--json", *words)
    table = run_on_terminal("quota", "list", "--user", "ann", *words)
    told = run_on_terminal("quota", "unset", "connection_creation_rate", "--ip", "192.0.2.1",
                           *words)  # fmt: skip
    run("quota", "unset", "producer_byte_rate", "request_percentage",
        "--user", "ann", "--default", "client-id", *words)  # fmt: skip

    assert (tried.code, empty.out) == (0, "")
    assert listed.out == (
        "-\t-\t192.0.2.1\tconnection_creation_rate\t5\n"
        "ann\t<default>\t-\tproducer_byte_rate\t1000\n"
        "ann\t<default>\t-\trequest_percentage\t12.5\n"
    )
    assert of_ip.json == [
        {"user": None, "clientId": None, "ip": "192.0.2.1", "limit": "connection_creation_rate",
         "value": 5}
    ]  # fmt: skip
    assert table.lines[0].split() == ["User", "Client", "id", "Ip", "Limit", "Value"]
    assert told.lines == ["ip 192.0.2.1: changed: connection_creation_rate"]
    assert run("quota", "list", *words).out == ""


def test_a_limit_is_set_on_a_terminal(words: list[str]) -> None:
    told = run_on_terminal("quota", "set", "producer_byte_rate=1", "--default", "user", *words)

    run("quota", "unset", "producer_byte_rate", "--default", "user", *words)
    assert told.lines == ["user <default>: changed: producer_byte_rate"]


@pytest.mark.parametrize(
    ("given", "code", "line"),
    [
        ("acl create -p ann", 2, "an ACL needs a --principal, an --operation and a resource"),
        ("acl create -p ann -o read --cluster --prefixed", 2, "--prefixed does not go with"),
        ("acl create -p ann -o raed --topic a", 2, "'raed' is not one of 'all', 'read'"),
        ("acl delete", 2, "name what to delete, such as --topic or --principal, or --all"),
        ("acl delete --topic none", 1, "no ACL matches; see pyk acl list"),
        ("user set ann --password-from secret", 2, "it must be env:NAME, file:PATH or command:…"),
        ("user set ann", 2, "the password is empty"),
        ("user delete shpo", 1, "user 'shpo' does not exist; did you mean 'shop'?"),
        ("user list shpo", 1, "user 'shpo' does not exist; did you mean 'shop'?"),
        ("quota set producer_byte_rate=1", 2, "name whom it is for: --user, --client-id, --ip or"),
        ("quota set producer_byte_rat=1 --user a", 2, "did you mean 'producer_byte_rate'?"),
        ("quota set producer_byte_rate=x --user a", 2, "must be a number, not 'x'"),
        ("quota set request_percentage=1 --user a --default user", 2, "exclude each other"),
    ],
)
def test_errors_say_what_to_do(words: list[str], given: str, code: int, line: str) -> None:
    ran = run(*given.split(), *words)

    assert (ran.code, ran.out) == (code, "")
    assert line in ran.err


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (["acl", "create", "-p", "", "-o", "read", "--topic", "a"], "--principal"),
        (["acl", "create", "-p", "User:", "-o", "read", "--topic", "a"], "--principal"),
        (["acl", "create", "-p", "ann", "-o", "read", "--topic", "a", "--host", ""], "--host"),
        (["acl", "create", "-p", "ann", "-o", "read", "--topic", ""], "--topic"),
        (["acl", "delete", "-p", ""], "--principal"),
        (["acl", "list", "--topic", ""], "--topic"),
        (["quota", "set", "producer_byte_rate=1", "--user", ""], "--user"),
        (["quota", "unset", "producer_byte_rate", "--client-id", ""], "--client-id"),
        (["quota", "list", "--ip", ""], "--ip"),
    ],
)
def test_an_empty_name_is_refused(words: list[str], given: list[str], option: str) -> None:
    ran = run(*given, *words)

    assert (ran.code, ran.out) == (2, "")
    assert option in ran.err
    assert "the name is empty" in ran.err


def test_a_password_that_is_no_text_is_refused(words: list[str]) -> None:
    ran = run("user", "set", "ann", "--password-from", "env:ANN", *words, env={"ANN": "\udcff"})

    assert ran == Ran(2, "", "error: the password is not UTF-8\n")


def test_the_errors_of_several_acls_name_each_in_words() -> None:
    given = "acl create -p ann -o read -o write --topic a- --prefixed --host 10.0.0.1"

    with Cluster() as cluster:
        ran = run(*given.split(), "-b", cluster.bootstrap)

    assert ran == Ran(
        1,
        "",
        "error: 2 of 2 failed; "
        "User:ann ALLOW READ on TOPIC 'a-' (PREFIXED) from 10.0.0.1: "
        "SECURITY_DISABLED (54): No Authorizer is configured.; "
        "User:ann ALLOW WRITE on TOPIC 'a-' (PREFIXED) from 10.0.0.1: "
        "SECURITY_DISABLED (54): No Authorizer is configured.\n",
    )


def test_a_cluster_without_an_authorizer_is_told() -> None:
    with Cluster() as cluster:
        ran = run("acl", "list", "-b", cluster.bootstrap)

    assert ran.code == 1
    assert ran.err.startswith("error: SECURITY_DISABLED (54)")
