"""Searching the tools of a registry."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from planaria import ToolRegistry


def fetch(url: str) -> str:
    """Get a page over HTTP."""
    return url


def resize_image(width: int, height: int) -> None:
    """Change a picture's size.

    Args:
        width: In pixels.
    """


def translate(text: str) -> str:
    """Say it in another language."""
    return text


@pytest.fixture
def registry() -> ToolRegistry:
    tools = ToolRegistry()
    tools.add(fetch, tags=["network", "safe"])
    tools.add(resize_image, tags=["graphics"])
    tools.add(translate, tags=["language", "safe"])
    return tools


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("http", "fetch"),
        ("make HTTP requests for pages", "fetch"),
        ("network", "fetch"),
        ("image", "resize_image"),
        ("pixels", "resize_image"),
        ("heights", "resize_image"),
        ("languages", "translate"),
    ],
)
def test_tools_are_found_by_name_description_parameters_and_tags(
    registry: ToolRegistry, query: str, name: str
) -> None:
    """What fits best comes first, as in the list and with a score."""
    found = registry.search(query)
    assert found[0]["name"] == name
    assert found[0]["score"] > 0
    assert {key: value for key, value in found[0].items() if key != "score"} in registry.list()


def test_search_follows_the_registry(registry: ToolRegistry) -> None:
    """A tool that is removed is not found any more, one that is added is, and the limit holds."""
    registry.remove("fetch")
    assert registry.search("http") == []
    registry.add(fetch, name="get_http")
    assert [one["name"] for one in registry.search("http")] == ["get_http"]
    assert len(registry.search("say text page picture size", limit=2)) == 2


def test_search_stays_in_scope(registry: ToolRegistry) -> None:
    """What is outside a scope is not found in it, and does not show in the scores of what is."""
    scope = registry.scoped(["safe"])
    assert scope.search("image") == []
    before = scope.search("language")
    registry.add(translate, name="other_language", tags=["graphics"])
    assert scope.search("language") == before


def test_embedder_finds_by_meaning(registry: ToolRegistry) -> None:
    """With an embedder, a tool is found by a word that is nowhere in it."""

    class Colors:
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [
                [float("photo" in text or "picture" in text), float("page" in text), 0.01] for text in texts
            ]

    tools = ToolRegistry([fetch, resize_image, translate], embedder=Colors())
    assert tools.search("photo")[0]["name"] == "resize_image"
    assert tools.scoped([]).search("photo") == []
