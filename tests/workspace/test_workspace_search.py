"""Search by words and by meaning."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planaria
from planaria.workspace.embedding import StaticEmbedder
from planaria.workspace.search import SearchEntry, SearchIndex, words

TOOLS = [
    SearchEntry("curl", "curl", "Make HTTP requests", ["url", "method"], ["http", "network"]),
    SearchEntry("jq", "jq", "Transform JSON documents", ["filter"], ["json"]),
    SearchEntry("fetch_json", "fetch_json", "Get a document from a URL and parse it", ["url"]),
    SearchEntry("weather", "weather", "Forecast for a city", ["city"], ["climate"]),
]


def keys(found: Sequence[tuple[str, float]]) -> list[str]:
    return [key for key, _ in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fetch_json", ["fetchjson", "fetch", "json"]),
        ("fetchJSON", ["fetchjson", "fetch", "json"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("GitHub", ["github", "git", "hub"]),
        ("requests requested requesting", ["request", "request", "request"]),
        ("parse parses parsed parsing", ["pars"] * 4),
        ("queries query running runs", ["query", "query", "run", "run"]),
        ("boxes classes analysis status", ["box", "class", "analysis", "status"]),
        ("string thing need speed", ["string", "thing", "need", "speed"]),
        ("the cost of it", ["cost"]),
        ("Größe café", ["grösse", "café"]),
        ("...", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Words are compared without capitals and usual endings; identifiers also by their parts."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("http request", ["curl"]),
        ("parsing JSON", ["fetch_json", "jq"]),
        ("fetchjson", ["fetch_json"]),
        ("cities", ["weather"]),
        ("climate", ["weather"]),
        ("url", ["fetch_json", "curl"]),
        ("unheard of", []),
        ("", []),
    ],
)
def test_search(query: str, best: list[str]) -> None:
    """What fits is found by name, description, parameters and tags, the best first, and nothing else."""
    assert keys(SearchIndex(TOOLS).search(query)) == best


def test_scores() -> None:
    """Scores are positive and fall; `limit` cuts the list and changes nothing else."""
    index = SearchIndex(TOOLS)
    found = index.search("json url document")
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert all(score > 0 for _, score in found)
    assert index.search("json url document", 2) == found[:2]
    assert index.search("json", 0) == []


def test_names_count_more() -> None:
    """A word in the name counts more than in the tags, and there more than in the description."""
    index = SearchIndex(
        [
            SearchEntry("a", "one", "apple two three"),
            SearchEntry("b", "apple", "one two three"),
            SearchEntry("c", "one", "two three", (), ["apple"]),
        ]
    )
    assert keys(index.search("apple")) == ["b", "c", "a"]


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.text("xyz ", max_size=12), st.booleans()), max_size=12)
)
def test_the_order_of_changes_does_not_matter(steps: list[tuple[str, str, bool]]) -> None:
    """After any changes, an index gives what one that was made of its entries anew gives."""
    index = SearchIndex()
    entries: dict[str, SearchEntry] = {}
    for key, text, keep in steps:
        if keep:
            entries[key] = SearchEntry(key, key, text)
            index.put(entries[key])
        else:
            entries.pop(key, None)
            index.discard(key)
        index.search("x xy")
    shuffled = list(entries.values())
    random.Random(1).shuffle(shuffled)
    for query in ("x", "y xy", "a b zz", "x x x"):
        assert index.search(query) == SearchIndex(shuffled).search(query)
    assert len(index) == len(entries)


def test_threads() -> None:
    """An index may be searched while others change it."""
    index = SearchIndex(TOOLS)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(200):
                index.put(SearchEntry(f"k{number}", f"name{step}", "json url"))
                assert index.search("json url")
                index.discard(f"k{number}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert index.search("json url") == SearchIndex(TOOLS).search("json url")


class Meanings:
    """An embedder that knows what a few words mean, and counts the texts that it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        sky = ("weather", "rain", "sun", "forecast")
        data = ("json", "document", "parse")
        return [
            [1e-3, *(float(sum(word in text.lower() for word in group)) for group in (sky, data))]
            for text in texts
        ]


def test_meaning() -> None:
    """With an embedder, what is near in meaning is found without a common word; the words still count."""
    index = SearchIndex(TOOLS, embedder=Meanings())
    assert keys(index.search("rain"))[0] == "weather"
    found = dict(index.search("parse json"))
    assert found["fetch_json"] > found["jq"] > found["weather"]
    assert all(score <= 1.000001 for score in found.values())


def test_texts_are_embedded_once() -> None:
    """Vectors are kept by content: only new texts and queries are embedded."""
    embedder = Meanings()
    index = SearchIndex(TOOLS, embedder=embedder)
    index.search("rain")
    assert len(embedder.texts) == len(TOOLS) + 1
    index.search("rain")
    index.put(TOOLS[0])
    index.search("sun")
    assert embedder.texts[len(TOOLS) + 1 :] == ["sun"]
    index.put(SearchEntry("new", "new", "rain"))
    index.search("sun")
    assert embedder.texts[len(TOOLS) + 2 :] == ["new\nrain"]


def test_vectors_that_do_not_fit() -> None:
    """An embedder that gives other vectors than one of each text is an error that says so."""

    class Forgetful:
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[1.0]]

    with pytest.raises(ValueError, match=r"vectors of the shape \(1, 1\) for 5 texts"):
        SearchIndex(TOOLS, embedder=Forgetful()).search("x")


def test_static_embedder(tmp_path: Path) -> None:
    """A model of model2vec makes searches of a storage go by meaning, too."""
    import numpy
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    vocabulary = ["[UNK]", "rain", "weather", "json", "parse"]
    tokenizer = Tokenizer(
        WordLevel({word: place for place, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    vectors = numpy.array([[0, 0], [1, 0.1], [1, 0], [0, 1], [0.1, 1]], dtype="f4")
    StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "model")
    storage = planaria.FileStorage(tmp_path / "workspace", embedder=StaticEmbedder(tmp_path / "model"))
    library = storage.get_workflow_library()
    library.add("weather", "def run(): pass\n")
    library.add("parse", "def run(): pass\n")
    assert [one.name for one, _ in library.search("rain", 1)] == ["weather"]
    assert [one.name for one, _ in library.search("json", 1)] == ["parse"]
