"""Webhooks reach public addresses, and those that the operator allows."""

from ipaddress import ip_address

import pytest

from webapp.hooks.reachable import AllowedPlaces, is_public

NOBODY = AllowedPlaces.of(())
PUBLIC = ["8.8.8.8", "93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:82a::200e"]
NOT_PUBLIC = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "192.0.2.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16", "192.88.99.1"),
    *("::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1", "100::1"),
    *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8"),
    *("2002:7f00:1::", "2002:a00:1::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"),
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",  # Teredo
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_reached(address: str) -> None:
    assert is_public(ip_address(address))
    assert NOBODY.refusal(ip_address(address)) == ""


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_any_other_address_is_refused_in_a_sentence(address: str) -> None:
    found = ip_address(address)
    sentence = f"The address {found} is not a public one. An operator can allow it in PLACETO_HOOKS_ALLOWED."
    assert NOBODY.refusal(found) == sentence


@pytest.mark.parametrize(
    ("entry", "allows", "refuses"),
    [
        ("10.1.0.0/16", "10.1.2.3", "10.2.2.3"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("fd00::/8", "fd00:ec2::254", "fe80::1"),
        ("::1", "::1", "127.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", "::ffff:10.0.0.1"),
    ],
)
def test_the_operator_allows_networks_and_addresses(entry: str, allows: str, refuses: str) -> None:
    allowed = AllowedPlaces.of([entry])
    assert allowed.refusal(ip_address(allows)) == ""
    assert allowed.refusal(ip_address(refuses)) != ""


def test_the_operator_allows_names_in_whatever_case_and_not_those_below() -> None:
    allowed = AllowedPlaces.of(["CI.internal"])
    assert allowed.has_name("ci.INTERNAL.")
    assert not allowed.has_name("other.ci.internal")
    assert not allowed.has_name("xci.internal")
