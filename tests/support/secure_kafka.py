"""Brokers with listeners of every security protocol: an Apache Kafka, and ``pyk broker``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from support.apache_kafka import ApacheKafka, free_ports
from support.broker_process import BrokerProcess
from support.secure_listeners import SecureListeners, add_bob


class SecureKafka(ApacheKafka):
    """An Apache Kafka with :class:`SecureListeners` beside the plain one."""

    def __init__(self, session_ms: int = 1500) -> None:
        super().__init__()
        self._certificates = tempfile.TemporaryDirectory()
        self.secured = SecureListeners(Path(self._certificates.name), session_ms)
        self.authority, self.client_file = self.secured.authority, self.secured.client_file

    def at(self, listener: str) -> str:
        return self.secured.at(listener)

    def __enter__(self) -> SecureKafka:
        super().__enter__()
        add_bob(self.bootstrap)
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._certificates.cleanup()

    def _properties(self) -> dict[str, str]:
        mine = super()._properties()
        for name in ("listeners", "advertised.listeners"):
            mine[name] += f",{self.secured.addresses}"
        mine["listener.security.protocol.map"] += f",{self.secured.protocols}"
        return mine | self.secured.properties()


class SecureBroker(BrokerProcess):
    """``pyk broker`` with :class:`SecureListeners` beside the plain one."""

    def __init__(self, folder: Path, session_ms: int) -> None:
        self.secured = SecureListeners(folder, session_ms)
        configs = {
            "listeners": f"PLAINTEXT://localhost:{free_ports(1)[0]},{self.secured.addresses}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{self.secured.protocols}",
            **self.secured.properties(),
        }
        options = [f"--config={name}={value}" for name, value in configs.items()]
        super().__init__(folder / "data", *options, port=None)

    def start(self) -> None:
        super().start()
        add_bob(self.bootstrap)
