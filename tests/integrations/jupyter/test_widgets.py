"""ipywidgets and tqdm in the sandbox, moved as JupyterLab moves them: by messages of comms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from notebook_front import Front

pytest.importorskip("ipywidgets", reason="widgets are tested by `make integrations`")

Outputs = list[tuple[str, dict[str, Any]]]
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def front(widgets_kernel: str) -> Iterator[Front]:
    with Front.opened(widgets_kernel) as front:
        front.run("import ipywidgets as widgets\nfrom IPython.display import display")
        yield front


def models(outputs: Outputs, name: str) -> list[str]:
    """The identifiers of the widgets of a model that were made."""
    return [
        content["comm_id"]
        for kind, content in outputs
        if kind == "comm_open" and content["data"]["state"]["_model_name"] == name
    ]


def states(outputs: Outputs, identifier: str) -> dict[str, Any]:
    """The state of a widget as its messages have it."""
    state: dict[str, Any] = {}
    for kind, content in outputs:
        if kind in ("comm_open", "comm_msg") and content["comm_id"] == identifier:
            state |= content["data"].get("state", {})
    return state


def printed(outputs: Outputs) -> str:
    return "".join(content["text"] for kind, content in outputs if kind == "stream")


def test_slider(front: Front) -> None:
    """A slider is shown by its view; moving it changes its value and calls who observes it."""
    _, outputs = front.run(
        "slider = widgets.IntSlider(3, max=50)\n"
        "slider.observe(lambda change: print(change['old'], '->', change['new']), 'value')\nslider"
    )
    (identifier,) = models(outputs, "IntSliderModel")
    shown = next(content["data"] for kind, content in outputs if kind == "execute_result")
    assert shown[VIEW]["model_id"] == identifier
    moved = front.moved(identifier, value=42)
    assert printed(moved) == "3 -> 42\n"
    assert states(moved, identifier)["value"] == 42  # the echo by which other views of it are moved
    assert front.value("slider.value") == "42"


def test_slider_beyond_its_limits(front: Front) -> None:
    """A value that the widget does not allow comes back as the one that it does."""
    _, outputs = front.run("slider = widgets.IntSlider(3, max=50)")
    (identifier,) = models(outputs, "IntSliderModel")
    assert states(front.moved(identifier, value=99), identifier)["value"] == 50


def test_change_by_the_code(front: Front) -> None:
    """A value that the code sets is sent to the views."""
    _, outputs = front.run("slider = widgets.FloatSlider()")
    (identifier,) = models(outputs, "FloatSliderModel")
    assert states(front.run("slider.value = 2.5")[1], identifier) == {"value": 2.5}


def test_button(front: Front) -> None:
    """A click calls the button's function, whose exception is shown and harms nothing."""
    _, outputs = front.run(
        "def clicked(button):\n    print('clicked', button.description)\n    1/0\n"
        "button = widgets.Button(description='Go')\nbutton.on_click(clicked)"
    )
    (identifier,) = models(outputs, "ButtonModel")
    clicked = front.comm(identifier, {"method": "custom", "content": {"event": "click"}})
    assert "clicked Go\n" in printed(clicked)
    assert "ZeroDivisionError" in printed(clicked)
    assert front.value("1 + 1") == "2"


def test_interact(front: Front) -> None:
    """`interact` calls its function with what the sliders say, and what it gives goes to its Output widget."""
    _, outputs = front.run("@widgets.interact(x=(0, 10), name='a')\ndef f(x, name):\n    return name * x")
    (slider,) = models(outputs, "IntSliderModel")
    (output,) = models(outputs, "OutputModel")
    moved = front.moved(slider, value=3)
    kinds = [kind for kind, _ in moved]
    begun = next(
        number
        for number, (kind, content) in enumerate(moved)
        if kind == "comm_msg" and content["comm_id"] == output and content["data"]["state"].get("msg_id")
    )
    assert kinds[begun + 1 : begun + 3] == ["clear_output", "display_data"]
    assert moved[begun + 2][1]["data"]["text/plain"] == "'aaa'"
    assert states(moved, output)["msg_id"] == ""


def test_output(front: Front) -> None:
    """Within an Output widget, the output of the request that is being answered is the widget's."""
    front.run("out = widgets.Output()")
    request = front.send("with out:\n    print('inside')\n    1/0\nprint('outside')")
    assert front.replied(request)["status"] == "ok"
    texts = [
        content["data"]["state"]["msg_id"] if kind == "comm_msg" else content["text"]
        for kind, content in front.outputs(request)
    ]
    assert texts[:2] == [request, "inside\n"]
    assert "ZeroDivisionError" in texts[2]
    assert texts[3:] == ["", "outside\n"]


def test_output_of_a_callback(front: Front) -> None:
    """A function that an Output widget captures prints there when it is called by a click, too."""
    _, outputs = front.run(
        "out, button = widgets.Output(), widgets.Button()\n"
        "@out.capture()\ndef clicked(_):\n    print('clicked')\nbutton.on_click(clicked)"
    )
    (button,), (output,) = models(outputs, "ButtonModel"), models(outputs, "OutputModel")
    message = front.client.session.msg(
        "comm_msg", {"comm_id": button, "data": {"method": "custom", "content": {"event": "click"}}}
    )
    front.client.shell_channel.send(message)
    request = message["header"]["msg_id"]
    (_, begun), (_, text), (_, ended) = front.outputs(request)
    assert (begun["comm_id"], begun["data"]["state"]) == (output, {"msg_id": request})
    assert (text["text"], ended["data"]["state"]) == ("clicked\n", {"msg_id": ""})


def test_appended_output(front: Front) -> None:
    """An Output widget takes objects with all their representations."""
    front.run(
        "from IPython.display import HTML\nout = widgets.Output()\nout.append_display_data(HTML('<b>x</b>'))"
    )
    assert front.value("out.outputs[0]['data']['text/html']") == "'<b>x</b>'"


def test_progress(front: Front) -> None:
    """`tqdm.auto` draws its bar as a widget, which is full at the end."""
    _, outputs = front.run("from tqdm.auto import tqdm\nfor n in tqdm(range(20), mininterval=0): pass")
    (bar,) = models(outputs, "FloatProgressModel")
    assert states(outputs, bar)["value"] == 20.0
    assert states(outputs, bar)["bar_style"] == "success"
    assert printed(outputs) == ""


def test_several_widgets(front: Front) -> None:
    """Linked widgets follow each other, in a box that is shown as one view."""
    _, outputs = front.run(
        "a, b = widgets.IntText(1), widgets.IntText(2)\nwidgets.link((a, 'value'), (b, 'value'))\n"
        "widgets.HBox([a, b])"
    )
    first, second = models(outputs, "IntTextModel")
    assert states(front.moved(first, value=7), second)["value"] == 7


def test_data_of_a_widget(front: Front) -> None:
    """Bytes go to the front end as buffers beside the state."""
    _, outputs = front.run("widgets.Image(value=b'picture', format='png')")
    opened = next(
        content
        for kind, content in outputs
        if kind == "comm_open" and content["data"]["state"]["_model_name"] == "ImageModel"
    )
    assert opened["data"]["buffer_paths"] == [["value"]]


def test_figures(front: Front) -> None:
    """matplotlib is imported beside widgets, and a figure is shown where `interact` calls for it."""
    front.run("import matplotlib.pyplot as plt")
    _, outputs = front.run("@widgets.interact(n=(1, 3))\ndef f(n):\n    plt.plot(range(n))\n    plt.show()")
    assert any("image/png" in content.get("data", {}) for kind, content in outputs if kind == "display_data")


def test_undo_takes_back_moves(front: Front) -> None:
    """%undo takes back a cell with what widgets have done since; %history has cells only."""
    _, outputs = front.run("slider = widgets.IntSlider(1)")
    (identifier,) = models(outputs, "IntSliderModel")
    front.run("x = 'before'")
    front.run("x = 'after'")
    front.moved(identifier, value=5)
    front.moved(identifier, value=6)
    assert "__planaria_comm__" not in front.printed("%history")
    front.run("%undo")
    assert front.value("x, slider.value") == "('before', 1)"
    front.run("x = 'after'")
    front.moved(identifier, value=5)
    front.moved(identifier, value=6)
    front.run("%undo 2")
    front.run("%redo")
    front.run("%redo")
    assert front.value("x, slider.value") == "('after', 6)"
