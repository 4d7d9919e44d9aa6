"""The answers of Apache Kafka 4.3.1 to the ACL matrix, as they were written down."""

from __future__ import annotations

import json
from pathlib import Path

from support.acl_matrix.answers import Answers, ungrouped

FILE = Path(__file__).parents[2] / "golden" / "acl_answers.json"


def kept_answers() -> Answers:
    return ungrouped(json.loads(FILE.read_text()))
