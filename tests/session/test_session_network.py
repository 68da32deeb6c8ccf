"""Without a network, every attempt to use one is an OSError that says so, and code that needs none works."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import planaria

ATTEMPTS = [
    ("import socket", "socket.getaddrinfo('example.com', 80)"),
    ("import socket", "socket.gethostbyname('example.com')"),
    ("import socket", "socket.gethostbyaddr('127.0.0.1')"),
    ("import socket", "socket.create_connection(('localhost', 80))"),
    ("import socket", "socket.create_server(('', 8000))"),
    ("import socket", "socket.socket()"),
    ("import socket", "socket.socketpair()"),
    ("import asyncio", "await asyncio.open_connection('localhost', 80)"),
    ("import asyncio", "await asyncio.start_server(print, 'localhost', 80)"),
    ("import urllib.request", "urllib.request.urlopen('http://example.com', timeout=1)"),
    ("import urllib.request", "urllib.request.urlopen('https://example.com')"),
    ("import http.client", "http.client.HTTPSConnection('example.com').request('GET', '/')"),
    ("import smtplib", "smtplib.SMTP('localhost')"),
    ("import ftplib", "ftplib.FTP('localhost')"),
    ("import xmlrpc.client", "xmlrpc.client.ServerProxy('http://localhost').method()"),
    (
        "import ssl",
        "ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname='a.test')",
    ),
]


@pytest.mark.parametrize(("imports", "attempt"), ATTEMPTS)
def test_attempts_are_errors_of_the_right_kind(session: planaria.Session, imports: str, attempt: str) -> None:
    """An attempt to reach the network raises an OSError whose message says that there is none."""
    session.execute(f"{imports}\ntry:\n    {attempt}\nexcept OSError as error:\n    message = str(error)")
    assert "the sandbox has no network" in session.execute("message").value


def test_addresses_need_no_network(session: planaria.Session) -> None:
    """An address, and `localhost`, is known as on a computer without a network; connecting is what fails."""
    session.execute("import socket")
    assert session.execute("socket.getaddrinfo('10.0.0.1', 80)[0][4]").value == ("10.0.0.1", 80)
    assert session.execute("socket.getaddrinfo('::1', 80)[0][4]").value == ("::1", 80, 0, 0)
    assert session.execute("socket.gethostbyname('localhost')").value == "127.0.0.1"
    for host, kind in (("10.0.0.1", "OSError"), ("::1", "OSError"), ("example.com", "gaierror")):
        error = session.run(f"socket.create_connection(({host!r}, 80))").error
        assert isinstance(error, planaria.ExecutionError)
        assert error.type == kind
        assert "the sandbox has no network" in error.message


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("import socket; socket.gethostname()", "planaria"),
        ("import socket; socket.getfqdn()", "planaria"),
        ("import platform; platform.node()", "planaria"),
        ("import email.utils; email.utils.make_msgid().endswith('@planaria>')", True),
        ("import uuid; uuid.getnode() > 0", True),
        ("import ssl; ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED", True),
        ("import urllib.request; urllib.request.HTTPSHandler.__name__", "HTTPSHandler"),
        ("import http.client; http.client.HTTPSConnection.__name__", "HTTPSConnection"),
        ("import resource; resource.getrusage(resource.RUSAGE_SELF).ru_utime > 0", True),
        ("import signal; signal.alarm(0)", 0),
        ("import signal; signal.setitimer(signal.ITIMER_REAL, 0)", (0.0, 0.0)),
        ("import signal; signal.getitimer(signal.ITIMER_REAL)", (0.0, 0.0)),
        ("compile('x = 1\\n\\ny = 2\\n', 'a', 'exec').co_lnotab[-1]", 2),
    ],
)
def test_what_needs_no_network_works(session: planaria.Session, source: str, value: object) -> None:
    """Modules that only name the network, TLS or the system can be imported and used as far as that goes."""
    assert session.execute(source).value == value


def test_settings_of_tls_are_kept(session: planaria.Session) -> None:
    """A context takes and gives back its settings, as programs make them before they connect."""
    session.execute("""
import ssl
context = ssl.create_default_context()
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.set_alpn_protocols(["http/1.1"])
""")
    settings = session.execute("context.minimum_version.name, context.verify_mode.name").value
    assert settings == ("TLSv1_3", "CERT_NONE")


def test_a_generator_abandoned_in_asyncio_run_is_closed(new_session: Callable[..., planaria.Session]) -> None:
    """`asyncio.run` closes asynchronous generators that were left half consumed before it returns."""
    source = """
import asyncio
log = []

async def numbers():
    try:
        yield 1
        yield 2
    finally:
        await asyncio.sleep(0)
        log.append("closed")

async def main():
    async for number in numbers():
        break

asyncio.run(main())
log
"""
    assert new_session().execute(source).value == ["closed"]
