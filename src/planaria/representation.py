"""How a notebook of the host shows objects of this package."""

from __future__ import annotations

__all__ = ["Shown", "encodable"]


class Shown:
    """Has a page of HTML beside its repr; everything of the guest's in it is escaped."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        """For notebooks (see IPython's documentation, "Rich display"); strings are encodable as UTF-8."""
        return {"text/plain": encodable(repr(self)), "text/html": encodable(self._repr_html_())}


def encodable(text: str) -> str:
    """The text with what UTF-8 lacks (halves of surrogate pairs) replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
