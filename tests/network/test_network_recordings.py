"""Recordings of sessions with a network: answers of servers are in them, values of secrets are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zstandard

import planaria
from planaria import Network, Secret

VALUE = "s3cr3t-value-of-a-token"


def test_answers_are_replayed_without_the_server_and_the_secret(
    new_session: Any, https_port: int, certificates: Path
) -> None:
    """A replay reads what servers answered; the value of a secret is nowhere in the recording."""
    place = f"https://localhost:{https_port}"
    network = Network(
        allow=[place], certificates=certificates, secrets=[Secret("TOKEN", VALUE, hosts=[place])]
    )
    session = new_session(record=True, network=network)
    session.execute("import os, urllib.request")
    session.execute(
        f"request = urllib.request.Request('{place}/echo?key=' + os.environ['TOKEN'], "
        "headers={'Authorization': 'Bearer ' + os.environ['TOKEN']})\n"
        "told = urllib.request.urlopen(request, timeout=20).read()"
    )
    session.bash(f'curl -s {place}/echo -H "X-Key: $TOKEN"')
    recording = session.recording()
    data = bytes(recording)
    start = data.index(b"\x28\xb5\x2f\xfd")  # the magic number of zstd
    inside = zstandard.ZstdDecompressor().decompress(data[start:-32])
    assert b"planaria-secret-TOKEN-placeholder" in inside
    for form in (VALUE, VALUE[::-1], VALUE.encode().hex()):
        assert form.encode() not in inside
    assert all(
        VALUE.encode() not in bytes(one) for one in recording.items if isinstance(one, planaria.Snapshot)
    )
    assert session.execute("told").value.count(b"*" * len(VALUE)) == 2
    with planaria.replay(data) as replay:
        replay.run()
        assert replay.evaluate("told").value == session.execute("told").value
        assert replay.results[-1].stdout.count("*" * len(VALUE)) == 1
