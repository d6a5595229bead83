"""IP addresses of the public internet, by a table of our own.

Python's `ipaddress` has such a table, too, but an older one in each older release (3.11.7 takes
192.0.0.0/24 for public), so what a server may reach would depend on the Python that runs it.
"""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

UNICAST = ipaddress.IPv6Network("2000::/3")
"""All IPv6 addresses that are given to machines of the public internet (RFC 4291, section 2.4)."""

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv6 addresses that gateways translate to the IPv4 address in their last 32 bits (RFC 6052)."""

SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # behind a provider's address translation
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local; clouds give secrets to their machines there
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4, which are deprecated
            "192.168.0.0/16",  # private use
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved; the last one is broadcast
            "2001::/23",  # protocol assignments, among them Teredo, which contains IPv4 addresses
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which contains IPv4 addresses
            "3fff::/20",  # documentation
        ),
    )
)
"""Networks that are not of the public internet.

Source: the special-purpose registries of IANA for IPv4 and IPv6 (RFC 6890 and its updates) as of
November 2026, of which these are the blocks that are not "globally reachable"; and multicast. The
few reachable addresses within 192.0.0.0/24 and 2001::/23 are services of networks, which receive no
messages. IPv6 needs no entries outside of `UNICAST`.
"""


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the public internet.

    An IPv6 address that stands for an IPv4 address is public only if that address is.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in UNICAST:
            return False
    return not any(address in network for network in SPECIAL)
