"""`wget`: retrieve files over HTTP and HTTPS."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

from planaria_shell.commands.network.cookies import Cookies
from planaria_shell.commands.network.exchange import Body
from planaria_shell.commands.network.wget.log import Log, now, rate, short_size
from planaria_shell.commands.network.wget.transfer import Settings, Stop, Transfer
from planaria_shell.commands.processes.durations import pause
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import Arguments, UsageError
from planaria_shell.toolkit.streams import Target, decode, encode, read_input, reason

_LONG = """
    append-output=a: auth-no-challenge background=b body-data: body-file: compression: connect-timeout:
    content-disposition content-on-error continue=c debug=d directory-prefix=P: dns-timeout: execute=e:
    force-directories=x header: http-password: http-user: inet4-only=4 inet6-only=6 input-file=i:
    keep-session-cookies limit-rate: load-cookies: max-redirect: method: mirror=m no-check-certificate
    no-clobber=nc no-directories=nd no-host-directories=nH no-parent=np no-verbose=nv no-cookies no-cache
    no-hsts no-proxy output-document=O: output-file=o: page-requisites=p password: post-data: post-file:
    progress: quiet=q random-wait read-timeout: recursive=r referer: retry-connrefused save-cookies:
    server-response=S show-progress spider timeout=T: timestamping=N tries=t: trust-server-names user:
    user-agent=U: verbose=v wait=w: waitretry: https-only version=V help=h
"""
_SHORT = "a:bcde:hi:mn:o:O:pP:qrSt:T:U:vVw:xN46"
_PAIRS = "vcdpH"
#: What there is no way for here.
_ABSENT = {"r": "--recursive", "m": "--mirror", "p": "--page-requisites", "b": "--background"}
_USAGE = "Usage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options."
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _usage(message: str, status: Status = 2) -> UsageError:
    return UsageError(message, status=status)


@command(
    "wget",
    short=_SHORT,
    long=_LONG,
    usage="[OPTION]... [URL]...",
    version="GNU Wget 1.21.3 (planaria)\n",
    misuse=2,
    hint=_USAGE,
)
def wget(call: Invocation) -> Generator[None, None, Status]:
    """Retrieve files over HTTP and HTTPS, from where the host of this sandbox allows it."""
    arguments = call.arguments
    flags = {key for key, _ in arguments.options}
    for letters in arguments.values("n"):
        for letter in letters:
            if letter not in _PAIRS:
                raise _usage(f"illegal option -- `-n{letter}'", 1)
            flags.add(f"n{letter}")
    for key, name in _ABSENT.items():
        if key in flags:
            raise _usage(f"{name} is not available in this sandbox", 2)
    _check_method(call, arguments)
    urls, from_file = list(call.operands), False
    for name in arguments.values("i"):
        lines = decode(read_input(call, name)).splitlines()
        urls += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        from_file = True
    if not urls and not from_file:
        raise _usage("missing URL", 1)
    settings = _settings(call, arguments, frozenset(flags))
    if settings is None:
        return 1
    try:
        return (yield from _run(settings, urls, from_file))
    finally:
        if settings.document is not None and settings.document_name != "-":
            settings.document.close()
        settings.log.close()


def _run(settings: Settings, urls: list[str], from_file: bool) -> Generator[None, None, Status]:
    call, log = settings.call, settings.log
    began = time.monotonic()
    statuses: list[Status] = []
    wait = _seconds("--wait", call.arguments.value("w")) or 0.0
    for number, url in enumerate(urls):
        if number and wait:
            yield from pause(call, wait)
        try:
            yield from Transfer(settings, url).run()
        except Stop as stop:
            statuses.append(stop.status)
    total = sum(settings.downloads)
    if total and (len(urls) > 1 or from_file):
        log.note(
            f"FINISHED --{now()}--\nTotal wall clock time: {_span(time.monotonic() - began)}\n"
            f"Downloaded: {len(settings.downloads)} files, {short_size(total)} in {_span(settings.seconds)} "
            f"({rate(total, settings.seconds)})\n"
        )
    jar = call.arguments.value("save-cookies")
    if jar is not None:
        with_cookies = call.create(jar)
        with_cookies.write(encode(settings.cookies.text()))
        with_cookies.close()
    return min(statuses, default=0)


def _span(seconds: float) -> str:
    return f"{seconds:.3g}s" if seconds >= 0.001 else "0s"


def _check_method(call: Invocation, arguments: Arguments) -> None:
    posts = arguments.has("post-data", "post-file")
    bodies = arguments.has("body-data", "body-file")
    if posts and arguments.has("method"):
        call.warn(
            "You cannot use --post-data or --post-file along with --method. --method expects data through "
            "--body-data and --body-file options"
        )
        raise UsageError("", hint=False, status=1)
    if bodies and not arguments.has("method"):
        call.warn(
            "You must specify a method through --method=HTTPMethod to use with --body-data or --body-file."
        )
        raise UsageError("", hint=False, status=1)


def _settings(call: Invocation, arguments: Arguments, flags: frozenset[str]) -> Settings | None:
    """What was asked for; None when a file cannot be written, which was reported."""
    method = (arguments.value("method") or "GET").upper()
    if arguments.has("post-data", "post-file"):
        method = "POST"
    data = arguments.value("post-data", "body-data")
    file = arguments.value("post-file", "body-file")
    body = None if data is None else Body(encode(data))
    if file is not None:
        body = Body(read_input(call, "-")) if file == "-" else Body(Path(call.path(file)))
        if file != "-" and not Path(call.path(file)).is_file():
            call.error(f"BODY data file {file} missing: No such file or directory")
            return None
    name = arguments.value("O")
    is_quiet = "q" in flags
    log = _log(call, arguments, 0 if is_quiet else 1 if "nv" in flags else 2)
    document: Target | None = None
    try:
        if name == "-":
            document = call.create("/dev/stdout")
        elif name is not None and "spider" not in flags:
            document = call.create(name, "ab" if "c" in flags else "wb")
    except OSError as error:
        log.note(f"{name}: {reason(error)}\n")
        return None
    cookies = Cookies()
    if (jar := arguments.value("load-cookies")) is not None:
        try:
            cookies.load(decode(read_input(call, jar)))
        except OSError as error:
            log.note(f"Cannot open cookies file {jar}: {reason(error)}\n")
    timeout = _seconds("--timeout", arguments.value("T"))
    read_timeout = _seconds("--read-timeout", arguments.value("read-timeout"))
    connecting = _seconds("--connect-timeout", arguments.value("connect-timeout"))
    user = arguments.value("user", "http-user")
    password = arguments.value("password", "http-password") or ""
    return Settings(
        call,
        log,
        cookies,
        arguments.values("header"),
        method,
        body,
        _number(arguments.value("t"), 20),
        (timeout if read_timeout is None else read_timeout) or None,
        (timeout if connecting is None else connecting) or None,
        _seconds("--waitretry", arguments.value("waitretry")) or 10.0,
        _number(arguments.value("max-redirect"), 20),
        document,
        name,
        None if user is None else f"{user}:{password}",
        flags,
        arguments.value("P") or "",
        arguments.value("U"),
        arguments.value("referer"),
    )


def _log(call: Invocation, arguments: Arguments, level: int) -> Log:
    target = None
    if (name := arguments.value("o")) is not None:
        target = call.create(name)
    elif (name := arguments.value("a")) is not None:
        target = call.create(name, "ab")
    return Log(call, level, target, level == 2 or arguments.has("show-progress"))


def _number(text: str | None, usual: int) -> int:
    if text in ("inf", "0"):
        return 0
    return int(text) if text is not None and text.isdigit() else usual


def _seconds(option: str, text: str | None) -> float | None:
    """A time period, with s, m, h or d after it. Raises UsageError."""
    if text is None:
        return None
    unit = _UNITS.get(text[-1:])
    try:
        return float(text if unit is None else text[:-1]) * (unit or 1.0)
    except ValueError:
        raise UsageError(f"{option}: Invalid time period ‘{text}’", hint=False, status=2) from None
