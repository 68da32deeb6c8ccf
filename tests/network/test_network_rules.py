"""Rules, hosts and paths: what a policy allows, however it is written."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria import Network
from planaria.network.hosts import address_of, canonical_host, is_public
from planaria.network.rules import canonical_path, parse_rule


def allows(rules: list[str], url: str, method: str = "GET", deny: tuple[str, ...] = ()) -> bool:
    """Whether a policy allows a request."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    host, _, port = place.partition(":")
    network = Network(allow=rules, deny=deny)
    number = int(port or {"http": 80, "https": 443, "ws": 80, "wss": 443}[scheme])
    target = slash + path or "/"
    host = canonical_host(host)
    return not network.denies(scheme, host, number, method, target) and network.allows(
        scheme, host, number, method, target
    )


@pytest.mark.parametrize(
    ("rule", "url", "method"),
    [
        ("api.example.com", "https://api.example.com/", "GET"),
        ("api.example.com", "http://api.example.com/any/path?q=1", "DELETE"),
        ("api.example.com", "https://API.EXAMPLE.COM/", "GET"),
        ("api.example.com", "https://api.example.com./", "GET"),
        ("API.Example.com.", "https://api.example.com/", "GET"),
        ("https://api.example.com/v1/", "https://api.example.com/v1/x", "POST"),
        ("https://api.example.com/v1", "https://api.example.com/v1", "GET"),
        ("https://api.example.com/v1", "https://api.example.com/v1/x", "GET"),
        ("GET https://*.wikipedia.org/", "https://en.wikipedia.org/wiki/Planarian", "GET"),
        ("GET,HEAD https://*.wikipedia.org/", "https://en.wikipedia.org/", "HEAD"),
        ("example.com:8443", "https://example.com:8443/", "GET"),
        ("bücher.example", "https://xn--bcher-kva.example/", "GET"),
        ("xn--bcher-kva.example", "https://BÜCHER.example/", "GET"),
        ("*", "https://anything.example/", "GET"),
        ("10.0.0.0/8", "http://10.1.2.3/", "GET"),
        ("10.1.2.3:8000", "http://10.1.2.3:8000/", "GET"),
        ("10.1.2.3:8000", "http://0x0a.1.0x203:8000/", "GET"),
        ("wss://example.com/", "wss://example.com/socket", "GET"),
    ],
)
def test_allowed(rule: str, url: str, method: str) -> None:
    """A request that a rule is for is allowed, in whatever form its host is written."""
    assert allows([rule], url, method)


@pytest.mark.parametrize(
    ("rule", "url", "method"),
    [
        ("api.example.com", "https://example.com/", "GET"),
        ("api.example.com", "https://evil-api.example.com/", "GET"),
        ("api.example.com", "https://xapi.example.com/", "GET"),
        ("api.example.com", "https://api.example.com.evil.test/", "GET"),
        ("api.example.com", "https://api.example.comevil.test/", "GET"),
        ("api.example.com", "https://api.example.com:8443/", "GET"),
        ("api.example.com", "https://api-example.com/", "GET"),
        ("*.example.com", "https://example.com/", "GET"),
        ("*.example.com", "https://evilexample.com/", "GET"),
        ("*.example.com", "https://a.example.com.evil.test/", "GET"),
        ("https://api.example.com", "http://api.example.com/", "GET"),
        ("http://api.example.com", "https://api.example.com/", "GET"),
        ("https://api.example.com", "wss://api.example.com/", "GET"),
        ("wss://api.example.com", "https://api.example.com/", "GET"),
        ("GET https://example.com", "https://example.com/", "POST"),
        ("GET https://example.com", "https://example.com/", "get"),
        ("https://example.com/v1/", "https://example.com/", "GET"),
        ("https://example.com/v1/", "https://example.com/v10/", "GET"),
        ("https://example.com/v1", "https://example.com/v1x", "GET"),
        ("https://example.com/v1/", "https://example.com/V1/", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/../admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/..", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/%2e%2e/admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/%2E%2E/admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/.%2e/admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/%252e%252e/admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/%25252e%25252e/admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/..%2fadmin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/..%5cadmin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/..\\admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1\\..\\admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/..;/admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/..;x=1/admin", "GET"),
        ("https://example.com/v1/", "https://example.com//v1/../admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1/./../admin", "GET"),
        ("https://example.com/v1/", "https://example.com/v1//../../admin", "GET"),
        ("https://example.com/v1/", "https://example.com/?/v1/", "GET"),
        ("https://example.com/v1/", "https://example.com/#/v1/", "GET"),
        ("https://example.com/v1/", "https://example.com/admin/%2fv1/", "GET"),
        ("127.0.0.1:80", "http://127.0.0.2/", "GET"),
        ("10.0.0.0/8", "http://11.0.0.1/", "GET"),
        ("10.0.0.0/8", "http://ten.example/", "GET"),
        ("tcp://example.com:5432", "http://example.com:5432/", "GET"),
    ],
)
def test_not_allowed(rule: str, url: str, method: str) -> None:
    """A request to another host, port, scheme, method or path is not allowed, however that is hidden."""
    assert not allows([rule], url, method)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/admin",
        "https://example.com/admin/users",
        "https://example.com/ADMIN",
        "https://example.com//admin",
        "https://example.com/./admin",
        "https://example.com/x/../admin",
        "https://example.com/%61dmin",
        "https://example.com/%2561dmin",
        "https://example.com/x/%2e%2e/admin",
        "https://example.com/x/..%2fadmin",
        "https://example.com/x/%u002e%u002E/admin",
        "https://example.com/%U0061dmin",
        "https://example.com/x%25u002fadmin/../../admin",
        "https://example.com/\\admin",
        "https://example.com/admin?x=1",
        "https://example.com/admin/",
    ],
)
def test_denied(url: str) -> None:
    """A rule of `deny` wins over `allow`, in every form that a server may take for the same path."""
    assert not allows(["example.com"], url, deny=("https://example.com/Admin",))
    assert allows(["example.com"], "https://example.com/administration", deny=("https://example.com/admin",))


@pytest.mark.parametrize(
    ("deny", "host", "port", "covered"),
    [
        ("evil.test", "evil.test", 443, False),
        ("evil.test", "evil.test", 8443, False),
        ("*.evil.test", "a.evil.test", 5432, False),
        ("https://b.test", "b.test", 443, False),
        ("https://evil.test", "evil.test", 443, True),  # wss:// is allowed there
        ("https://evil.test", "evil.test", 80, True),
        ("evil.test:8443", "evil.test", 8443, False),
        ("evil.test:8443", "evil.test", 443, True),
        ("https://evil.test/admin", "evil.test", 443, True),
        ("POST https://evil.test", "evil.test", 443, True),
    ],
)
def test_denied_hosts_are_not_connected_to(deny: str, host: str, port: int, covered: bool) -> None:
    """A host that is denied as a whole is refused before it is connected to, whatever the protocol."""
    allow = ["*", "evil.test:8443", "wss://evil.test", "tcp://a.evil.test:5432"]
    network = Network(allow=allow, deny=[deny])
    assert network.covers(host, port) is covered
    assert network.is_raw("a.evil.test", 5432) is (deny != "*.evil.test")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("", "expected"),
        ("GET", r"'GET api\.example\.com', or 'GET \*'"),
        ("GET,HEAD", "a host follows a method"),
        ("https://", "not host or host:port"),
        ("ftp://example.com", "'ftp' is not one of the schemes"),
        ("get https://example.com", "not a method in capitals"),
        ("GET  https://example.com", "expected"),
        ("https://user@example.com", "no user"),
        ("https://example.com/?q", "query"),
        ("https://example.com/*", "pattern"),
        ("https://example.com:0", "0 is not a port"),
        ("https://example.com:99999", "99999 is not a port"),
        ("https://exa mple.com", "not a method"),
        ("exam*ple.com", "not a valid host name"),
        ("*.*.com", "not a valid host name"),
        ("*.10.0.0.1", "no subdomains"),
        ("1.2.3.4.5", "not a valid IPv4"),
        ("999.1.1.1", "not a valid IPv4"),
        ("-example.com", "not a valid host name"),
        ("example..com", "not a valid host name"),
        ("tcp://example.com", "has a port"),
        ("GET tcp://example.com:1", "neither a method"),
        ("10.0.0.1/8", "host bits"),
        ("https://example.com\r\nX:y", "expected"),
        ("https://example.com\\@evil.test", "no user"),
    ],
)
def test_mistyped(rule: str, reason: str) -> None:
    """A rule that is not one is an error of the constructor, which names it."""
    with pytest.raises(ValueError, match=reason) as caught:
        Network(allow=[rule])
    assert repr(rule) in str(caught.value)


@pytest.mark.parametrize(
    "arguments", [{"allow": "example.com"}, {"allow": [1]}, {"secrets": ["x"]}, {"deny": None}]
)
def test_wrong_types(arguments: dict[str, Any]) -> None:
    """What is not a list of rules is a TypeError."""
    with pytest.raises(TypeError):
        Network(**arguments)


@pytest.mark.parametrize(
    "written",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0177.1",
        "[::ffff:127.0.0.1]",
        "::ffff:7f00:1",
        "[64:ff9b::127.0.0.1]",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "127.0.0.1.",
    ],
)
def test_forms_of_loopback(written: str) -> None:
    """Every form in which an address can be written is the same address, and is not public."""
    host = canonical_host(written)
    address = address_of(host)
    assert str(address) == "127.0.0.1"
    assert address is not None
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.8.8.8", "169.254.169.254", "172.16.0.1", "192.168.1.1",
        "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
        "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:a00:1::", "100::1", "::7f00:1",
        "fec0::1", "feff::1", "3fff::1", "5f00::1", "4000::1", "200::1", "::ffff:0:7f00:1",
    ],
)  # fmt: skip
def test_not_public(address: str) -> None:
    """Private, loopback, link-local, shared, multicast and reserved addresses are not public."""
    assert not is_public(ipaddress.ip_address(address))
    assert not Network(allow=["*"]).may_connect("example.com", 80, ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_public(address: str) -> None:
    """Addresses of the internet are public."""
    assert is_public(ipaddress.ip_address(address))


def test_private_by_rule() -> None:
    """A private address is reached by a rule for it, by one for localhost, or with `private=True` alone."""
    loopback = ipaddress.ip_address("127.0.0.1")
    metadata = ipaddress.ip_address("169.254.169.254")
    assert Network(allow=["127.0.0.1:80"]).may_connect("127.0.0.1", 80, loopback)
    assert Network(allow=["localhost:80"]).may_connect("localhost", 80, loopback)
    assert not Network(allow=["localhost:80"]).may_connect("localhost", 80, metadata)
    assert not Network(allow=["example.com"]).may_connect("example.com", 80, loopback)
    assert not Network(allow=["localhost:80", "example.com"]).may_connect("example.com", 80, loopback)
    assert Network(allow=["example.com"], private=True).may_connect("example.com", 80, loopback)
    assert not Network(allow=["*"], deny=["169.254.0.0/16"], private=True).may_connect("x.test", 80, metadata)
    assert not Network(allow=["*"], deny=["1.1.1.0/24"]).may_connect(
        "x.test", 80, ipaddress.ip_address("1.1.1.1")
    )


@given(st.text(alphabet="./%2eE5cCfF\\;ab", max_size=24))
def test_canonical_paths_stay(path: str) -> None:
    """A path in canonical form has no step up, no empty step, and is its own canonical form."""
    canonical = canonical_path(f"/{path}")
    assert canonical_path(canonical) == canonical
    assert "//" not in canonical
    assert not {"..", "."} & set(canonical.split("/"))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["dotted", "hex", "octal", "whole", "mixed"]))
def test_every_form_of_an_address(number: int, form: str) -> None:
    """inet_aton's forms of an address all mean that address."""
    parts = number.to_bytes(4)
    written = {
        "dotted": ".".join(map(str, parts)),
        "hex": hex(number),
        "octal": ".".join(f"0{part:o}" for part in parts),
        "whole": str(number),
        "mixed": f"{parts[0]}.0x{int.from_bytes(parts[1:]):x}",
    }[form]
    assert address_of(written) == ipaddress.IPv4Address(number)


def test_refusals_list_what_is_allowed() -> None:
    """A refusal lists what is allowed, as it was written but for schemes."""
    network = Network(allow=["api.github.com", "https://api.example.com/v1/", "GET https://*.wikipedia.org/"])
    assert network.refusal("evil.test") == (
        "evil.test is not allowed; allowed are api.github.com, api.example.com/v1/, *.wikipedia.org (GET)"
    )
    assert Network(allow=["*"]).refusal("localhost:9") == (
        "localhost:9 is not allowed; allowed are *, where * is every public host at the ports 80 and 443"
    )
    assert Network().refusal("evil.test") == "evil.test is not allowed: the network allows nothing"


def test_a_rule_is_a_value() -> None:
    """Rules that are written alike are equal."""
    assert parse_rule("GET https://example.com/") == parse_rule("GET https://example.com/")
