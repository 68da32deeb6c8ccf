"""wget against a server on localhost, beside the real one of this machine."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import ours, real
from http_servers import serve

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    yield from serve()


def normal(data: bytes) -> str:
    """Without what differs from call to call: times, rates, the version, and whether a connection is kept."""
    text = data.decode("utf-8", "surrogateescape")
    text = re.sub(
        r'(?<="headers": )\{[^}]*\}', lambda found: json.dumps(json.loads(found[0]), sort_keys=True), text
    )
    text = re.sub(r"Wget/[0-9.]+", "Wget/VERSION", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"\([0-9.]+ [KMG]?B/s\)", "(RATE)", text)
    text = re.sub(r" +[0-9.]+[BKMG](=| )[0-9.]+m?s", r" RATE\1SECONDS", text)
    text = re.sub(r"(time: |in )[0-9.]+s", r"\1SECONDS", text)
    return re.sub(r"Reusing existing connection to (\S+)\.", r"Connecting to \1... connected.", text)


def effect(run: Any, line: str, port: int, place: Path) -> tuple[Any, ...]:
    """Everything that a command line does."""
    place.mkdir()
    (place / "data").write_bytes(b"line one\nline two\n\x00end")
    (place / "short").write_text("012")
    (place / "list").write_text(f"http://127.0.0.1:{port}/bytes/3\n\nhttp://127.0.0.1:{port}/bytes/4\n")
    words = shlex.split(line.replace("URL", f"http://127.0.0.1:{port}"))
    status, output, errors = run(words, b"from standard input\n", place)
    files = {
        str(path.relative_to(place)): normal(path.read_bytes()) for path in place.rglob("*") if path.is_file()
    }
    return status, normal(output), normal(errors), files


#: Each does what the real wget does.
SAME = r"""
wget URL/bytes/5
wget -q URL/bytes/5
wget -nv URL/bytes/5
wget -qnv URL/bytes/5
wget -nv -O - URL/bytes/5
wget -O out URL/bytes/60000
wget -O out URL/bytes/600000
wget -qO- URL/echo
wget URL/status/404
wget -q URL/status/404
wget -nv URL/status/404
wget -nv URL/status/500
wget URL/status/401
wget -nv URL/status/401
wget URL/status/200
wget -nv URL/status/204
wget URL/status/204
wget -S -nv URL/bytes/5
wget -S -q URL/bytes/5
wget -S URL/bytes/5
wget --spider URL/bytes/5
wget --spider URL/status/200
wget --spider -nv URL/bytes/5
wget --spider -nv URL/status/404
wget --spider -q URL/status/404
wget --spider URL/status/404
wget -S --spider -q URL/status/404
wget -nv -P dir/below URL/bytes/5
wget -nv -c URL/range
wget -nv -c -O short URL/range
wget -qO- --header 'X-A: 1' --user-agent me/1 URL/echo
wget -qO- --header='Host: x' --header 'Accept: y' URL/echo
wget -qO- -U me --referer=x URL/echo
wget -qO- --post-data a=b URL/echo
wget -qO- --post-file data URL/body
wget -qO- --method=PUT --body-data x URL/echo
wget -qO- --method=PUT --body-file data URL/body
wget -qO- --method DELETE URL/echo
wget -qO- --post-data x --method PUT URL/body
wget -nv URL/redirect?to=/echo
wget URL/redirect?to=/bytes/5
wget -nv --max-redirect=0 URL/redirect?to=/echo
wget --max-redirect=0 URL/redirect?to=/echo
wget -nv --trust-server-names URL/redirect?to=/bytes/5
wget -qO- --post-data x=1 URL/redirect-as/302
wget -qO- --post-data x=1 URL/redirect-as/307
wget -t 1 -nv http://127.0.0.1:1/
wget -t 2 http://127.0.0.1:1/
wget -q http://127.0.0.1:1/
wget -nv no-such-host.invalid
wget -T 0.5 -t 1 -nv URL/never
wget -T 0.5 -t 2 --waitretry 1 URL/never
wget -t 1 -nv URL/half
wget -t 1 URL/half
wget -t 1 -nv URL/nothing
wget -t 2 URL/nothing
wget -nv URL/
wget -nv URL/a/b/
wget -nv URL/named
wget -nv --content-disposition URL/named
wget -nv -N URL/modified
wget
wget -nosuch
wget --nosuch
wget -O
wget -T x URL
wget -nv foo://x
wget -q foo://x
wget -nv http://localhost:99999/
wget -nv URL/chunked
wget URL/chunked
wget -nv URL/until-close
wget -nv -O a URL/bytes/1 URL/bytes/2
wget -nv URL/bytes/1 URL/bytes/1
wget -nv URL/bytes/1 URL/status/404 http://127.0.0.1:1/
wget -nv -i list
wget -nv -i list URL/bytes/2
wget -nv -nc URL/data
wget -nc URL/data
wget -nv URL/data
wget -qO- --user=u --password=p URL/echo
wget -qO- --auth-no-challenge --user=u --password=p URL/echo
wget -nv -x -nH URL/bytes/5
wget -qO- 'URL/echo?q=a b'
wget -nv 'URL/é'
wget -nv -O missing/got URL/bytes/5
wget -qO- --content-on-error URL/status/404
wget -qO- -e robots=off URL/echo
wget -nv -o log URL/bytes/5
wget -o log URL/bytes/5
wget --show-progress -q URL/bytes/5
wget -qO- --compression=auto URL/gzip
""".strip().splitlines()


@pytest.mark.parametrize("line", SAME)
def test_wget(line: str, port: int, tmp_path: Path) -> None:
    """A command line prints, sends and leaves what it does with the real wget."""
    expected = effect(real, line, port, tmp_path / "real")
    assert effect(ours, line, port, tmp_path / "ours") == expected


@pytest.mark.parametrize("option", ["-r", "-m", "-p", "-b"])
def test_absent(option: str) -> None:
    """Options that there is no way for are refused by name, and nothing is retrieved."""
    result = ours(["wget", option, "http://127.0.0.1:1/"])
    assert (result.status, result.stdout) == (2, b"")
    assert b"is not available in this sandbox" in result.stderr
