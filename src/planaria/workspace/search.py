"""Search by words, and by meaning when there is an embedder.

The words are those of names, descriptions, parameters and tags; the scores are BM25's. Words are compared
without capitals and endings, and identifiers by their parts, so that `fetchJSON`, `fetch_json` and "fetching
json" meet. The same entries and query give the same scores on every machine. Nothing is downloaded; an
`Embedder` is the caller's.

    index = SearchIndex()
    index.put(SearchEntry("curl", "curl", "Make HTTP requests", tags=("http",)))
    index.search("request", limit=5)     # [("curl", …)]
"""

from __future__ import annotations

import heapq
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from planaria.workspace.embedding import Embedder, Vectors

__all__ = ["SearchEntry", "SearchIndex", "words"]

#: BM25's saturation of repeated words, and how much long entries are held back.
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
#: How often a word counts by where it stands.
_NAME: Final = 3.0
_TAGS: Final = 2.0
#: The part of the embedder in a score of both.
_MEANING: Final = 0.5

_WORD: Final = re.compile(r"\w+")
#: The parts of an identifier: HTTPServer2 is HTTP, Server, 2.
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_is_common: Final = re.compile(
    "a|an|and|are|as|at|be|by|for|from|in|is|it|its|of|on|or|that|the|this|to|with"
).fullmatch
_VOWEL: Final = re.compile("[aeiouy]")
_DOUBLED: Final = re.compile(r"([bdfgmnprt])\1$")


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """What can be found of one thing."""

    key: str
    name: str
    description: str = ""
    parameters: Sequence[str] = ()
    tags: Sequence[str] = ()

    def text(self) -> str:
        """As an embedder gets it."""
        parts = (
            self.name.replace("_", " "),
            self.description,
            " ".join(self.parameters),
            " ".join(self.tags),
        )
        return "\n".join(part for part in parts if part)


def words(text: str) -> list[str]:
    """The words of a text as they are compared; an identifier gives its parts and itself."""
    found: list[str] = []
    for word in _WORD.findall(text):
        parts = _PART.findall(word) if word.isascii() else [part for part in word.split("_") if part]
        if len(parts) > 1:
            found.append("".join(parts))
        found += parts
    return [word for word in map(_stem, map(str.casefold, found)) if not _is_common(word)]


def _stem(word: str) -> str:
    """A word without the usual English endings: requests, requested and requesting are request."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 2 and word.endswith(ending) and not word.endswith("eed"):
            rest = word[: -len(ending)]
            if _VOWEL.search(rest):
                word = _DOUBLED.sub(r"\1", rest)
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


class SearchIndex:
    """Entries that can be searched. May be used from many threads.

    An entry that is put again unchanged costs nothing; one that has changed is indexed anew, alone. With an
    `embedder`, texts are embedded when they are first searched, and once: vectors are kept by content.
    """

    def __init__(self, entries: Iterable[SearchEntry] = (), *, embedder: Embedder | None = None) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, SearchEntry] = {}
        #: By word, then key: how much it counts there.
        self._postings: dict[str, dict[str, float]] = {}
        self._frequencies: dict[str, dict[str, float]] = {}
        self._lengths: dict[str, float] = {}
        #: By word, then key: its part of the score; forgotten when entries change.
        self._impacts: dict[str, dict[str, float]] = {}
        self._vectors = None if embedder is None else Vectors(embedder)
        for entry in entries:
            self.put(entry)

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: SearchEntry) -> None:
        """Add an entry, in place of one of the same key."""
        with self._lock:
            if self._entries.get(entry.key) == entry:
                return
            self._discard(entry.key)
            counts: Counter[str] = Counter()
            for weight, texts in (
                (_NAME, (entry.name,)),
                (_TAGS, entry.tags),
                (1.0, (entry.description, *entry.parameters)),
            ):
                for text in texts:
                    for word in words(text):
                        counts[word] += weight  # type: ignore[assignment]
            frequencies: dict[str, float] = dict(counts)
            self._entries[entry.key] = entry
            if self._vectors is not None:
                self._vectors.put(entry.key, entry.text())
            self._frequencies[entry.key] = frequencies
            self._lengths[entry.key] = sum(frequencies.values())
            for word, count in frequencies.items():
                self._postings.setdefault(word, {})[entry.key] = count
            self._impacts.clear()

    def discard(self, key: str) -> None:
        """Remove an entry, if there is one."""
        with self._lock:
            self._discard(key)

    def _discard(self, key: str) -> None:
        if self._entries.pop(key, None) is None:
            return
        if self._vectors is not None:
            self._vectors.discard(key)
        del self._lengths[key]
        for word in self._frequencies.pop(key):
            postings = self._postings[word]
            del postings[key]
            if not postings:
                del self._postings[word]
        self._impacts.clear()

    def search(self, query: str, limit: int = 10) -> list[tuple[str, float]]:
        """The keys that fit best, with their scores, the best first: at most `limit`, and only what matches.

        Scores of one search can be compared with each other. With an embedder they are the mean of the
        score by words, as a part of the best one, and the cosine of the vectors.
        """
        with self._lock:
            scores = self._score(query)
            if self._vectors is not None and self._entries and query.strip():
                best = max(scores.values(), default=1.0)
                meanings = self._vectors.compare(query)
                scores = {
                    key: (1 - _MEANING) * scores.get(key, 0.0) / best + _MEANING * meaning
                    for key, meaning in meanings.items()
                    if meaning > 0 or key in scores
                }
        # Rounded before they are compared: the order must not hang on the last bit.
        ranked = heapq.nsmallest(max(limit, 0), ((-round(score, 9), key) for key, score in scores.items()))
        return [(key, -score) for score, key in ranked]

    def _score(self, query: str) -> dict[str, float]:
        scores: dict[str, float] = {}
        # The rarest last, so that the common ones are copied whole.
        found = sorted(
            ((self._impact(word), times) for word, times in Counter(words(query)).items()),
            key=lambda one: -len(one[0]),
        )
        for impacts, times in found:
            if not scores and times == 1:
                scores = impacts.copy()
                continue
            for key, impact in impacts.items():
                scores[key] = scores.get(key, 0.0) + impact * times
        return scores

    def _impact(self, word: str) -> dict[str, float]:
        known = self._impacts.get(word)
        if known is not None:
            return known
        postings = self._postings.get(word, {})
        count = len(self._entries)
        rarity = math.log(1 + (count - len(postings) + 0.5) / (len(postings) + 0.5))
        mean = math.fsum(self._lengths.values()) / count if count else 1.0
        impacts = {}
        for key, frequency in postings.items():
            damping = _SATURATION * (1 - _LENGTH + _LENGTH * self._lengths[key] / mean)
            impacts[key] = rarity * frequency * (_SATURATION + 1) / (frequency + damping)
        if postings:  # what a query makes up is not kept
            self._impacts[word] = impacts
        return impacts
