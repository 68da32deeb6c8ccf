"""`subprocess` and `python3` end to end in the sandbox."""

from __future__ import annotations

from typing import Any

import planaria


def test_bash_in_subprocess(session: planaria.Session) -> None:
    """Commands see the session's files and give their output back."""
    session.execute("for n in 'abc': open(n, 'w').close()")
    code = "import subprocess; subprocess.run(['bash', '-c', 'ls | wc -l'], capture_output=True, text=True).stdout"
    assert session.execute(code).value == "3\n"


def test_a_script_in_a_pipeline(session: planaria.Session) -> None:
    """`python3 script` runs between other commands, with arguments, and exits with its status."""
    session.execute("""
open("data.csv", "w").write("\\n".join(str(n) for n in (5, 40, 3, 100)))
open("analyse.py", "w").write('''
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--in", dest="name")
for line in open(parser.parse_args().name):
    print(int(line) * 2)
''')
import subprocess
""")
    out = session.execute(
        "subprocess.check_output('python3 analyse.py --in data.csv | sort -rn | head -3', shell=True, text=True)"
    )
    assert out.value == "200\n80\n10\n"
    assert (
        session.execute("subprocess.run(['python3', 'analyse.py', '--bad'], stderr=-3).returncode").value == 2
    )


def test_output_reaches_the_host_in_order(session: planaria.Session) -> None:
    """Without a pipe, what commands write comes between what the cell prints."""
    out = session.execute("""
import os, subprocess, sys
print("one")
subprocess.run(["echo", "two"])
os.system("echo three")
subprocess.run([sys.executable, "-c", "print('four')"])
print("five")
""").stdout
    assert out == "one\ntwo\nthree\nfour\nfive\n"


def test_scripts_and_session_are_apart(session: planaria.Session) -> None:
    """A script leaves nothing in the session, and sees nothing of it but files and environment."""
    session.execute("""
import os, subprocess, sys, random, logging
open("helper.py", "w").write("value = 'file'")
import helper
helper.value = "session"
x = 1
os.environ["SEEN"] = "yes"
""")
    out = session.execute("""
program = '''
import helper, os, sys, logging, builtins
print(helper.value, "x" in globals(), os.environ["SEEN"], __name__)
helper.value = "script"; os.environ["SEEN"] = "no"; os.chdir("/"); sys.argv.append("y"); builtins.z = 1
logging.basicConfig(level=10); sys.setrecursionlimit(5000)
'''
subprocess.run(["python3", "-c", program])
print(helper.value, os.environ["SEEN"], os.getcwd(), __name__, hasattr(__builtins__, "z"),
    logging.root.handlers)
""").stdout
    assert out == "file False yes __main__\nsession yes /home/user __main__ False []\n"


def test_a_traceback_has_the_scripts_frames_only(session: planaria.Session) -> None:
    """What a script raises is reported as CPython does."""
    result = session.execute("""
import subprocess
open("bad.py", "w").write("def f():\\n    1 / 0\\nf()\\n")
subprocess.run(["python3", "bad.py"])
""")
    assert result.stderr.startswith(
        'Traceback (most recent call last):\n  File "/home/user/bad.py", line 3, in <module>\n    f()\n'
    )
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "planaria" not in result.stderr


def test_timeouts(session: planaria.Session) -> None:
    """A timeout ends loops of the shell and of Python, and the session goes on."""
    out = session.execute("""
import subprocess
for command in (["sh", "-c", "while :; do :; done"], ["python3", "-c", "while True: pass"], ["sleep", "9"]):
    try:
        subprocess.run(command, timeout=0.2)
    except subprocess.TimeoutExpired as error:
        print("expired", error.timeout)
print(subprocess.check_output(["echo", "on"]))
""").stdout
    assert out == "expired 0.2\n" * 3 + "b'on\\n'\n"


def test_an_interrupt_ends_a_command(new_session: Any) -> None:
    """The time of an execution holds for what it starts, and the session goes on with its state."""
    session = new_session()
    session.execute("x = 7; import subprocess")
    result = session.run("subprocess.run(['python3', '-c', 'while True: pass'])", timeout=1)
    assert isinstance(result.error, planaria.TimeoutError)
    assert session.execute("x, subprocess.check_output(['echo', 'on'])").value == (7, b"on\n")


def test_asyncio(session: planaria.Session) -> None:
    """`asyncio.create_subprocess_exec` works in a cell and in a script with a loop of its own."""
    out = session.execute("""
import asyncio, subprocess
p = await asyncio.create_subprocess_exec("tr", "a", "b", stdin=-1, stdout=-1)
print(await p.communicate(b"banana"))
program = "import asyncio; print(asyncio.run(asyncio.sleep(0, 'slept')))"
print(subprocess.check_output(["python3", "-c", program]))
""").stdout
    assert out == "(b'bbnbnb', None)\nb'slept\\n'\n"


def test_a_process_lives_in_a_snapshot(session: planaria.Session, new_session: Any) -> None:
    """A command that has not ended goes on in a session that is restored from a snapshot."""
    session.execute("""
import subprocess
p = subprocess.Popen("for i in 1 2 3; do echo $i; done; yes", shell=True, stdout=-1, text=True)
p.stdout.readline()
""")
    other = new_session()
    other.restore_state(session.snapshot_state())
    assert other.execute("p.stdout.readline(), p.stdout.readline(), p.stdout.readline()").value == (
        "2\n",
        "3\n",
        "y\n",
    )
