"""The kernel, as a front end sees it: what `jupyter_kernel_test` does not ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from notebook_front import PATIENCE, Front

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with Front.opened("planaria-tests") as front:
        yield front


def test_output_comes_in_order(front: Front) -> None:
    """Text, rich output and text of the other stream arrive in the order in which they were written."""
    _, outputs = front.run("import sys\nprint(1)\ndisplay(2)\nprint(3, file=sys.stderr)\nprint(4)")
    assert [content.get("text") or content["data"]["text/plain"] for kind, content in outputs] == [
        "1\n",
        "2",
        "3\n",
        "4\n",
    ]


def test_rich_values(front: Front) -> None:
    """The value of a cell has all its representations, bytes as base64."""
    front.run(
        "class Rich:\n    def _repr_png_(self): return b'picture'\n    def __repr__(self): return 'rich'"
    )
    _, outputs = front.run("Rich()")
    assert [kind for kind, _ in outputs] == ["execute_result"]
    assert outputs[0][1]["data"] == {"image/png": "cGljdHVyZQ==", "text/plain": "rich"}


def test_representations_as_bundles(front: Front) -> None:
    """`_repr_mimebundle_` comes with its metadata, and `_repr_html_` fills in what it leaves out."""
    front.run(
        "class Bundle:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/plain': 'plain', 'application/json': {'a': 1}}, {'application/json': {'expanded': True}}\n"
        "    def _repr_html_(self): return '<b>bold</b>'"
    )
    for code, shown in (("Bundle()", "execute_result"), ("display(Bundle())", "display_data")):
        _, ((kind, content),) = front.run(code)
        assert kind == shown
        assert content["data"] == {
            "text/plain": "plain",
            "application/json": {"a": 1},
            "text/html": "<b>bold</b>",
        }
        assert content["metadata"] == {"application/json": {"expanded": True}}


def test_updates(front: Front) -> None:
    """`display_id` comes as transient data, and updates as messages of their own."""
    _, outputs = front.run(
        "display(1, display_id='a')\nupdate_display(2, display_id='a')\nclear_output(wait=True)"
    )
    assert [kind for kind, _ in outputs] == ["display_data", "update_display_data", "clear_output"]
    assert [content["transient"] for _, content in outputs[:2]] == [{"display_id": "a"}] * 2
    assert outputs[2][1] == {"wait": True}


def test_errors(front: Front) -> None:
    """An exception comes with its name, its message and a traceback of coloured lines."""
    reply, outputs = front.run("def f():\n    return 1 / 0\nf()")
    ((kind, content),) = outputs
    assert (kind, reply["status"]) == ("error", "error")
    assert (content["ename"], content["evalue"]) == ("ZeroDivisionError", "division by zero")
    text = "\n".join(content["traceback"])
    assert "\x1b[" in text
    assert "return 1 / 0" in re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_what_waits_is_aborted_after_an_error(front: Front) -> None:
    """After an error the executions that were requested meanwhile are refused, unless it does not stop them."""
    first, second = front.send("import time; time.sleep(0.5); 1/0"), front.send("x = 1")
    assert front.replied(first)["status"] == "error"
    assert front.replied(second)["status"] == "aborted"
    first, second = front.send("time.sleep(0.5); 1/0", stop_on_error=False), front.send("x = 1")
    assert front.replied(first)["status"] == "error"
    assert front.replied(second)["status"] == "ok"


def test_input(front: Front) -> None:
    """input() asks the front end, unless that has said that it does not answer."""
    request = front.send("x = input('name? ')", allow_stdin=True)
    asked = front.client.get_stdin_msg(timeout=PATIENCE)
    assert asked["content"] == {"prompt": "name? ", "password": False}
    front.client.input("Ada")
    assert front.replied(request)["status"] == "ok"
    assert front.value("x") == "'Ada'"
    reply, _ = front.run("input()", allow_stdin=False)
    assert "does not support input" in reply["evalue"]


def test_passwords(front: Front) -> None:
    """getpass() has the front end hide what is typed."""
    request = front.send("import getpass\nx = getpass.getpass()", allow_stdin=True)
    asked = front.client.get_stdin_msg(timeout=PATIENCE)
    assert asked["content"] == {"prompt": "Password: ", "password": True}
    front.client.input("secret")
    assert front.replied(request)["status"] == "ok"


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(600)", "!sleep 600"])
def test_interrupt(front: Front, code: str) -> None:
    """An interrupt stops what runs, and the session stays."""
    front.run("kept = 5")
    request = front.send(f"print('runs')\n{code}")
    while front.client.get_iopub_msg(timeout=PATIENCE)["content"].get("text") != "runs\n":
        pass
    front.manager.interrupt_kernel()
    assert front.replied(request)["ename"] == "KeyboardInterrupt"
    assert front.value("kept") == "5"


def test_interrupt_of_a_question(front: Front) -> None:
    """An interrupt ends an input() that waits."""
    request = front.send("input()", allow_stdin=True)
    front.client.get_stdin_msg(timeout=PATIENCE)
    front.manager.interrupt_kernel()
    assert front.replied(request)["ename"] == "KeyboardInterrupt"
    assert front.value("1") == "1"


def test_silent_executions(front: Front) -> None:
    """A silent execution publishes nothing and does not count; expressions of the front end are evaluated."""
    count = front.run("1")[0]["execution_count"]
    reply, outputs = front.run("print(1)\n2", silent=True, user_expressions={"a": "6 * 7", "b": "nope"})
    assert outputs == []
    assert reply["execution_count"] == count
    assert reply["user_expressions"]["a"]["data"] == {"text/plain": "42"}
    assert reply["user_expressions"]["b"]["ename"] == "NameError"


def test_magics(front: Front) -> None:
    """Magics and lines for the shell work in cells."""
    assert front.printed("%%bash\necho $((6 * 7))") == "42\n"
    assert front.value("x = !echo hi\nx") == "['hi']"
    reply, _ = front.run("%nonsense")
    assert "cells have no magic %nonsense" in reply["evalue"]


def test_going_back(front: Front) -> None:
    """%undo, %checkpoint and %rewind restore the state that the session had."""
    front.run("x = 1")
    front.run("x = 2")
    assert "took back" in front.printed("%undo")
    assert front.value("x") == "1"
    front.run("%checkpoint here")
    front.run("x = 3")
    front.run("%rewind here")
    assert front.value("x") == "1"
    reply, _ = front.run("%rewind nowhere")
    assert reply["status"] == "error"
    assert "x = 1" in front.printed("%history")


def test_cells_of_another_branch(front: Front) -> None:
    """%rewind N refuses a cell that was taken back, and %undo takes back what %choose has done."""
    front.run("x = 1")
    taken_back = front.run("x = 2")[0]["execution_count"]
    front.run("%undo")
    front.run("x = 3")
    assert "there is no cell" in front.run(f"%rewind {taken_back}")[0]["evalue"]
    front.run("%%parallel 2\nx += 10 + FORK")
    front.run("%choose 1")
    assert front.value("x") == "14"
    front.run("%undo 2")  # the question, and the choice
    assert front.value("x") == "3"


def test_events(front: Front) -> None:
    """Functions that code registers for events are called when cells run, and may fail."""
    front.run(
        "def told(info): print('will run', info.raw_cell)\nget_ipython().events.register('pre_run_cell', told)"
    )
    front.run("def fails(): 1/0\nget_ipython().events.register('post_execute', fails)")
    printed = front.printed("y = 5")
    assert printed.startswith("will run y = 5\n")
    assert "ZeroDivisionError" in printed
    front.run(
        "get_ipython().events.unregister('pre_run_cell', told)\nget_ipython().events.unregister('post_execute', fails)"
    )
    assert front.printed("y") == ""


def test_forks(front: Front) -> None:
    """%fork keeps a running copy, and %switch goes on in it."""
    front.run("x = 'before'")
    front.run("%fork other")
    front.run("x = 'after'")
    front.run("%switch other")
    assert front.value("x") == "'before'"
    front.run("%switch main")
    assert front.value("x") == "'after'"


def test_parallel(front: Front) -> None:
    """%%parallel runs a cell in forks, shows what each gave, and %choose goes on from one of them."""
    front.run("x = 10")
    printed = front.printed("%%parallel 3\nx += FORK\nprint('fork says', x)\nif FORK == 1: 1/0")
    assert "fork says 10" in printed
    assert "fork says 12" in printed
    assert "ZeroDivisionError" in printed
    assert front.value("x") == "10"
    front.run("%choose 2")
    assert front.value("x") == "12"


def test_restart(front: Front) -> None:
    """After a restart the kernel answers, and the session is new."""
    front.run("x = 1")
    front.manager.restart_kernel(now=False)
    front.client.wait_for_ready(timeout=PATIENCE)
    assert front.run("x")[0]["ename"] == "NameError"
