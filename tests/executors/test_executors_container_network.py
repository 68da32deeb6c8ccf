"""The network of sessions in containers: nothing but a proxy that the session's rules hold for."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
import trustme
from container_engine import IMAGE
from http_servers import serve

from planaria import ContainerConfig, ContainerExecutor, ExecutionError, Network, Secret, Session

#: The engine is started once, so all of them run in one process of a parallel run.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("engine")]

VALUE = "ghp_0123456789abcdef"


@pytest.fixture(scope="module")
def session(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session whose code has `place`, the URL of a server of HTTPS on this machine."""
    authority = trustme.CA()
    certificates = tmp_path_factory.mktemp("certificates") / "authority.pem"
    authority.cert_pem.write_to_path(str(certificates))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    for port in serve(context):
        network = Network(
            allow=[f"GET https://localhost:{port}"],
            certificates=certificates,
            secrets=[Secret("TOKEN", VALUE, hosts=[f"localhost:{port}"])],
        )
        executor = ContainerExecutor(ContainerConfig(image=IMAGE, engine=engine))
        with Session(executor=executor, network=network) as session:
            prepare(session, port)
            yield session


def error_of(session: Session, code: str) -> ExecutionError:
    error = session.run(code).error
    assert isinstance(error, ExecutionError), error
    return error


def prepare(session: Session, port: int) -> None:
    session.execute(
        f"import json, os, socket, urllib.error, urllib.request; place = 'https://localhost:{port}'"
    )
    session.execute(
        "def get(url, **more): return urllib.request.urlopen(urllib.request.Request(url, **more), timeout=20)"
    )


def test_allowed_server(session: Session) -> None:
    """An allowed server is reached over TLS by the proxy, with the values of secrets, and recorded."""
    result = session.run(
        "json.load(get(place + '/echo', headers={'Authorization': os.environ['TOKEN']}))['headers']"
    )
    assert result.error is None, result.error
    assert result.value["authorization"] == "*" * len(VALUE)
    assert [(one.method, one.status, one.allowed) for one in result.requests] == [("GET", 200, True)]
    assert session.execute("len(get(place + '/bytes/3000000').read())").value == 3_000_000


def test_refused_server(session: Session) -> None:
    """What no rule allows is refused with the reason."""
    error = error_of(session, "get('https://evil.test')")
    assert "403 evil.test is not allowed" in error.message
    error = error_of(session, "get(place + '/echo', method='DELETE')")
    assert "is not allowed" in error.message


def test_no_other_way(session: Session) -> None:
    """The container has no interface but its loopback, on which the proxy alone listens."""
    assert session.execute("[name for _, name in socket.if_nameindex()]").value == ["lo"]
    assert session.run("socket.create_connection(('1.1.1.1', 53), 5)").error is not None
    port = session.execute("place.rpartition(':')[2]").value
    refused = error_of(session, f"socket.create_connection(('127.0.0.1', {port}), 5)")
    assert refused.type == "ConnectionRefusedError"


def test_files_of_the_proxy(session: Session) -> None:
    """The code sees the socket and the certificate of the proxy's authority, and can change neither."""
    assert session.execute("sorted(os.listdir('/run/planaria'))").value == ["authority.pem", "socket"]
    error = error_of(session, "os.remove('/run/planaria/socket')")
    assert error.type == "OSError"  # a read-only file system


def test_reset(session: Session) -> None:
    """After `reset` the network is as before."""
    port = session.execute("int(place.rpartition(':')[2])").value
    session.reset()
    prepare(session, port)
    assert session.execute("get(place + '/echo').status").value == 200


def test_both_networks(engine: str) -> None:
    """A network of rules and that of the engine exclude each other."""
    executor = ContainerExecutor(ContainerConfig(image=IMAGE, engine=engine, network=True))
    with (
        pytest.raises(TypeError, match="omit ContainerConfig"),
        Session(executor=executor, network=Network()) as session,
    ):
        session.execute("1")
