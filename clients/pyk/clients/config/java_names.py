"""Find pyk's twins of the Java classes that properties files name. Pure."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

# A package in small letters, then a class: `com.example.AvroDeserializer`, not `json.loads`.
JAVA_CLASS = r"[a-z_$][\w$]*(\.[\w$]+)*\.[A-Z][\w$]*"

KAFKA = "org.apache.kafka.common.serialization"
BYTES = frozenset(
    f"{KAFKA}.{kind}{role}"
    for kind in ("ByteArray", "ByteBuffer", "Bytes")
    for role in ("Serializer", "Deserializer")
)
TWINS = {
    f"{package}.{prefix}{kind}{role}": f"{kind}{role}"
    for package, prefix, kinds in (
        (KAFKA, "", ("String", "Integer", "Long", "Double")),
        ("io.confluent.kafka.serializers", "Kafka", ("Json",)),
        ("org.apache.kafka.connect.json", "", ("Json",)),
    )
    for kind in kinds
    for role in ("Serializer", "Deserializer")
}


def is_java_class(given: object) -> bool:
    """Return whether an option's value is the full name of a Java class."""
    return isinstance(given, str) and re.fullmatch(JAVA_CLASS, given.strip()) is not None


def has_twin(name: str) -> bool:
    """Return whether pyk has an equivalent of a Java serializer or deserializer."""
    return name.strip() in BYTES or name.strip() in TWINS


def twin(name: str) -> Any:
    """Return the equivalent of a Java class; None leaves bytes as they are."""
    if name.strip() in BYTES:
        return None
    return getattr(import_module("pyk.clients.serialization"), TWINS[name.strip()])()
