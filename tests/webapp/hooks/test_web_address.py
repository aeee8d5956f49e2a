"""The address of a webhook is read strictly; a refusal never repeats it."""

import pytest

from engine import api
from webapp.hooks.reachable import AllowedPlaces
from webapp.hooks.web_address import WebAddress

NOBODY = AllowedPlaces.of(())


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://hooks.example.org", WebAddress("https", "hooks.example.org", 443, "/")),
        ("HTTPS://Hooks.Example.ORG./x?a=1&b=%20", WebAddress("https", "hooks.example.org", 443, "/x?a=1&b=%20")),
        ("http://example.org:8080/ä", WebAddress("http", "example.org", 8080, "/%C3%A4")),
        ("https://bücher.example/", WebAddress("https", "xn--bcher-kva.example", 443, "/")),
        ("https://[2606:4700:4700::1111]/x", WebAddress("https", "2606:4700:4700::1111", 443, "/x")),
        ("https://8.8.8.8:443/", WebAddress("https", "8.8.8.8", 443, "/")),
    ],
)
def test_it_is_read(text: str, address: WebAddress) -> None:
    assert WebAddress.read(text, NOBODY) == address


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ftp://example.org/", "begins neither"),
        ("file:///etc/passwd", "begins neither"),
        ("gopher://127.0.0.1:6379/_x", "begins neither"),
        ("hooks.example.org/x", "begins neither"),
        ("https://user:SECRET@example.org/", "a user name or a password"),
        ("https://user@example.org/", "a user name or a password"),
        ("https://example.org@127.0.0.1/", "a user name or a password"),
        ("https://example.org/#x", "a fragment"),
        ("https://example.org#@127.0.0.1/", "a fragment"),
        ("https://exa mple.org/", "a blank"),
        ("https://example.org/\r\nX-Evil: 1", "a blank"),
        ("https://example.org\\@127.0.0.1/", "a backslash"),
        ("https://example.org/\x00", "a control character"),
        ("https:///x", "the host's name is invalid"),
        ("https://-x.example/", "the host's name is invalid"),
        ("https://ex..ample/", "the host's name is invalid"),
        ("https://example.org:99999/", "this is no address"),
        ("https://[::1/", "this is no address"),
        ("https://[fe80::1%25eth0]/", "the host's name is invalid"),
        ("https://[fe80::1]/", "not a public one"),
        ("https://127.0.0.1/", "not a public one"),
        ("https://2130706433/", "numbers in an unusual form"),
        ("https://0x7f000001/", "numbers in an unusual form"),
        ("https://0x7f.0.0.1/", "numbers in an unusual form"),
        ("https://0177.0.0.1/", "numbers in an unusual form"),
        ("https://127.1/", "numbers in an unusual form"),
        ("https://127.0.0.1.:80/", "numbers in an unusual form"),
        ("https://１２７.0.0.1/", "numbers in an unusual form"),
        ("https://①②⑦.0.0.1/", "numbers in an unusual form"),
        ("https://[::ffff:127.0.0.1]/", "not a public one"),
        ("https://[::]/", "not a public one"),
        ("http://169.254.169.254/latest/meta-data/", "not a public one"),
        ("http://example.org:25/", "port 25"),
        ("http://example.org:22/", "port 22"),
        ("https://example.org/" + "x" * 2000, "2,020 characters"),
    ],
)
def test_what_is_odd_is_refused_in_one_line_that_does_not_repeat_it(text: str, what: str) -> None:
    with pytest.raises(api.SettingsError) as refused:
        WebAddress.read(text, NOBODY)
    sentence = str(refused.value)
    assert what in sentence and "\n" not in sentence and "allowed: " in sentence
    assert refused.value.field == "target"
    assert "SECRET" not in sentence and "meta-data" not in sentence


@pytest.mark.parametrize("text", ["http://127.0.0.1:25/", "http://ci.internal:81/x"])
def test_what_the_operator_allows_may_have_any_port(text: str) -> None:
    assert WebAddress.read(text, AllowedPlaces.of(["127.0.0.1", "ci.internal"])).port in (25, 81)


def test_a_page_shows_the_host_alone() -> None:
    assert WebAddress.read("https://hooks.example.org/services/T0/SECRET", NOBODY).place == "hooks.example.org"
    assert WebAddress.read("http://[2606:4700::1]:8080/SECRET", NOBODY).place == "[2606:4700::1]:8080"
