"""How fast a session works with files, against native CPython on tmpfs and pyeryx on its own filesystem.

    python benchmarks/files.py
    PEER_PYTHON=/path/to/python3.12-with-pyeryx python benchmarks/files.py

Every task runs in a session (or process) of its own and times itself inside, so starting does not count. The
engines take turns, in both orders, and the medians are compared. Without PEER_PYTHON there is no peer.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# fmt: off
MODULES = (
    "argparse", "calendar", "colorsys", "configparser", "decimal", "difflib", "email.mime.text",
    "fractions", "ftplib", "getopt", "gzip", "html.parser", "http.client", "imaplib", "json.tool",
    "mailbox", "optparse", "pdb", "pickletools", "plistlib", "pprint", "random", "sqlite3",
    "statistics", "tarfile", "unittest", "wave", "xml.etree.ElementTree", "zipfile", "zoneinfo",
)
# fmt: on

#: Each leaves the seconds that its work took in `seconds`; the working directory is empty.
TASKS = {
    "200 small files": """
start = perf_counter()
for i in range(200):
    with open(f"f{i}.txt", "w") as file:
        file.write("some text\\n" * 20)
for i in range(200):
    with open(f"f{i}.txt") as file:
        assert len(file.read()) == 200
seconds = perf_counter() - start
""",
    "one 50 MB file": """
block = bytes(range(256)) * 4096
start = perf_counter()
with open("large", "wb") as file:
    for _ in range(50):
        file.write(block)
with open("large", "rb") as file:
    total = 0
    while piece := file.read(1 << 20):
        total += len(piece)
seconds = perf_counter() - start
assert total == 50 << 20
""",
    "os.walk, 2,000 files": """
for i in range(40):
    os.mkdir(f"d{i}")
    for j in range(50):
        open(f"d{i}/f{j}", "w").close()
start = perf_counter()
found = sum(len(files) for _, _, files in os.walk("."))
seconds = perf_counter() - start
assert found == 2000
""",
    "os.stat, 2,000 files": """
for i in range(40):
    os.mkdir(f"d{i}")
    for j in range(50):
        open(f"d{i}/f{j}", "w").close()
start = perf_counter()
size = sum(os.path.getsize(f"d{i}/f{j}") for i in range(40) for j in range(50))
seconds = perf_counter() - start
""",
    "sqlite3, 10,000 inserts": """
import sqlite3
start = perf_counter()
connection = sqlite3.connect("x.db")
connection.execute("create table t(a integer primary key, b text)")
with connection:
    for i in range(10_000):
        connection.execute("insert into t(b) values (?)", (f"row number {i}",))
assert connection.execute("select count(*) from t").fetchone() == (10_000,)
connection.close()
seconds = perf_counter() - start
""",
    "sqlite3, 200 transactions": """
import sqlite3
start = perf_counter()
connection = sqlite3.connect("x.db")
connection.execute("create table t(a integer primary key, b text)")
for i in range(200):
    with connection:
        connection.execute("insert into t(b) values (?)", (f"row number {i}",))
connection.close()
seconds = perf_counter() - start
""",
    "import 30 modules": f"""
start = perf_counter()
import {", ".join(MODULES)}
seconds = perf_counter() - start
""",
}
TARGETS = {
    "200 small files": "3 x native",
    "one 50 MB file": "1.5 x pyeryx",
    "os.walk, 2,000 files": "3 x native",
}

_PROGRAM = "import os\nfrom time import perf_counter\nos.chdir({directory!r})\n{task}\nprint(seconds)\n"


def native(task: str) -> float:
    """In a process of this interpreter, on tmpfs where there is one."""
    place = Path("/dev/shm")
    directory = tempfile.mkdtemp(dir=place if place.is_dir() else None)
    try:
        program = _PROGRAM.format(directory=directory, task=task)
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(run.stdout)
    finally:
        shutil.rmtree(directory)


def ours(task: str) -> float:
    """In a new session."""
    import planaria

    with planaria.Session() as session:
        return float(session.execute(_PROGRAM.format(directory="/home/user", task=task)).stdout)


def pyeryx(task: str) -> float:
    """In a new session of pyeryx with a storage."""
    import eryx  # type: ignore[import-not-found]

    session = eryx.Session(vfs=eryx.VfsStorage())
    return float(session.execute(_PROGRAM.format(directory="/data", task=task)).stdout)


ENGINES: dict[str, Callable[[str], float]] = {"native": native, "ours": ours, "pyeryx": pyeryx}


def work(engine: str, repeats: int, tasks: list[str]) -> dict[str, list[float | str]]:
    """The times of an engine in this process; a task that it cannot do has the reason instead."""
    times: dict[str, list[float | str]] = {}
    run = ENGINES[engine]
    run("seconds = 0")  # what is loaded once is loaded
    for name in tasks:
        for _ in range(repeats):
            try:
                times.setdefault(name, []).append(run(TASKS[name]))
            except Exception as error:
                times.setdefault(name, []).append(f"{type(error).__name__}: {error}".strip().splitlines()[-1])
                break
    return times


def measure(engine: str, repeats: int, tasks: list[str]) -> dict[str, list[float | str]]:
    """`work` in a process of its own, in the interpreter that has the engine."""
    python = os.environ["PEER_PYTHON"] if engine == "pyeryx" else sys.executable
    command = [python, __file__, "--work", engine, "--repeats", str(repeats), *tasks]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, list[float | str]] = json.loads(run.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each task in each order (5)")
    parser.add_argument("--work", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(TASKS)} (all)")
    given = parser.parse_args()
    tasks = given.tasks or list(TASKS)
    if given.work:
        print(json.dumps(work(given.work, given.repeats, tasks)))
        return
    engines = ["native", "ours"] + (["pyeryx"] if os.environ.get("PEER_PYTHON") else [])
    times: dict[str, dict[str, list[float | str]]] = {name: {} for name in tasks}
    for order in (engines, engines[::-1]):
        for name in tasks:
            for engine in order:
                times[name].setdefault(engine, []).extend(measure(engine, given.repeats, [name])[name])
    print(
        f"{'':28}" + "".join(f"{engine:>14}" for engine in engines) + "   ours/native   ours/pyeryx   target"
    )
    for name in tasks:
        medians: dict[str, float] = {}
        line = f"{name:28}"
        for engine in engines:
            got = times[name][engine]
            numbers = [time for time in got if isinstance(time, float)]
            if len(numbers) == len(got):
                medians[engine] = statistics.median(numbers)
                line += f"{medians[engine] * 1e3:11.1f} ms"
            else:
                line += f"{'failed':>14}"
        for other in ("native", "pyeryx"):
            known = "ours" in medians and other in medians
            line += f"{medians['ours'] / medians[other]:14.2f}" if known else f"{'':14}"
        target = TARGETS.get(name)
        print(line + (f"   {target}" if target else ""))
        for engine in engines:
            for reason in {time for time in times[name][engine] if isinstance(time, str)}:
                print(f"    {engine}: {reason}")


if __name__ == "__main__":
    main()
