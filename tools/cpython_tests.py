"""Run CPython's own tests of the standard library in a session and natively, and print both counts.

    python tools/cpython_tests.py PYTHON [--network] [--docs] [MODULE ...]

PYTHON is an interpreter with the package `test`, of a version near the session's: 3.13 or newer. Its tests
are mounted into the sandbox and run there, against the sandbox's own library. MODULE is the name of a test
without `test_`, such as `json`; without any, all of `MODULES` run, or with `--network` of `NETWORK_MODULES`,
whose servers then run on the host (`cpython_servers.py`).
Each module runs in a fork of one session that has the test framework imported, and each class of tests in one
execution with a time limit. A test that ends an execution counts as an error, and the others of its class go
on in another fork.

Tests that fail in the session alone go to standard error, with the ends of their reports. With `--docs` the
table replaces the one in docs/standard-library.md, or with `--network` the one in docs/network.md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import planaria

MODULES: Final = """
    list dict str bytes tuple set int float complex bool range slice enumerate sort iter generators
    re json collections itertools functools operator dataclasses datetime decimal fractions statistics
    math cmath random heapq bisect array copy pickle copyreg enum abc textwrap string struct
    csv configparser tomllib io memoryio os posixpath pathlib glob fnmatch shutil tempfile zipfile tarfile
    gzip bz2 lzma zlib hashlib hmac secrets base64 binascii uuid sqlite3 contextlib
    asyncio.test_tasks asyncio.test_futures asyncio.test_queues asyncio.test_locks asyncio.test_taskgroups
    asyncio.test_timeouts asyncio.test_runners asyncio.test_waitfor sched
    time calendar zoneinfo logging argparse ast inspect unittest.test_case unittest.test_suite
    unittest.test_loader unittest.test_result xml_etree minidom
    sax html htmlparser urlparse email ipaddress pprint reprlib weakref context difflib codecs unicodedata
    shelve graphlib linecache getopt shlex filecmp quopri mimetypes colorsys numeric_tower doctest tokenize
    keyword warnings gc sys builtin exceptions mmap
    unpack unpack_ex descr metaclass super property scope decorators fstring patma named_expressions
    grammar syntax with coroutines asyncgen raise exception_group except_star userdict userlist
    userstring ordered_dict defaultdict deque dictviews contextlib_async optparse cmd codeop py_compile
    symtable pickletools plistlib netrc mailbox gettext locale fileinput stat timeit trace pstats bdb
    atexit zipapp string_literals bufio fileio file print hash index int_literal long pow strptime
    strftime genericpath ntpath listcomps setcomps genexps extcall call funcattrs keywordonlyarg
    positional_only_arg pulldom pyexpat wave asyncio.test_base_events asyncio.test_streams
    asyncio.test_eager_task_factory multibytecodec stringprep
"""

NETWORK_MODULES: Final = """
    httplib urllib urllib2 urllib2_localnet robotparser http_cookiejar http_cookies
"""

#: How long one class of tests may take, in seconds; in the session and natively all of a module.
_CLASS_TIMEOUT: Final = 60
_MODULE_TIMEOUT: Final = 600

#: `classes_of(name)` has the ids of a module's tests by class; `run(ids, record)` runs some of them and
#: calls `record(id, outcome, report)` before and after each.
RUN: Final = """
import os, sys, unittest
import test.support
test.support.use_resources = ()
suites = {}

def flat(suite):
    if isinstance(suite, unittest.TestCase):
        yield suite
    else:
        for each in suite:
            yield from flat(each)

def classes_of(name):
    for case in flat(unittest.defaultTestLoader.loadTestsFromName(name)):
        owner = f"{type(case).__module__}.{type(case).__qualname__}"
        suites.setdefault(owner, []).append((case.id(), case))
    return {owner: [name for name, case in cases] for owner, cases in suites.items()}

class Result(unittest.TestResult):
    def __init__(self, record):
        super().__init__()
        self._record = record

    def startTest(self, test):
        super().startTest(test)
        self._outcome = "passed", ""
        self._record(test.id(), "started", "")

    def stopTest(self, test):
        super().stopTest(test)
        self._record(test.id(), *self._outcome)

    def _is(self, outcome, report=""):
        if self._outcome[0] != "failed":
            self._outcome = outcome, report[-700:]

    def addFailure(self, test, error):
        self.addError(test, error)

    def addError(self, test, error):
        report = self._exc_info_to_string(error, test)
        if isinstance(test, unittest.TestCase):
            self._is("failed", report)
        else:
            self._record(test.id(), "failed", report[-700:])

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._is("failed", f"{subtest.id()}\\n{self._exc_info_to_string(error, test)}")

    def addSkip(self, test, reason):
        if isinstance(test, unittest.TestCase):
            self._is("skipped", reason)

    def addExpectedFailure(self, test, error):
        self._is("skipped", "an expected failure")

    def addUnexpectedSuccess(self, test):
        self._is("failed", "an unexpected success")

def run(owner, left, record):
    suite = unittest.TestSuite(case for name, case in suites[owner] if name in left)
    suite.run(Result(record))
"""

#: Writes one outcome a line to the file that is its last argument, which is there also when a test ends the
#: process.
RECORD: Final = """
import json

def recorder(path):
    def record(*outcome):
        with open(path, "a") as file:
            file.write(json.dumps(outcome) + "\\n")
    return record
"""

NATIVE: Final = f"""{RUN}{RECORD}
name, path = sys.argv[1:]
record = recorder(path)
for owner, ids in classes_of(name).items():
    run(owner, set(ids), record)
"""

_TESTS: Final = "/cpython"
_OUTCOMES: Final = "/outcomes"

#: Of the mounted library only the tests are to be found: all else is the session's own. What the tests import
#: and a newer Python or the guest lacks is stood in for, and a test that calls it is skipped.
SESSION: Final = f"""
import importlib, sys, types
sys.path.append({_TESTS!r})
{RUN}{RECORD}

def missing(name):
    if name.startswith("__"):
        raise AttributeError(name)
    def skip(*arguments, **named):
        raise unittest.SkipTest(f"{{name}} is not there")
    return skip

for name in "_testlimitedcapi _testsinglephase test.typinganndata.ann_module".split():
    module = types.ModuleType(name)
    module.__getattr__ = missing
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package:
        setattr(importlib.import_module(package), last, module)

import compression._common._streams
sys.modules["_compression"] = compression._common._streams

def no_watcher(policy):
    raise NotImplementedError

import asyncio.unix_events
asyncio.unix_events._UnixDefaultEventLoopPolicy.get_child_watcher = no_watcher

# Threads are emulated, asyncio needs no sockets, and the host has a name.
import test.support.socket_helper
import test.support.threading_helper
test.support.socket_helper.has_gethostname = True
test.support.threading_helper.can_start_thread = True
test.support.has_socket_support = True
"""

_COLUMNS: Final = ("passed", "failed", "skipped")
_BEGIN: Final = "<!-- cpython tests: begin -->"
_END: Final = "<!-- cpython tests: end -->"
_DOCS: Final = Path(__file__).parent.parent / "docs"

Outcomes = dict[str, tuple[str, str]]


def _located(python: str) -> Path:
    """The directory of the interpreter's package `test`."""
    code = "import test; print(test.__path__[0])"
    return Path(
        subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )


def _read(path: Path) -> Outcomes:
    """The outcomes of a file; of a test that has only started, an error."""
    outcomes: Outcomes = {}
    for line in path.read_text(errors="replace").splitlines():
        name, outcome, report = json.loads(line)
        if outcome != "started" or name not in outcomes:
            outcomes[name] = (outcome, report)
    return outcomes


def _native(python: str, name: str) -> Outcomes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "outcomes")
        path.touch()
        command = [python, "-c", NATIVE, name, str(path)]
        try:
            subprocess.run(
                command, capture_output=True, cwd=directory, timeout=_MODULE_TIMEOUT, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: the native run took too long", file=sys.stderr)
        return _ended(_read(path), "the process ended")


def _ended(outcomes: Outcomes, why: str) -> Outcomes:
    return {
        name: ("failed", why) if outcome == "started" else (outcome, report)
        for name, (outcome, report) in outcomes.items()
    }


def _in_session(warm: planaria.Session, path: Path, name: str) -> Outcomes:
    path.write_text("")
    (fork,) = warm.fork(1)
    try:
        loaded = fork.run(f"json.dumps(classes_of({name!r}))")
        if loaded.error is not None:
            return {name: ("failed", f"not loaded: {loaded.error}")}
        classes: dict[str, list[str]] = json.loads(str(loaded.value))
        for owner, ids in classes.items():
            left = set(ids)
            while left:
                ended = fork.run(
                    f"run({owner!r}, {left!r}, recorder({_OUTCOMES + '/outcomes'!r}))", timeout=_CLASS_TIMEOUT
                )
                outcomes = _read(path)
                done = left & outcomes.keys()
                why = "" if ended.error is None else f"{type(ended.error).__name__}: {ended.error}"
                with path.open("a") as file:
                    for test in done:
                        if outcomes[test][0] == "started":
                            file.write(json.dumps((test, "failed", why or "the test ended the run")) + "\n")
                if not why or not done:
                    break
                left -= done
                fork.close()
                (fork,) = warm.fork(1)
                fork.execute(f"classes_of({name!r})")
    finally:
        fork.close()
    return _read(path)


def _rows(python: str, modules: list[str], *, network: bool) -> Iterator[str]:
    yield "| tests | session: " + " | ".join([*_COLUMNS, "native: " + _COLUMNS[0], *_COLUMNS[1:]]) + " |"
    yield "|---|" + "--:|" * (2 * len(_COLUMNS))
    limits = planaria.Limits(timeout=_CLASS_TIMEOUT, memory=3 << 30, callbacks=None)
    with tempfile.TemporaryDirectory() as directory:
        mounts = [
            planaria.Mount(_located(python), f"{_TESTS}/test", mode="ro"),
            planaria.Mount(directory, _OUTCOMES, mode="rw"),
        ]
        options: dict[str, Any] = {"mounts": mounts, "limits": limits}
        clients = ""
        if network:
            from cpython_servers import CLIENTS, LoopbackServers

            certificates = _located(python) / "certdata"
            servers = LoopbackServers(certificates)
            clients = CLIENTS
            options["callbacks"] = servers.functions()
            options["network"] = planaria.Network(
                allow=[f"tcp://127.0.0.1:{servers.proxy_port}"],
                on_request=lambda request: True,
                private=True,
                certificates=certificates / "keycert.pem",
            )
        with planaria.Session(**options) as warm:
            warm.execute(SESSION + clients)
            for module in modules:
                name = f"test.test_{module}"
                native = _native(python, name)
                ours = _in_session(warm, Path(directory, "outcomes"), name)
                yield _row(module, ours, native)
                for test, (outcome, report) in ours.items():
                    if outcome == "failed" and native.get(test, ["passed"])[0] != "failed":
                        print(f"--- {test}\n{report}\n", file=sys.stderr, flush=True)


def _row(module: str, ours: Outcomes, native: Outcomes) -> str:
    counts = [Counter(outcome for outcome, _ in outcomes.values()) for outcomes in (ours, native)]
    return " ".join([f"| `{module}` |", *(f"{count[name]} |" for count in counts for name in _COLUMNS)])


def main() -> int:
    """Print the table, or put it into the docs; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("python", help="an interpreter that has the package `test`")
    parser.add_argument("--docs", action="store_true", help="replace the table of the page")
    parser.add_argument("--network", action="store_true", help="run the tests of clients of HTTP")
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    arguments = parser.parse_args()
    modules = NETWORK_MODULES if arguments.network else MODULES
    page = _DOCS / ("network.md" if arguments.network else "standard-library.md")
    rows = []
    for row in _rows(arguments.python, arguments.modules or modules.split(), network=arguments.network):
        print(row, flush=True)
        rows.append(row)
    if arguments.docs:
        table = "\n".join([_BEGIN, "", *rows, "", _END])
        page.write_text(re.sub(f"{_BEGIN}.*{_END}", lambda _: table, page.read_text(), flags=re.DOTALL))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
