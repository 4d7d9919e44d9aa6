"""The text of ``max.connections.per.ip.overrides``."""

from __future__ import annotations


def counts_by_ip(overrides: str) -> dict[str, int]:
    """Return the limits in ``max.connections.per.ip.overrides``; raise ``ValueError``.

    The form is ``address:count,address:count``; an address of IPv6 may have brackets, and any form.
    """
    from ipaddress import ip_address

    counts = {}
    for each in filter(None, map(str.strip, overrides.split(","))):
        host, _, count = each.rpartition(":")
        try:
            address = ip_address(host.strip().strip("[]"))
        except ValueError:
            address = None
        if address is None or not count.strip().isdigit():
            raise ValueError(f"must be address:count,…, not {each!r}")
        counts[str(address)] = int(count)
    return counts


def are_counts_by_ip(overrides: str) -> bool:
    """Return whether a str has that form."""
    try:
        counts_by_ip(overrides)
    except ValueError:
        return False
    return True
