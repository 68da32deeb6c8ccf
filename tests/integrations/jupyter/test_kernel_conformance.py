"""The tests that Jupyter's authors ship for kernels."""

from __future__ import annotations

import pytest
from notebook_front import start_kernel

pytestmark = pytest.mark.slow

jupyter_kernel_test = pytest.importorskip(
    "jupyter_kernel_test", reason="jupyter_kernel_test is not installed"
)


class TestPlanaria(jupyter_kernel_test.KernelTests):  # type: ignore[misc,name-defined]
    """All of `jupyter_kernel_test`, with the samples of its own test of ipykernel."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.km, cls.kc = start_kernel(cls.kernel_name)

    kernel_name = "planaria-tests"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = (
        {"text": "zi", "matches": {"zip"}},
        {"text": "import zipf", "matches": {"zipfile"}},
    )
    complete_code_samples = ("1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n")
    incomplete_code_samples = ("print('''hello", "def f(x):\n  x*2")
    invalid_code_samples = ("import = 7q",)
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result = (
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    )
    code_display_data = (
        {
            "code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))",
            "mime": "text/html",
        },
        {
            "code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))",
            "mime": "text/latex",
        },
    )
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class TestWelcome(jupyter_kernel_test.IopubWelcomeTests):  # type: ignore[misc,name-defined]
    """A front end that subscribes is welcomed."""

    kernel_name = "planaria-tests"
    support_iopub_welcome = True
