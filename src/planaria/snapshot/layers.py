"""The files that an image was made with, carried by snapshots that rest on it: so it is made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from planaria.errors import SnapshotCorrupt, SnapshotError
from planaria.files.memory import MemorySnapshot, read_memory_manifest
from planaria.files.quota import Quota
from planaria.machine.image_files import find_tree, keep_tree, tree_digest
from planaria.machine.recipe import Recipe

__all__ = ["LAYERS", "keep_layer_files", "layer_files"]

#: The kind of their section: a list of descriptions of trees; their contents are among the other chunks.
LAYERS: Final = "layers"


@lru_cache(maxsize=8)
def layer_files(recipe: Recipe) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """The descriptions and chunks of all files that the layers of a recipe are made with; not to be changed.

    Raises SnapshotError when they are gone from the cache.
    """
    manifests: list[dict[str, Any]] = []
    chunks: dict[str, bytes] = {}
    for digest in _wanted(recipe):
        tree = find_tree(digest)
        if tree is None:
            raise SnapshotError(
                "the files that this session's image was made with are gone from the cache, so that it could "
                "not be made elsewhere: build the image again"
            )
        manifests.append(tree.manifest())
        chunks.update(tree.chunks())
    return manifests, chunks


def keep_layer_files(
    recipe: Recipe, manifests: Any, chunks: Mapping[str, bytes], limit: int
) -> dict[str, MemorySnapshot]:
    """Put what a recipe needs into the cache; of at most `limit` bytes each. Raises SnapshotError.

    Returns by their digests the trees that are at hand.
    """
    if not isinstance(manifests, list) or not all(type(one) is dict for one in manifests):
        raise SnapshotCorrupt("the files of the layers of an image are not a list of descriptions")
    known: dict[str, dict[str, Any]] = {tree_digest(one): one for one in manifests}
    trees: dict[str, MemorySnapshot] = {}
    for digest in _wanted(recipe):
        tree = find_tree(digest)
        if tree is None and digest in known:
            tree = read_memory_manifest(known[digest], chunks, quota=Quota(bytes=limit))
            keep_tree(tree)
        if tree is not None:
            trees[digest] = tree
    return trees


def _wanted(recipe: Recipe) -> Sequence[str]:
    """An image that was saved from a session cannot be made again, whatever is carried along."""
    if any(layer.saved is not None for layer in recipe.layers()):
        return ()
    return tuple(dict.fromkeys(layer.files for layer in recipe.layers() if layer.files is not None))
