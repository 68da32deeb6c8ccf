"""What programs do with files, end to end in the sandbox."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import planaria

pytestmark = pytest.mark.slow


@pytest.fixture
def session() -> Iterator[planaria.Session]:
    with planaria.Session() as made:
        yield made


def printed(session: planaria.Session, code: str) -> str:
    """What the code printed, without the newline at the end."""
    return session.execute(code).stdout.rstrip("\n")


# -- SQLite ---------------------------------------------------------------------------------------------


def test_sqlite_keeps_a_database_in_a_file(session: planaria.Session) -> None:
    """A database lives in its file over connections and executions; a rollback leaves no journal or lock."""
    session.execute("""
import sqlite3
connection = sqlite3.connect("x.db")
connection.execute("create table t(a, b)")
with connection:
    connection.executemany("insert into t values (?, ?)", ((i, "x" * i) for i in range(500)))
connection.execute("delete from t")
connection.rollback()
connection.close()
""")
    assert printed(session, "print(*sqlite3.connect('x.db').execute('select count(*), sum(a) from t'))") == (
        "(500, 124750)"
    )
    assert printed(session, "import os; print(*os.listdir())") == "x.db"


def test_sqlite_locks(session: planaria.Session) -> None:
    """While one connection has a transaction another one gets the error that the database is locked."""
    session.execute("""
import sqlite3
one, two = (sqlite3.connect("x.db", timeout=0.01) for _ in range(2))
one.execute("create table t(a)")
one.execute("begin immediate")
""")
    with pytest.raises(planaria.ExecutionError, match="database is locked"):
        session.execute("two.execute('begin immediate')")
    session.execute("one.commit(); two.execute('begin immediate')")


def test_sqlite_refuses_wal(session: planaria.Session) -> None:
    """A write-ahead log needs shared memory: asked for one, SQLite says that it stays with its journal."""
    code = "import sqlite3; print(*sqlite3.connect('x.db').execute('pragma journal_mode=wal').fetchone())"
    assert printed(session, code) == "delete"


@pytest.mark.parametrize("end", ["close", "stop", "reset"])
def test_a_lock_does_not_outlive_its_holder(end: str) -> None:
    """A session that ends within a transaction locks no one out, and the transaction never was."""
    storage = planaria.VfsStorage()
    one, two = planaria.Session(vfs=storage), planaria.Session(vfs=storage)
    begin = "c.execute('insert into t values (2)')"
    one.execute(
        "import sqlite3; c = sqlite3.connect('/data/x.db'); c.execute('create table t(a)');"
        "c.execute('insert into t values (1)'); c.commit()"
    )
    if end == "stop":
        with pytest.raises(planaria.TimeoutError, match="stopped hard"):
            one.execute(f"{begin}; sum(range(10**11))", timeout=0.2)
    else:
        one.execute(begin)
        two.execute("import sqlite3; c = sqlite3.connect('/data/x.db', timeout=0.01)")
        with pytest.raises(planaria.ExecutionError, match="locked"):
            two.execute("c.execute('insert into t values (3)')")
        if end == "reset":
            one.reset()
        else:
            one.close()
    two.execute("import sqlite3; c = sqlite3.connect('/data/x.db', timeout=0.01)")
    two.execute("c.execute('insert into t values (4)'); c.commit()")
    assert printed(two, "print([a for a, in c.execute('select a from t')])") == "[1, 4]"
    one.close()
    two.close()


def test_a_restored_transaction_on_a_mounted_database_has_lost_its_lock(tmp_path: Path) -> None:
    """Restored, forked or taken back, it gets an error at its next write; the holder of the lock is not disturbed, and
    SQLite on the host sees what was committed.
    """
    mounts = [planaria.Mount(tmp_path, "/out", mode="rw")]
    connect = "import sqlite3; c = sqlite3.connect('/out/x.db', timeout=0.01)"
    with planaria.Session(mounts=mounts) as one, planaria.Session(mounts=mounts) as two:
        one.execute(f"{connect}; c.execute('create table t(a)'); c.commit()")
        one.execute("c.execute('insert into t values (1)')")
        saved = one.snapshot_state()
        assert (tmp_path / "x.db.lock").is_dir()
        two.restore_state(saved)
        with pytest.raises(planaria.ExecutionError, match="disk I/O error"):
            two.execute("c.execute('insert into t values (2)'); c.commit()")
        two.run("c.close()")
        assert (tmp_path / "x.db.lock").is_dir()
        with planaria.Session.from_snapshot(saved, mounts=mounts) as three:
            three.run("c.rollback()")
        assert (tmp_path / "x.db.lock").is_dir()
        with pytest.raises(planaria.ExecutionError, match="locked"):
            two.execute(f"{connect}; c.execute('insert into t values (3)')")
        one.execute("c.commit()")
        two.execute("c.execute('insert into t values (4)'); c.commit()")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.db"]
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        assert connection.execute("select a from t").fetchall() == [(1,), (4,)]
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


# -- the standard library -------------------------------------------------------------------------------


def test_archives(session: planaria.Session) -> None:
    """shutil, zipfile and tarfile pack a tree and unpack it with its contents and permission bits."""
    session.execute("""
import os, shutil, tarfile, zipfile
os.makedirs("a/b")
for name in ("a/one", "a/b/two"):
    with open(name, "w") as file:
        file.write(name * 1000)
os.chmod("a/one", 0o750)
for kind in ("zip", "tar", "gztar", "bztar", "xztar"):
    shutil.unpack_archive(shutil.make_archive(f"made/{kind}", kind, "a"), f"got/{kind}")
shutil.copytree("a", "got/copy")
shutil.move("a", "got/moved")
""")
    code = "print([open(f'got/{k}/b/two').read() == 'a/b/two' * 1000 for k in sorted(os.listdir('got'))])"
    assert printed(session, code) == str([True] * 7)
    assert printed(session, "print(oct(os.stat('got/gztar/one').st_mode), os.path.exists('a'))") == (
        "0o100750 False"
    )
    assert printed(session, "shutil.rmtree('got'); print(sorted(os.listdir()))") == "['made']"


def test_temporary_files(session: planaria.Session) -> None:
    """tempfile makes files that only their owner reads, and removes them."""
    session.execute("""
import os, tempfile
with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
    file.write(b"x"); file.flush()
    print(oct(os.stat(file.name).st_mode), oct(os.stat(folder).st_mode))
    anonymous = tempfile.TemporaryFile("w+"); anonymous.write("kept"); anonymous.seek(0)
print(os.path.exists(file.name), os.path.exists(folder), anonymous.read())
""")
    assert printed(session, "print(os.listdir('/tmp'))") == "[]"


def test_pathlib_and_shelve(session: planaria.Session) -> None:
    """pathlib walks and globs; a shelf keeps its values over executions."""
    session.execute("""
from pathlib import Path
import shelve
home = Path.home()
(home / "d/e").mkdir(parents=True)
(home / "d/e/f.txt").write_text("text")
(home / "link").symlink_to("d/e")
with shelve.open("shelf") as shelf:
    shelf["k"] = {"list": [1, 2]}
""")
    assert printed(session, "print(*home.rglob('*.txt'), (home / 'link/f.txt').resolve())") == (
        "/home/user/d/e/f.txt /home/user/d/e/f.txt"
    )
    assert printed(session, "with shelve.open('shelf') as shelf: print(shelf['k'])") == "{'list': [1, 2]}"


def test_a_large_csv_file(session: planaria.Session) -> None:
    """The csv module writes and reads a file of 50 MB."""
    code = """
import csv, os
with open("big.csv", "w", newline="") as file:
    csv.writer(file).writerows([i, "x" * 500, "y,z"] for i in range(100_000))
with open("big.csv", newline="") as file:
    print(os.path.getsize("big.csv") > 50_000_000, sum(int(row[0]) for row in csv.reader(file)))
"""
    assert printed(session, code) == "True 4999950000"


# -- modules of one's own -------------------------------------------------------------------------------


def test_modules_written_in_the_session_are_imported(session: planaria.Session) -> None:
    """A module in the working directory is found at once, knows its file and shows its source."""
    code = """
open("first.py", "w").write("def f():\\n    return 1\\n")
import first, inspect
open("second.py", "w").write("import first\\nvalue = first.f() + 1\\n")
import second
print(second.value, first.__file__, repr(inspect.getsource(first.f)))
"""
    assert printed(session, code) == r"2 /home/user/first.py 'def f():\n    return 1\n'"


def test_an_edited_module_is_reloaded(session: planaria.Session) -> None:
    """A reload right after an edit of the same length runs the new source, and inspect shows it."""
    session.execute("open('m.py', 'w').write('def f():\\n    return 1\\n'); import m, importlib, inspect")
    for number in range(2, 5):
        session.execute(f"open('m.py', 'w').write('def f():\\n    return {number}\\n')")
        code = "importlib.reload(m); print(m.f(), inspect.getsource(m.f).split()[-1])"
        assert printed(session, code) == f"{number} {number}"


def test_imports_follow_the_working_directory(session: planaria.Session) -> None:
    """After os.chdir modules and relative paths are those of the new directory."""
    session.files.mkdir("/tmp/inner")
    session.files.write_text("/tmp/inner/there.py", "x = 1")
    code = "import os; os.chdir('/tmp/inner'); import there; print(os.getcwd(), there.__file__)"
    assert printed(session, code) == "/tmp/inner /tmp/inner/there.py"


# -- what the system reports ------------------------------------------------------------------------------


def test_permission_bits(session: planaria.Session) -> None:
    """os.umask, os.chmod, os.open and os.mkdir set permission bits; stat, scandir and access tell them."""
    code = """
import os
old = os.umask(0o077)
open("a", "w").close(); os.mkdir("b")
os.umask(old)
os.close(os.open("c", os.O_CREAT | os.O_WRONLY, 0o604)); os.mkdir("d", 0o711)
os.chmod("a", 0o400)
print(old, [(e.name, oct(e.stat().st_mode & 0o777), e.stat().st_dev) for e in sorted(os.scandir(), key=str)])
print(os.access("a", os.W_OK), os.access("a", os.R_OK), os.access("none", os.F_OK))
"""
    modes = [("a", "0o400", 1), ("b", "0o700", 1), ("c", "0o604", 1), ("d", "0o711", 1)]
    assert printed(session, code) == f"18 {modes}\nFalse True False"


def test_descriptors_are_duplicated(session: planaria.Session) -> None:
    """os.dup gives a number that shares its position, also in a fork; os.dup2 redirects a stream."""
    session.execute("import os; a = os.open('x', os.O_RDWR | os.O_CREAT); b = os.dup(a); os.write(a, b'one')")
    (copy,) = session.fork(1)
    for one in (session, copy):
        code = "os.write(b, b'two'); os.close(a); os.lseek(b, 0, 0); print(os.read(b, 9)); os.close(b)"
        assert printed(one, code) == "b'onetwo'"
    copy.close()
    session.execute("f = open('y', 'w'); old = os.dup(1); os.dup2(f.fileno(), 1); os.write(1, b'hidden')")
    assert session.execute("os.dup2(old, 1); f.close(); os.write(1, b'seen');").stdout == "seen"
    assert printed(session, "print(open('y').read())") == "hidden"


def test_open_descriptors_are_listed(session: planaria.Session) -> None:
    """/proc/self/fd shows what is open, and the standard streams."""
    code = """
import os
file = open("x", "w")
print(os.readlink(f"/proc/self/fd/{file.fileno()}"), os.readlink("/dev/fd/1"))
os.remove("x"); print(os.readlink(f"/proc/self/fd/{file.fileno()}"))
"""
    assert printed(session, code) == "/home/user/x /dev/stdout\n/ (deleted)"


def test_standard_streams_are_devices(session: planaria.Session) -> None:
    """What is written to /dev/stdout and /dev/stderr, or a link to them, is the session's output."""
    result = session.execute("""
import os
os.symlink("/dev/stdout", "log")
for path, text in (("/dev/stdout", "one\\n"), ("log", "two\\n"), ("/dev/stderr", "three\\n")):
    with open(path, "w") as file:
        file.write(text)
""")
    assert (result.stdout, result.stderr) == ("one\ntwo\n", "three\n")


def test_a_fork_has_streams_of_its_own(session: planaria.Session) -> None:
    """A copy of a session writes to its own output."""
    (copy,) = session.fork(1)
    code = (
        "import os; os.symlink('/dev/stdout', 'log'); file = open('log', 'w'); file.write('x'); file.close()"
    )
    assert session.execute(code).stdout == "x"
    assert copy.execute(code).stdout == "x"
    copy.close()


def test_files_follow_the_clock_of_the_session() -> None:
    """Times of files are those of the session's clock, also what it found there."""
    moment = 1_700_000_000
    with planaria.Session(clock=planaria.FrozenClock(moment * 10**9)) as session:
        code = (
            "import os; open('x', 'w').close(); print(os.stat('x').st_mtime, os.stat('/etc/passwd').st_mtime)"
        )
        assert printed(session, code) == f"{moment}.0 {moment}.0"


def test_files_have_an_owner(session: planaria.Session) -> None:
    """Everything belongs to the user, whom pathlib and shutil know by name, with or without HOME."""
    code = """
import os, shutil
from pathlib import Path
Path("x").touch()
print(Path("x").owner(), Path("x").group(), os.stat("x").st_uid); shutil.chown("x", "user", "user")
del os.environ["HOME"]; print(Path.home(), os.path.expanduser("~root"))
"""
    assert printed(session, code) == "user user 1000\n/home/user /root"


def test_the_platform_is_reported(session: planaria.Session) -> None:
    """platform and sysconfig find what they look for."""
    code = "import platform, sys, os; print(platform.libc_ver(), os.path.exists(sys.executable))"
    assert printed(session, code).startswith("('', '') True")


# -- threads and processes ------------------------------------------------------------------------------


def test_threads_run_one_by_one(session: planaria.Session) -> None:
    """Threads, pools of them and queues between them do their work, in turn."""
    code = """
import os, queue, threading, time
from concurrent.futures import ThreadPoolExecutor, as_completed
work = queue.Queue()
threads = [threading.Thread(target=lambda i=i: work.put(i * i)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(work.get() for _ in threads), os.cpu_count())
with ThreadPoolExecutor(4) as pool:
    futures = [pool.submit(pow, 2, i) for i in (3, 4)]
    print(list(pool.map(abs, [-1, -2])), sorted(future.result() for future in as_completed(futures)))
began = time.monotonic(); time.sleep(0.01); print(time.monotonic() - began >= 0.01)
"""
    assert printed(session, code) == "[0, 1, 4, 9] 1\n[1, 2] [8, 16]\nTrue"


@pytest.mark.parametrize(
    "code",
    [
        "import multiprocessing; multiprocessing.Process(target=print).start()",
        "import multiprocessing; multiprocessing.Queue()",
    ],
)
def test_processes_are_refused_in_words(session: planaria.Session, code: str) -> None:
    """What needs a process raises an error that says that the sandbox has none, and what to do."""
    with pytest.raises(planaria.ExecutionError, match="the sandbox has none"):
        session.execute(code)


# -- the packages ---------------------------------------------------------------------------------------


@pytest.mark.full
def test_numpy_saves_and_loads(session: planaria.Session) -> None:
    """Arrays go into files of every kind and come back."""
    code = """
import numpy as np
a = np.arange(100_000).reshape(100, -1) / 7
np.save("a.npy", a); np.savez_compressed("a.npz", a=a, b=a[0]); np.savetxt("a.txt", a[:3]); a.tofile("a.bin")
loaded = np.load("a.npz")
print((np.load("a.npy") == a).all(), (loaded["a"] == a).all(), (np.loadtxt("a.txt") == a[:3]).all(),
      (np.fromfile("a.bin") == a.ravel()).all())
"""
    assert printed(session, code) == "True True True True"


@pytest.mark.full
def test_pandas_reads_and_writes(session: planaria.Session) -> None:
    """Frames go into CSV, JSON, Excel and pickles and come back."""
    code = """
import pandas as pd
n = range(100)
frame = pd.DataFrame({"n": n, "t": [f"name {i}" for i in n], "f": [i / 3 for i in n]})
frame.to_csv("f.csv", index=False); frame.to_csv("f.csv.gz", index=False)
frame.to_json("f.json", orient="records")
frame.to_excel("f.xlsx", index=False); frame.to_pickle("f.pkl")
for read in (pd.read_csv("f.csv"), pd.read_csv("f.csv.gz"), pd.read_json("f.json"), pd.read_excel("f.xlsx"),
             pd.read_pickle("f.pkl")):
    pd.testing.assert_frame_equal(read, frame)
print(len(frame.style.to_html()) > 1000)
"""
    assert printed(session, code) == "True"


@pytest.mark.full
def test_matplotlib_plots_without_set_up(session: planaria.Session) -> None:
    """A plot is a PNG among the outputs, with matplotlib's fonts and styles; nothing is left at home."""
    result = session.execute("import matplotlib.pyplot as plt; plt.plot([1, 2, 3])")
    assert [output.data["image/png"][:8] for output in result.outputs] == [b"\x89PNG\r\n\x1a\n"]
    session.execute(
        "plt.style.use('ggplot'); plt.plot([3, 1]); plt.title('x²'); plt.savefig('x.png'); plt.close()"
    )
    assert session.files.read_bytes("x.png").startswith(b"\x89PNG")
    assert printed(session, "import os; print(os.listdir())") == "['x.png']"


@pytest.mark.full
def test_matplotlib_leaves_out_tables_in_docstrings(session: planaria.Session) -> None:
    """Docstrings of matplotlib are there without their tables of properties, which can be asked for."""
    session.execute("import matplotlib.pyplot as plt; from matplotlib.lines import Line2D; import matplotlib")
    assert printed(session, "print(plt.plot.__doc__.split()[:2], 'getp' in Line2D.set.__doc__)") == (
        "['Plot', 'y'] True"
    )
    assert "zorder = 2" in printed(session, "matplotlib.artist.getp(plt.plot([1])[0]); plt.close()")


@pytest.mark.full
def test_packages_find_their_data_files(session: planaria.Session) -> None:
    """Data sets and templates that lie beside a package's modules are found."""
    code = "import sklearn.datasets as d; print(d.load_iris().data.shape, d.load_digits().data.shape)"
    assert printed(session, code) == "(150, 4) (1797, 64)"
    refused = session.run("d.load_sample_image('china.jpg')").error
    assert str(refused).startswith("OSError: the sandbox has neither scikit-learn's sample images nor")
    assert printed(session, "import zoneinfo; print(zoneinfo.ZoneInfo('Europe/Paris'))") == "Europe/Paris"
    assert printed(session, "import dateutil.tz; print(dateutil.tz.gettz('Europe/Paris') is None)") == "False"


# -- mounts ---------------------------------------------------------------------------------------------


def test_programs_work_in_a_mounted_folder(tmp_path: Path) -> None:
    """SQLite, modules and temporary files work in a folder of the host that may be written."""
    with planaria.Session(mounts=[planaria.Mount(str(tmp_path), "/out", mode="rw")]) as session:
        session.execute("""
import os, sqlite3, sys
os.chdir("/out")
with sqlite3.connect("x.db") as connection:
    connection.execute("create table t(a)")
    connection.execute("insert into t values (7)")
connection.close()
open("mod.py", "w").write("x = 8")
import mod
print(mod.x)
""")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mod.py", "x.db"]
