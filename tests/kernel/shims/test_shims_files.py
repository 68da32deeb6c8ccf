"""Permission bits and users."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import planaria
from planaria_kernel.shims.modes import with_mode


def python(program: str, *arguments: str) -> str:
    """What a program prints with the shims for files and users; its host calls are answered as by the host."""
    source = textwrap.dedent(
        """
        import os, sys
        from planaria_kernel.shims import modes, users
        from planaria_kernel.protocol import decode, encode
        chmod = os.chmod
        def answer(request):
            match decode(request[1:]):
                case "chmod", path, mode, follow:
                    try:
                        chmod(path, mode)
                    except OSError as error:
                        return encode(("errno", error.errno))
                case "umask", mask:
                    pass
            return encode(("ok", None))
        users.install(); modes.install(answer)
        """
    ) + textwrap.dedent(program)
    run = subprocess.run(
        [sys.executable, "-c", source, *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "HOME": "/home/user"},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_mode_from_device() -> None:
    """The upper bits of the device become the permission bits; the other fields stay."""
    found = os.stat(__file__)
    fields = list(found)
    fields[stat.ST_MODE] = stat.S_IFREG
    fields[stat.ST_DEV] = 0o4751 << 48 | 7
    names = ("st_atime", "st_mtime", "st_ctime", "st_atime_ns", "st_mtime_ns", "st_ctime_ns", "st_blksize")
    reported = os.stat_result(fields, {name: getattr(found, name) for name in names})
    got = with_mode(reported)
    assert (got.st_mode, got.st_dev, got.st_uid, got.st_gid) == (stat.S_IFREG | 0o4751, 7, 1000, 1000)
    assert (got.st_size, got.st_mtime_ns, got.st_mtime) == (found.st_size, found.st_mtime_ns, found.st_mtime)
    assert with_mode(got)[:] == got[:]
    fields[stat.ST_DEV] -= 1 << 64
    assert with_mode(os.stat_result(fields, {})).st_mode == stat.S_IFREG | 0o4751


def test_chmod(tmp_path: Path) -> None:
    """chmod goes to the host, with a whole path, and its errors come back as OSError."""
    (tmp_path / "f").touch()
    out = python(
        """
        os.chdir(sys.argv[1])
        os.chmod("f", 0o640)
        try: os.chmod("missing", 0o600)
        except FileNotFoundError as e: print(e.filename)
        """,
        str(tmp_path),
    )
    assert out == "missing\n"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


@pytest.mark.parametrize("look_in_python", [False, True])
def test_walking(tmp_path: Path, look_in_python: bool) -> None:
    """os.walk, pathlib, shutil and glob work over the entries that scandir gives, also with named pipes."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f.txt").write_text("x")
    out = python(
        """
        import glob, pathlib, shutil
        root = sys.argv[1]
        if sys.argv[2] == "True": modes._look_in_python()
        print([(d, f) for _, d, f in os.walk(root)])
        print(sorted(p.name for p in pathlib.Path(root).rglob("*")))
        shutil.copytree(root + "/d", root + "/e", copy_function=shutil.copyfile)
        print(glob.glob("**/*.txt", root_dir=root, recursive=True)); shutil.rmtree(root + "/e")
        with os.scandir(root) as entries:
            print([(e.name, e.is_dir(), os.fspath(e) == e.path) for e in entries])
        """,
        str(tmp_path),
        str(look_in_python),
    )
    assert out.splitlines()[:2] == ["[(['d'], []), ([], ['f.txt'])]", "['d', 'f.txt']"]
    assert out.splitlines()[3] == "[('d', True, True)]"


def test_users() -> None:
    """There is one user, of whom every module says the same."""
    out = python(
        """
        import getpass, grp, pwd
        print(os.getuid(), os.getegid(), os.getlogin(), getpass.getuser(), pwd.getpwuid(1000).pw_dir)
        print(pwd.getpwnam("user").pw_uid, grp.getgrgid(1000).gr_name, os.umask(0o77), oct(os.umask(0)))
        print(pwd.getpwuid(0).pw_name, len(pwd.getpwall()), len(grp.getgrall()))
        try: pwd.getpwnam("nobody")
        except KeyError as e: print("no", e)
        """
    )
    assert out.splitlines()[:2] == ["1000 1000 user user /home/user", "1000 user 18 0o77"]
    assert out.splitlines()[2:] == ["root 2 2", "no \"getpwnam(): name not found: 'nobody'\""]


def test_kill() -> None:
    """A process can signal itself; there is no other."""
    out = python(
        """
        import signal
        signal.signal(signal.SIGUSR1, lambda *a: print("got"))
        os.kill(os.getpid(), signal.SIGUSR1); os.kill(os.getpid(), 0)
        try: os.kill(1, 0)
        except ProcessLookupError: print("none")
        """
    )
    assert out == "got\nnone\n"


def test_disk_usage() -> None:
    """shutil.disk_usage, os.statvfs and df report the quota of the session's files."""
    quota = planaria.Quota(bytes=64 << 20, nodes=1000)
    with planaria.Session(quota=quota) as session:
        session.execute(
            "import os, shutil\nbefore = shutil.disk_usage('/')\nopen('big', 'wb').write(b'x' * (8 << 20))"
        )
        total, grown = session.execute(
            "after = shutil.disk_usage('.')\n(after.total, after.used - before.used)"
        ).value
        assert total == 64 << 20
        assert 8 << 20 <= grown < 9 << 20
        assert session.execute("after.free == after.total - after.used, os.statvfs('/').f_files").value == (
            True,
            1000,
        )
        assert session.bash("df / | tail -1").stdout.split()[1] == "65536"
        assert "No such file" in str(session.run("shutil.disk_usage('/missing')").error)


_DOTS = """
import os, pathlib
os.makedirs("a/b"); os.chdir("a/b")
for path in (".", b".", "./.", "..", pathlib.Path("."), "../b/."):
    try:
        os.rmdir(path)
    except OSError as error:
        print(error.strerror)
os.chdir("..")
os.rmdir("b")
print(os.listdir())
"""


def test_the_working_directory_is_not_removed_by_a_dot() -> None:
    """`os.rmdir` refuses names that end in a dot as Linux does, and removes an empty directory by its name."""
    with planaria.Session() as session:
        result = session.run(_DOTS)
    invalid, full = "Invalid argument", "Directory not empty"
    assert result.stdout.splitlines() == [invalid, invalid, invalid, full, invalid, invalid, "[]"]


_WAYS = """
import os, pathlib
root = os.getcwd()
os.makedirs("a/b/c"); os.symlink("a", "l"); os.symlink("nope", "dangling"); open("f", "w").close()
ways = ["a/b/c", "..", "../..", "l/b", "../../l/../a", "./a/./b//c/", "../../../nope", "../../../f", f"{root}/dangling"]
for path in [*ways, root, "l", pathlib.Path("b"), b"c", "", ".", "...", f"{root}/a/b/../../l"]:
    try:
        os.chdir(path)
    except OSError as error:
        print(type(error).__name__, end=" ")
    print(os.path.relpath(os.getcwd(), root), os.path.abspath("x") == os.getcwd() + "/x")
"""


def test_the_name_of_the_working_directory(tmp_path: Path) -> None:
    """However a directory is entered, `os.getcwd` gives its name without links and dots, as natively."""
    native = subprocess.run(
        [sys.executable, "-c", _WAYS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    with planaria.Session() as session:
        assert session.run(_WAYS).stdout == native.stdout


def test_the_shell_keeps_the_name_of_a_link() -> None:
    """A link that the shell has entered is in its `PWD` in later scripts, while Python is where it leads."""
    with planaria.Session() as session:
        session.bash("mkdir -p a/b; ln -s a l; cd l/b")
        assert session.run("import os; os.getcwd()").value == "/home/user/a/b"
        assert session.bash("echo $PWD; pwd -P; cd ..; pwd").stdout.splitlines() == [
            "/home/user/l/b",
            "/home/user/a/b",
            "/home/user/l",
        ]
        session.run("os.chdir('..')")
        assert session.bash("pwd").stdout == "/home/user\n"
