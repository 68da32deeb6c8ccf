"""Random operations on paths, done by Python natively and in a session: the same must happen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import planaria

pytestmark = pytest.mark.slow

_OPERATIONS = """
import errno, os, random, stat

def sequence(seed, root):
    os.makedirs(root)
    os.chdir(root)
    rng = random.Random(seed)

    def name():
        return rng.choice("abcd")

    def path(last=False):
        parts = [rng.choice(["a", "b", "c", "d", ".", ".."]) if rng.random() < 0.3 else name()
                 for _ in range(rng.choice([1, 1, 1, 2, 2, 3]))]
        text = "/".join(parts) + "/" * (rng.random() < 0.15)
        if rng.random() < 0.15:
            text = root + "/" + text
        inside = (os.path.normpath(os.path.join(os.getcwd(), text)) + "/").startswith(root + "/")
        return text if inside and not (last and parts[-1] in (".", "..")) else name()

    def mode(found):
        kind = stat.filemode(found.st_mode)
        return kind, found.st_size * (kind[0] == "-"), found.st_nlink * (kind[0] != "d")

    def write(place, how, size):
        with open(place, how) as file:
            return file.write("x" * size)

    def opened(place, *flags):
        number = 0
        for one in flags:
            number |= getattr(os, one)
        descriptor = os.open(place, number, 0o644)
        try:
            return mode(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def entries(place):
        with os.scandir(place) as found:
            return sorted((one.name, one.is_dir(), one.is_file(), one.is_symlink()) for one in found)

    operations = {
        "mkdir": lambda: os.mkdir(path()),
        "makedirs": lambda: os.makedirs(path(), exist_ok=rng.random() < 0.5),
        "rmdir": lambda: os.rmdir(path()),
        "unlink": lambda: os.unlink(path()),
        "rename": lambda: os.rename(path(last=True), path(last=True)),
        "symlink": lambda: os.symlink(rng.choice([path(), "../" + name(), name()]), path()),
        "link": lambda: os.link(path(), path()),
        "listdir": lambda: sorted(os.listdir(path())),
        "scandir": lambda: entries(path()),
        "stat": lambda: mode(os.stat(path())),
        "lstat": lambda: mode(os.lstat(path())),
        "readlink": lambda: os.readlink(path()),
        "realpath": lambda: os.path.realpath(path()),
        "access": lambda: os.access(path(), os.F_OK),
        "write": lambda: write(path(), rng.choice(["w", "a", "x", "r+"]), rng.randrange(5)),
        "open": lambda: opened(path(), *rng.sample(["O_CREAT", "O_EXCL", "O_DIRECTORY", "O_NOFOLLOW"], rng.randrange(3))),
        "truncate": lambda: os.truncate(path(), rng.randrange(9)),
        "chmod": lambda: os.chmod(path(), rng.choice([0o644, 0o755, 0o700])),
        "chdir": lambda: os.chdir(path()),
        "walk": lambda: sorted((a, sorted(b), sorted(c)) for a, b, c in os.walk(path(), rng.random() < 0.5)),
    }

    def tree(place=root):
        found = {}
        for one in sorted(os.listdir(place)):
            full = place + "/" + one
            kind = mode(os.lstat(full))
            found[one] = (kind, tree(full)) if kind[0][0] == "d" else kind
        return found

    chosen = [*operations, *["mkdir", "makedirs", "write", "symlink"] * 2]
    for number in range(80):
        kind = rng.choice(chosen)
        try:
            done = operations[kind]()
        except OSError as error:
            done = errno.errorcode[error.errno], error.filename
        try:
            here = os.getcwd()
            os.stat(here)
        except OSError:
            os.chdir(root)
            here = root
        yield str((kind, done, here, tree())).replace(root, "ROOT").replace(os.path.dirname(root), "OUTER")
    os.chdir("/")

os.umask(0o022)
for seed in range(60):
    for line in sequence(seed, f"{TOP}/{seed}/inner"):
        print(seed, line)
"""


def test_the_same_happens_as_natively(tmp_path: Path) -> None:
    """Sequences of calls of `os` on relative and absolute paths, links, dots and slashes at the end give the results,
    errors, working directories and trees that they give natively.
    """
    top = str(tmp_path.resolve())
    native = subprocess.run(
        [sys.executable, "-c", f"TOP = {top!r}\n{_OPERATIONS}"], capture_output=True, text=True, check=True
    ).stdout
    with planaria.Session(limits=planaria.Limits(output=64 << 20)) as session:
        result = session.run(f"TOP = '/tmp/top'\n{_OPERATIONS}")
    assert result.error is None
    for ours, theirs in zip(result.stdout.splitlines(), native.splitlines(), strict=True):
        assert ours == theirs
