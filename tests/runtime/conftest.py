import pytest


@pytest.fixture(autouse=True)
def no_background_compile(monkeypatch):
    """No test of the runtime may start compiling the full tier by accident."""
    monkeypatch.setenv("PLANARIA_BACKGROUND_COMPILE", "0")
