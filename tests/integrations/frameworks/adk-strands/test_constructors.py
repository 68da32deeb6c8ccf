"""The arguments of sessions that adapters take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from constructors import check_constructor
from google.adk.code_executors.base_code_executor import BaseCodeExecutor

from planaria.integrations import google_adk, strands
from planaria.session.options import SessionArguments


@pytest.mark.parametrize(
    "adapter", [google_adk.PlanariaCodeExecutor, google_adk.PlanariaEnvironment, strands.PlanariaSandbox]
)
def test_arguments_of_sessions(adapter: Callable[..., Any]) -> None:
    """An adapter shows every argument of sessions, and refuses others with a suggestion."""
    check_constructor(adapter)


def test_fields_of_the_code_executor() -> None:
    """The code executor takes each field of ADK's, and no other."""
    fields = google_adk.CodeExecutorArguments.__annotations__.keys()
    assert fields - SessionArguments.__annotations__.keys() == BaseCodeExecutor.model_fields.keys()
