"""Recordings of sessions with tools: answers are in them, the credentials of the tools are not."""

from __future__ import annotations

import base64
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import zstandard

import planaria
from planaria.snapshot.decode import pages_of

pytestmark = pytest.mark.slow

VALUE = "s3cr3t/Value+of:a token~9"
FORMS = [
    VALUE,
    VALUE[::-1],
    quote(VALUE, safe=""),
    VALUE.encode().hex(),
    *(base64.b64encode(b"." * shift + VALUE.encode()).decode()[4:-4] for shift in range(3)),
]


class Repeating(BaseHTTPRequestHandler):
    """Answers with the credentials that it got, in several forms."""

    def do_GET(self) -> None:
        given = self.headers["Authorization"].removeprefix("Bearer ")
        body = "\n".join(
            [
                given,
                given[::-1],
                quote(given, safe=""),
                given.encode().hex(),
                base64.b64encode(given.encode()).decode(),
            ]
        ).encode()
        self.send_response(401 if self.path == "/refused" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    """Where a server answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Repeating) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_credentials_of_tools_are_not_in_recordings(address: str, tmp_path: Path) -> None:
    """Whatever servers and programs answer, neither the recording nor the memory in it has a credential."""
    pytest.importorskip("httpx")
    definitions = {
        "shop": f"""
            name: shop
            type: http
            base_url: {address}
            auth: {{bearer: "${{TOKEN}}"}}
            endpoints:
              - {{name: good, path: /good}}
              - {{name: refused, path: /refused}}
            """,
        "program": """
            name: program
            command: [sh, -c]
            schema:
              positional: [{name: script, required: true}]
            env: {T: '${TOKEN}'}
            """,
    }
    for name, text in definitions.items():
        (tmp_path / f"{name}.yaml").write_text(textwrap.dedent(text))
    environment = planaria.ToolEnvironment(values={"TOKEN": VALUE})
    with planaria.Session(record=True, tools=str(tmp_path), tool_environment=environment) as session:
        session.execute("answers = [tools.shop.good()]")
        answers = session.get("answers")
        assert isinstance(answers, list)
        assert b"*" * len(VALUE) in answers[0]
        session.run("tools.shop.refused()")
        for script in ('echo "$T"', 'printf %s "$T" | base64', 'echo "$T" >&2; exit 3'):
            session.run(f"answers.append(tools.program({script!r}))")
        session.files.write_text("new.txt", "so that a state is in the recording")
        session.execute("len(answers)")
        recording = session.recording()
        data = bytes(recording)
        inside = [zstandard.ZstdDecompressor().decompress(data[data.index(b"\x28\xb5\x2f\xfd") : -32])]
        for item in recording.items:
            if isinstance(item, planaria.Snapshot):
                inside += map(bytes, pages_of(item).values())
        assert len(inside) > 100
        everything = b"\n".join(inside)
        assert b"tools.program" in everything
        assert [form for form in FORMS if form.encode() in everything] == []
        with planaria.replay(data) as replay:
            assert replay.run().state_digest() == session.state_digest()
