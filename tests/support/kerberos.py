"""A key distribution centre of Kerberos on loopback, with its users. Needs MIT Kerberos.

Debian: krb5-kdc, krb5-admin-server and krb5-user; and the package gssapi for Python.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from support.apache_kafka import free_ports

REALM = "EXAMPLE"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
START_TIMEOUT = 20.0


def missing() -> str | None:
    """Return why there can be no Kerberos here, or None."""
    absent = [name for name in PROGRAMS if _program(name) is None]
    if importlib.util.find_spec("gssapi") is None:
        absent.append("the package gssapi")
    return f"Kerberos needs {', '.join(absent)}" if absent else None


class KeyDistributionCentre:
    """Runs from :meth:`__enter__` to :meth:`__exit__`; ``file`` is the configuration of clients."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kerberos-")
        self.folder = Path(self._folder.name)
        self.file = self.folder / "krb5.conf"
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead the programs and libraries of Kerberos here."""
        return {"KRB5_CONFIG": str(self.file), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}

    def __enter__(self) -> KeyDistributionCentre:
        self._configure()
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._process = subprocess.Popen(
            [str(_program("krb5kdc")), "-n"],
            env=os.environ | self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def add(self, principal: str) -> Path:
        """Add a principal with random keys, and return the keytab that has them."""
        keytab = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-q", f"addprinc -randkey {principal}@{REALM}")
        self._run("kadmin.local", "-q", f"ktadd -k {keytab} {principal}@{REALM}")
        return keytab

    def kinit(self, principal: str, keytab: Path, lifetime: str = "1h") -> str:
        """Get a ticket, and return the name of the cache that has it."""
        cache = f"FILE:{self.folder / principal}-{lifetime}"
        arguments = ["-k", "-t", str(keytab), "-l", lifetime, "-c", cache, f"{principal}@{REALM}"]
        self._run("kinit", *arguments)
        return cache

    def _run(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(_program(name)), *arguments],
            env=os.environ | self.environment,
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _wait(self) -> None:
        give_up_at = time.monotonic() + START_TIMEOUT
        while time.monotonic() < give_up_at:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("the key distribution centre did not start")

    def _configure(self) -> None:
        modules = f"[dbmodules]\n db_module_dir = {_modules()}\n" if _modules() else ""
        self.file.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self._port}\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n{modules}"
        )
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_ports = {self._port}\n kdc_tcp_ports = {self._port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {self.folder / 'principal'}\n"
            f"  key_stash_file = {self.folder / 'stash'}\n  max_life = 1h\n }}\n{modules}"
        )


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _modules() -> Path | None:
    """Return the database modules beside the programs, which may be in a folder of their own."""
    program = _program("krb5kdc")
    folders = Path(program or "/").parent.parent.glob("lib/*/krb5/plugins/kdb")
    return next(folders, None)
