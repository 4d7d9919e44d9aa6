"""A broker in its own process, for clients of other projects."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from support.broker_process import BrokerProcess


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture
def bootstrap(broker: BrokerProcess) -> str:
    return broker.bootstrap


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # These clients may leave sockets open: do not fail for that.
    for item in items:
        if "interop" in item.path.parts:
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(autouse=True)
def collect_what_clients_left() -> Iterator[None]:
    """Collect garbage while the warnings about it are ignored."""
    yield
    gc.collect()
