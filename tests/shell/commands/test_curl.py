"""curl against a server on localhost, beside the real one of this machine."""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import ours, real
from http_servers import serve


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    yield from serve()


def normal(data: bytes) -> str:
    """Without what differs from call to call: times, boundaries, and the version."""
    text = data.decode("utf-8", "surrogateescape")
    text = re.sub(
        r'(?<="headers": )\{[^}]*\}', lambda found: json.dumps(json.loads(found[0]), sort_keys=True), text
    )
    text = re.sub(r"curl/[0-9.]+", "curl/VERSION", text)
    text = re.sub(r"-{24,26}[0-9A-Za-z]{16,22}", "BOUNDARY", text)
    return re.sub(r"after \d+ (ms|milliseconds)", r"after N \1", text)


def effect(run: Any, line: str, port: int, place: Path) -> tuple[Any, ...]:
    """Everything that a command line does, with the headers that the server received in no order."""
    place.mkdir()
    (place / "data").write_bytes(b"line one\nline two\n\x00end")
    (place / "photo.png").write_bytes(b"\x89PNG")
    (place / "headers").write_text("X-File: 1\nX-Other: 2\n")
    words = shlex.split(line.replace("URL", f"localhost:{port}"))
    status, output, errors = run(words, b"from standard input\n", place)
    files = {path.name: normal(path.read_bytes()) for path in place.rglob("*") if path.is_file()}
    return status, normal(output), normal(errors), files


#: Each does what the real curl does.
SAME = r"""
curl -s URL/echo
curl -sS URL/chunked
curl -sS URL/until-close
curl -sS http://URL/bytes/100000
curl -sS URL/nothing
curl -sS URL/status/404
curl -sS -f URL/status/404
curl -s -f URL/status/500
curl -sS --fail-with-body URL/status/404
curl -sSi URL/status/404
curl -sI URL/echo
curl -s --head URL/status/404
curl -s -X DELETE URL/echo
curl -s -XPUT URL/echo -d x=1
curl -s -d a=b -d c=d URL/echo
curl -s -d @- URL/echo
curl -s --data-binary @data URL/body
curl -s --data-raw @data URL/echo
curl -s --data-urlencode 'a=b c&d' --data-urlencode =x/y --data-urlencode f@data URL/echo
curl -s --data-urlencode 'é ü' URL/echo
curl -s -G -d a=b --data-urlencode 'c=d e' 'URL/echo?x=1'
curl -s --url-query q=1 URL/echo
curl -s --json '{"a": 1}' URL/echo
curl -s --json '{"a": 1}' -H 'Content-Type: text/x' URL/echo
curl -s -F a=b -F 'c=d;type=text/x' URL/body
curl -s -F f=@data -F p=@photo.png URL/body
curl -s -F 'f=@data;type=text/y;filename=other.txt' -F 't=<data' URL/body
curl -s --form-string a=@data URL/body
curl -s -T data URL/body
curl -s -H 'X-One: 1' -H 'X-Two:2' -H 'Accept:' -H 'X-Empty;' URL/echo
curl -s -H @headers URL/echo
curl -s -H 'Host: localhost' URL/echo
curl -s -A agent/1 -e http://before/ -u user:password URL/echo
curl -s -A '' URL/echo
curl -s http://user:pass%20word@URL/echo
curl -s --oauth2-bearer token URL/echo
curl -s -b 'a=b; c=d' URL/echo
curl -s -r 3-5 URL/range
curl -s URL/redirect?to=/echo
curl -sL URL/redirect?to=/echo
curl -sL -d x=1 URL/redirect-as/301
curl -sL -d x=1 URL/redirect-as/303
curl -sL -d x=1 URL/redirect-as/307
curl -sL -d x=1 URL/redirect-as/308
curl -sL -X POST -d x=1 URL/redirect-as/302
curl -sL --post302 -d x=1 URL/redirect-as/302
curl -sLi URL/redirect?to=/status/404
curl -sSL --max-redirs 0 URL/redirect?to=/echo
curl -sSL --max-redirs 2 URL/redirect?to=/redirect-as/302
curl -s -c jar URL/cookies
curl -s -c - URL/cookies -o got
curl -sL -b none URL/cookies URL/echo
curl -sL -c jar URL/cookies URL/echo URL/echo/below
curl -s -o got URL/bytes/5
curl -so got URL/bytes/5 -o other URL/bytes/6
curl -sO URL/named
curl -sOJ URL/named
curl -s --create-dirs -o new/dir/got URL/bytes/5
curl -s --output-dir . -o got URL/bytes/5
curl -s -o /dev/null -w '%{http_code}\n' URL/echo
curl -s -w '%{http_code} %{response_code} %{size_download} %{url_effective} %{method}%%\t%{num_redirects}\n' URL/bytes/3
curl -s -w '%{redirect_url} %{http_code}\n' URL/redirect?to=/echo
curl -sL -w '%{num_redirects} %{url_effective}\n' URL/redirect?to=/echo
curl -s -w 'on error %{onerror}never' URL/bytes/3
curl -s -w '%{stderr}to errors %{stdout}to output' URL/bytes/3
curl -sD heads -o got URL/echo
curl -sD - URL/status/200
curl -sL -D heads URL/redirect?to=/status/200
curl -s --compressed URL/gzip
curl -s URL/echo URL/bytes/3
curl -s URL/bytes/[1-3]
curl -s 'URL/{body,bytes/4}' -o 'got-#1'
curl -s -g 'URL/echo?q={a}'
curl -s 'URL/echo?q=a%20b#part'
curl -s URL/a/../b/./c
curl -s --path-as-is URL/a/../b
curl -sR -o got URL/modified
curl -s --max-time 20 --connect-timeout 5 URL/bytes/3
curl -sS --max-time 0.3 URL/never
curl -s --retry 1 --retry-delay 0 URL/bytes/3
curl -s -C 3 -o data URL/range
curl -s -C - -o new URL/range
curl -sS -C 4 URL/range
curl -sS --max-filesize 10 URL/bytes/50
curl -sS no-such-host.invalid
curl -s -F x=@missing URL/echo
curl -sS --http1.1 -4 -N --tlsv1.2 URL/bytes/3
curl
curl --unknown URL
curl -s -d
curl --max-time soon URL
curl -s -o
curl -sSfL -o got URL/redirect?to=/bytes/9
curl -sS -F x=@missing URL/echo
curl -sb missing URL/echo
curl -sS http:///no-such-host.invalid
curl -sSL URL/redirect?to=foo://x/
curl -sSL URL/redirect?to=http://localhost:99999/
curl -s -c missing/jar URL/cookies
curl -s -H 'bad header' URL/echo
curl -s -w '%{header_json}\n' URL/bytes/3 -o got
curl -s -w @headers URL/bytes/1
curl -s -u user -d '' URL/echo
curl -s -o a -o b URL/bytes/1
curl -o a URL/bytes/1 URL/bytes/2 -s -o b
curl -sfS URL/status/404 URL/bytes/2
curl --fail-early -sS -f URL/status/404 URL/bytes/1
curl -sS 'URL/{a,}'
curl -s -I -d x URL/echo
curl -I -d x URL/echo
curl -F a=b -d x URL/echo
curl -T data -d x URL/echo
curl -sJO URL/bytes/3
curl -sS -C x URL/range
curl -sS -f --fail-with-body URL/status/404
curl -sS -e ';auto' -L URL/redirect?to=/echo
curl -s --json a --json b URL/echo
curl -s --json a -d b URL/echo
curl -s --proto =https http://URL/bytes/3
curl -s --proto =http,https URL/bytes/3
curl -s --proto -all,http URL/bytes/3
curl -s --proto -http URL/bytes/3
curl -s --proto =https --proto http URL/bytes/3
curl -sL --proto-redir =https URL/redirect?to=/echo
curl -sL --proto-redir =http URL/redirect?to=/echo
curl -s --proto-redir =https URL/bytes/3
curl -s --proto-redir =https -w '%{redirect_url}' URL/redirect?to=/echo
curl -s -w '%{redirect_url}' URL/redirect?to=ftp://localhost/x
curl -s -w '%{redirect_url}' URL/redirect?to=foo://x/
""".strip().splitlines()

#: So do these from curl 8.14 on; older ones say it in other words, or do something else.
SAME_IN_8 = r"""
curl -sS URL/half
curl -s -d @data URL/echo
curl -s -T data URL/echo/
curl -sSL URL/redirect?to=gopher://x/
curl -sS -O URL/
curl -sS -o missing/got URL/bytes/5
curl -s -w '%{content_type}|%{scheme}|%{http_version}|%{num_headers}|%{header{server}}\n' URL/status/200
curl -s -w 'code %{http_code} exit %{exitcode}: %{errormsg}\n' localhost:1
curl -sS localhost:1
curl -sS foo://example.com
curl -sS 'http://a b/'
curl -sS -T missing URL/echo
curl -s
curl --no-progress-meter -F x URL/echo
curl --no-progress-meter -d @missing URL/echo
curl --no-progress-meter --data-binary @missing URL/echo
curl --data-urlencode a@missing URL/echo
curl -s -H @missing URL/echo
curl -sS http://localhost:99999/
curl -sS ''
curl -sS 'http://a%00b/'
curl -sS http://u@/
curl -sSL URL/redirect?to=file:///x
curl -sS -O URL/a/b/
curl --no-progress-meter -O URL/
curl --no-progress-meter -o missing/got URL/bytes/5
curl -sS -D missing/heads URL/bytes/1
curl -sS -o data/got URL/bytes/5
curl --no-progress-meter -f --retry 1 --retry-delay 1 URL/status/503
curl --no-progress-meter --retry 1 --retry-delay 1 --retry-connrefused localhost:1
curl --no-progress-meter --retry 1 --retry-delay 1 --retry-all-errors localhost:1
curl -s -w '%{unknown} %{num_retries} \q %' -o got URL/bytes/0
curl -s -w @missing URL/bytes/1
curl --silen URL/echo
curl -s -T data -T headers URL/echo URL/body
curl -sS --proto =https http://URL/bytes/3
curl -sSL --proto-redir =https URL/redirect?to=/echo
""".strip().splitlines()


@functools.cache
def version() -> tuple[int, ...]:
    """The version of the real curl."""
    found = re.match(rb"curl (\d+)\.(\d+)", real(["curl", "--version"]).stdout)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("line", SAME)
def test_curl(line: str, port: int, tmp_path: Path) -> None:
    """A command line prints, sends and leaves what it does with the real curl."""
    expected = effect(real, line, port, tmp_path / "real")
    assert effect(ours, line, port, tmp_path / "ours") == expected


@pytest.mark.parametrize("line", SAME_IN_8)
def test_curl_8(line: str, port: int, tmp_path: Path) -> None:
    """A command line does what it does with curl 8, also where older versions differ."""
    if version() < (8, 14):
        pytest.skip(f"the curl of this machine is {version()}")
    expected = effect(real, line, port, tmp_path / "real")
    assert effect(ours, line, port, tmp_path / "ours") == expected
