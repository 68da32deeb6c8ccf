"""`curl`: transfer a URL."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

from planaria_shell.commands.network.cookies import Cookies
from planaria_shell.commands.network.curl.bodies import DATA, CannotReadOption, option_file
from planaria_shell.commands.network.curl.globbing import expanded
from planaria_shell.commands.network.curl.options import CurlUsageError, Given, Option, parse
from planaria_shell.commands.network.curl.request import VERSION
from planaria_shell.commands.network.curl.transfer import HINT, Settings, transfer, warn
from planaria_shell.commands.network.curl.write_out import Figures, write_out
from planaria_shell.commands.processes.durations import pause
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import decode, read_input, reason

_TRANSIENT = frozenset([408, 429, 500, 502, 503, 504])
_LONGEST_DELAY = 600
#: Options that choose a method, as curl calls them in a message.
_METHODS = {
    "head": "HEAD (-I, --head)",
    "form": "multipart formpost (-F, --form)",
    "data": "POST (-d, --data)",
}

_HELP = """\
Usage: curl [options...] <url>
 -d, --data <data>          HTTP POST data
 -f, --fail                 Fail fast with no output on HTTP errors
 -F, --form <name=content>  Multipart form data; content @file is a file
 -G, --get                  Put the data in the URL and use GET
 -H, --header <header/@file> Pass custom header(s) to server
 -h, --help                 Get help for commands
 -i, --include              Include response headers in the output
 -I, --head                 Show document info only
     --json <data>          HTTP POST JSON
 -L, --location             Follow redirects
 -m, --max-time <seconds>   Maximum time allowed for transfer
 -o, --output <file>        Write to file instead of stdout
 -O, --remote-name          Write output to file named as remote file
     --retry <num>          Retry request if transient problems occur
 -s, --silent               Silent mode
 -S, --show-error           Show error even when -s is used
 -T, --upload-file <file>   Transfer local FILE to destination
 -u, --user <user:password> Server user and password
 -A, --user-agent <name>    Send User-Agent <name> to server
 -v, --verbose              Make the operation more talkative
 -V, --version              Show version number and quit
 -w, --write-out <format>   Output FORMAT after completion
 -X, --request <method>     Specify request method to use

What may be reached, the host of this sandbox decides; it also verifies servers, whatever -k says.
There is no progress meter, and no protocol but http and https.
"""
_VERSION = f"curl {VERSION} (planaria)\nProtocols: http https\nFeatures: HTTPS IPv6 libz SSL\n"


@command("curl", raw=True, usage="[options...] <url>", help=_HELP, version=_VERSION)
def curl(call: Invocation) -> Generator[None, None, Status]:
    """Transfer a URL."""
    try:
        given = parse(call.operands)
    except CurlUsageError as error:
        if error.warning:
            call.warn(f"Warning: {error.warning}")
        call.warn(f"curl: {error}")
        call.warn(HINT)
        return 2
    if given.has("help") or given.has("manual"):
        call.print(_HELP, "")
        return 0
    if given.has("version"):
        call.print(_VERSION, "")
        return 0
    if not given.urls:
        if call.operands:
            call.warn("curl: (2) no URL specified")
        call.warn(HINT)
        return 2
    try:
        return (yield from _run(call, given))
    except CannotReadOption as error:
        if not given.has("silent"):
            call.warn(f"curl: Failed to open {error.name}")
        call.warn(f"curl: {error}")
        call.warn(HINT)
        return 26


def _run(call: Invocation, given: Given) -> Generator[None, None, Status]:
    cookies, fixed = Cookies(), list[str]()
    for text in given.values("cookie"):
        if "=" in text:
            fixed.append(text.strip("; "))
            continue
        try:
            cookies.load(read_input(call, text).decode("utf-8", "replace"))
        except OSError:
            pass  # a jar that the first call fills
    settings = Settings(call, given, cookies, fixed)
    several = _several_methods(given)
    if several:
        warn(settings, several)
        return 2
    user = given.value("user")
    if user is not None and ":" not in user:
        call.stderr.write(f"Enter host password for user '{user}':\n".encode("utf-8", "surrogateescape"))
        password = decode(call.stdin.readline()).rstrip("\r\n")
        given.options.append(Option("user", f"{user}:{password}", ""))
    template = _template(call, given)
    status = 0
    for number, (url, output, upload) in enumerate(_transfers(given)):
        status = yield from _one(settings, url, output, upload, template, number)
        if status and given.has("fail-early"):
            break
    jar = given.value("cookie-jar")
    if jar == "-":
        call.print(cookies.text(), "")
    elif jar is not None:
        try:
            with_cookies = call.create(jar)
        except OSError as error:
            warn(settings, f"Failed to save cookies in {jar}: {reason(error)}")
            return status
        with_cookies.write(cookies.text().encode())
        with_cookies.close()
    return status


def _transfers(given: Given) -> Iterator[tuple[str, str | None, str | None]]:
    """Each URL with its output (`-`: standard output; None: named as in the URL) and what is sent there."""
    for position, url in enumerate(given.urls):
        output = given.outputs[position] if position < len(given.outputs) else "-"
        upload = given.uploads[position] if position < len(given.uploads) else None
        if position >= len(given.outputs) and given.has("remote-name-all"):
            output = None
        for expansion, chosen in expanded(url, plain=given.has("globoff")):
            name = output
            for index, part in enumerate(chosen, 1):
                name = None if name is None else name.replace(f"#{index}", part)
            yield expansion, name, upload


def _several_methods(given: Given) -> str | None:
    """What curl says of options that ask for different methods; None where they do not."""
    first = second = ""
    for option in given.options:
        name = "data" if option.name in DATA else option.name
        asked = _METHODS.get("form" if name == "form-string" else name)
        if asked is None or (name == "data" and given.has("get")):
            continue
        first, second = first or asked, asked
        if first != second:
            break
    if given.uploads and first:
        first, second = first, "PUT (-T, --upload-file)"
    if first == second:
        return None
    return f"You can only select one HTTP request method! You asked for both {second} and {first}."


def _template(call: Invocation, given: Given) -> str | None:
    """What `-w` says, or the file that it names."""
    options = [option for option in given.options if option.name == "write-out"]
    if not options:
        return None
    template = options[-1].value
    if template.startswith("@"):
        return decode(option_file(call, options[-1], template[1:])).replace("\r", "").replace("\n", "")
    return template


def _one(
    settings: Settings, url: str, output: str | None, upload: str | None, template: str | None, number: int
) -> Generator[None, None, Status]:
    """Transfer one URL, again after a transient failure; returns the exit status."""
    call, given = settings.call, settings.given
    retries = int(given.number("retry") or 0)
    delay = given.number("retry-delay")
    limit = given.number("retry-max-time")
    began = time.monotonic()
    wait = 1.0
    shows_errors = not given.has("silent") or given.has("show-error")
    tries = 0
    while True:
        figures = Figures(url, number, num_retries=tries)
        yield from transfer(settings, url, output, upload, figures)
        if figures.exitcode and shows_errors:
            call.warn(f"curl: ({figures.exitcode}) {figures.errormsg}")
        problem = _transient(given, figures)
        if problem is None or retries < 1 or (limit and time.monotonic() - began > limit):
            break
        after = next((value for name, value in figures.headers if name.lower() == "retry-after"), "")
        seconds = float(after) if after.isdigit() else wait if delay is None else delay
        left = "1 retry" if retries == 1 else f"{retries} retries"
        unit = "second" if seconds == 1 else "seconds"
        warn(settings, f"Problem {problem}. Will retry in {seconds:g} {unit}. {left} left.")
        yield from pause(call, min(seconds, _LONGEST_DELAY))
        retries -= 1
        tries += 1
        wait = min(wait * 2, _LONGEST_DELAY)
    if template is not None:
        write_out(call, template, figures)
    return figures.exitcode


def _transient(given: Given, figures: Figures) -> str | None:
    """What may be over at the next try; None for success and for what stays."""
    if figures.exitcode in (0, 22) and figures.http_code in _TRANSIENT:
        return ": HTTP error"
    if figures.exitcode == 28:
        return ": timeout"
    if figures.exitcode == 6:
        return ": timeout"
    if figures.exitcode == 7 and figures.is_refused and given.has("retry-connrefused"):
        return ": connection refused"
    if figures.exitcode and given.has("retry-all-errors"):
        return "(retrying all errors)"
    return None
