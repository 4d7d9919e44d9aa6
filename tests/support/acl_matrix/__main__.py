"""``renew`` the answers of Apache Kafka in ``tests/golden/acl_answers.json``, or ``compare`` the
reference broker with them; after it, names of users to be quick."""

from __future__ import annotations

import asyncio
import json
import sys

from support.acl_matrix.answers import Answers, differences, grouped
from support.acl_matrix.brokers import apache_kafka, reference_broker
from support.acl_matrix.golden import FILE, kept_answers
from support.acl_matrix.running import answers_of


def renew() -> None:
    with apache_kafka() as kafka:
        answers = asyncio.run(answers_of(kafka.sasl_bootstrap))
    FILE.write_text(_as_text(answers))
    print(f"{sum(map(len, answers.values()))} answers of {len(answers)} users are in {FILE}")


def compare(*only: str) -> None:
    with reference_broker() as kafka:
        found = asyncio.run(answers_of(kafka.sasl_bootstrap, only))
    different = differences(kept_answers(), found)
    for request, by_user in different.items():
        pairs: dict[str, list[str]] = {}
        for user, (wanted, answer) in by_user.items():
            text = (
                f"  Apache Kafka     {json.dumps(wanted)}\n  reference broker {json.dumps(answer)}"
            )
            pairs.setdefault(text, []).append(user)
        print(request)
        for text, users in pairs.items():
            print(f" {' '.join(users)}\n{text}")
    cells = sum(map(len, found.values()))
    print(f"{sum(map(len, different.values()))} of {cells} answers differ")


def _as_text(answers: Answers) -> str:
    lines = []
    for name, of_request in grouped(answers).items():
        groups = ",\n  ".join(json.dumps(one) for one in of_request)
        lines.append(f" {json.dumps(name)}: [\n  {groups}]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


match sys.argv[1:]:
    case ["renew"]:
        renew()
    case ["compare", *only]:
        compare(*only)
    case _:
        sys.exit(__doc__)
