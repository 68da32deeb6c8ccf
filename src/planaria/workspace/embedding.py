"""Search by meaning: what an embedder is, one that runs on any computer, and vectors kept by content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import numpy

__all__ = ["Embedder", "StaticEmbedder", "Vectors"]

#: Queries whose vectors are kept.
_MAX_QUERIES: Final = 256


class Embedder(Protocol):
    """Turns texts into vectors whose angles tell how near the texts are in meaning."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text, all of one length."""


class StaticEmbedder:
    """Embeds with a static model of model2vec: vectors of words from a table, without a neural network.

    `model` is a directory, or a name on the Hugging Face Hub, from where the model (30 MB) is fetched into
    the Hub's cache when the first text is embedded. Needs the extra "embeddings".
    """

    def __init__(self, model: str | os.PathLike[str] = "minishlab/potion-base-8M") -> None:
        self._name = os.fspath(model)
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self._model is None:
            try:
                from model2vec import StaticModel
            except ImportError as error:
                raise ImportError(
                    "StaticEmbedder needs the package model2vec: pip install 'planaria[embeddings]'"
                ) from error
            self._model = StaticModel.from_pretrained(self._name, force_download=False)
        vectors: Sequence[Sequence[float]] = self._model.encode(list(texts), use_multiprocessing=False)
        return vectors


class Vectors:
    """The vectors of texts that have keys. A text is embedded once, on first comparison."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._digests: dict[str, bytes] = {}
        #: By the digest of the text.
        self._pending: dict[bytes, str] = {}
        self._known: dict[bytes, numpy.ndarray[Any, Any]] = {}
        #: Digests of the last queries, the oldest first.
        self._queries: dict[bytes, None] = {}
        #: The vectors of all keys in their order; None when they have changed.
        self._matrix: Any = None

    def put(self, key: str, text: str) -> None:
        """Let a key have this text."""
        digest = _digest(text)
        self._digests[key] = digest
        if digest not in self._known:
            self._pending[digest] = text
        self._matrix = None

    def discard(self, key: str) -> None:
        """Forget a key, if there is one."""
        if self._digests.pop(key, None) is not None:
            self._matrix = None

    def compare(self, query: str) -> dict[str, float]:
        """The cosine of the query with each key's text. Raises ValueError for vectors that do not fit."""
        import numpy

        wanted = _digest(query)
        self._queries.pop(wanted, None)
        self._queries[wanted] = None
        if len(self._queries) > _MAX_QUERIES:
            del self._queries[next(iter(self._queries))]
        if wanted not in self._known:
            self._pending[wanted] = query
        used = {*self._digests.values(), *self._queries} if self._pending or self._matrix is None else set()
        if self._pending:
            self._learn({digest: text for digest, text in self._pending.items() if digest in used})
            self._pending.clear()
        if used:  # of texts that are gone, nothing is kept
            self._known = {digest: vector for digest, vector in self._known.items() if digest in used}
        if self._matrix is None:
            self._matrix = numpy.array([self._known[digest] for digest in self._digests.values()])
        cosines = self._matrix @ self._known[wanted]
        return dict(zip(self._digests, cosines.tolist(), strict=True))

    def _learn(self, texts: dict[bytes, str]) -> None:
        import numpy

        vectors = numpy.asarray(self._embedder.embed(list(texts.values())), dtype="f8")
        size = {len(vector) for vector in self._known.values()} or {vectors.shape[-1]}
        if vectors.ndim != 2 or len(vectors) != len(texts) or {vectors.shape[1]} != size:
            raise ValueError(
                f"the embedder gave vectors of the shape {vectors.shape} for {len(texts)} texts; it must be "
                "one for each text, all of one length"
            )
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / numpy.where(lengths > 0, lengths, 1.0)
        self._known.update(zip(texts, vectors, strict=True))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
