"""CRC-32C, as the C extension of the package ``crc32c`` computes it.

The package itself looks up its own version when it is imported, for which it loads a dozen modules
and takes longer than all of ``pyk.protocol``. Its extension needs none of that.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Protocol


class Checksum(Protocol):
    """A CRC-32C of data, which may go on from that of the data before."""

    def __call__(self, data: bytes | bytearray | memoryview, value: int = 0, /) -> int: ...


def _load() -> Checksum:
    package = find_spec("crc32c")
    locations = package.submodule_search_locations if package is not None else None
    extension = PathFinder.find_spec("crc32c._crc32c", locations)
    if extension is None or extension.loader is None:
        from crc32c import crc32c as whole_package

        package_checksum: Checksum = whole_package
        return package_checksum
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    checksum: Checksum = module.crc32c
    return checksum


crc32c = _load()
