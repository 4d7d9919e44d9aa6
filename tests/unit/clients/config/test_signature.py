"""What ``inspect.signature`` and ``help`` tell of the clients is made from the table of options."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
from pathlib import Path
from typing import Any

import pytest

from pyk.clients import Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer
from pyk.clients.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from pyk.clients.errors import ConfigurationError
from support.canaries import check, shown_with_variables

CLIENTS: list[tuple[Any, type[ClientConfig]]] = [
    (Producer, ProducerConfig),
    (AsyncProducer, ProducerConfig),
    (Consumer, ConsumerConfig),
    (AsyncConsumer, ConsumerConfig),
    (Admin, AdminConfig),
    (AsyncAdmin, AdminConfig),
]


@pytest.mark.parametrize(("client", "config"), CLIENTS)
def test_the_signature_has_every_option_with_its_default(
    client: Any, config: type[ClientConfig]
) -> None:
    parameters = inspect.signature(client).parameters

    assert next(iter(parameters)) == "bootstrap_servers"
    for name, option in config.options().items():
        assert name in parameters, name
        if name != "bootstrap_servers":
            assert parameters[name].default == option.default, name
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not [one for one in parameters.values() if one.kind is inspect.Parameter.VAR_KEYWORD]


@pytest.mark.parametrize(("client", "config"), CLIENTS)
def test_overrides_of_properties_are_the_options(client: Any, config: type[ClientConfig]) -> None:
    parameters = inspect.signature(client.from_properties).parameters

    assert next(iter(parameters)) == "source"
    assert set(config.options()) <= set(parameters)


def test_annotations_are_types_that_can_be_looked_at() -> None:
    parameters = inspect.signature(Producer).parameters

    assert parameters["linger_ms"].annotation is int
    assert parameters["value_serializer"].default is None


@pytest.mark.parametrize(("client", "config"), CLIENTS)
def test_help_explains_every_option(client: Any, config: type[ClientConfig]) -> None:
    text = " ".join(pydoc.plain(pydoc.render_doc(client)).replace("|", " ").split())

    for option in config.options().values():
        assert f"{option.name}: {option.doc}" in text


def test_the_topics_of_a_consumer_are_explained_too() -> None:
    text = pydoc.plain(pydoc.render_doc(Consumer))

    assert "topics" in inspect.signature(Consumer).parameters
    assert "default 'latest'" in text


def test_the_signature_can_be_changed_and_copied() -> None:
    signature = inspect.signature(Producer.__init__)

    shorter = signature.replace(parameters=list(signature.parameters.values())[:1])

    assert list(shorter.parameters) == ["self"]
    assert copy.deepcopy(signature) == pickle.loads(pickle.dumps(signature)) == signature


def test_a_subclass_keeps_its_own_constructor() -> None:
    class Mine(Producer[bytes, bytes]):
        def __init__(self, server: str) -> None:
            super().__init__(server)

    assert list(inspect.signature(Mine).parameters) == ["server"]


CANARY = "s3cr3t-canary"
JAAS = f'PlainLoginModule required username="alice" password="{CANARY}"'


@pytest.mark.parametrize("client", [client for client, _ in CLIENTS])
@pytest.mark.parametrize(
    "options",
    [
        {"sasl_plain_username": "alice", "sasl_plain_password": CANARY, "linger": 5},
        {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_jaas_config": JAAS},
        {"proxy": f"socks5://alice:{CANARY}@proxy.example"},
        {
            "security_protocol": "SSL",
            "ssl_keystore_certificate_chain": "x",
            "ssl_keystore_key": CANARY,
        },
    ],
    ids=["unknown", "JAAS", "proxy", "key"],
)
def test_errors_of_options_show_no_secret_even_with_local_variables(
    client: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    dotted = {name.replace("_", "."): value for name, value in options.items()}
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in dotted.items()))
    makings = (
        lambda: client("localhost:9092", **options),
        lambda: client.from_properties(dotted, bootstrap_servers="localhost:9092"),
        lambda: client.from_properties(file, bootstrap_servers="localhost:9092", **options),
    )
    for make in makings:
        with pytest.raises(ConfigurationError) as caught:
            make()

        shown = shown_with_variables(caught.value)
        check(shown, CANARY)
        assert "signature.py" in shown
