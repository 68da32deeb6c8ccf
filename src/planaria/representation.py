"""How a notebook of the host shows objects of this package."""

from __future__ import annotations

__all__ = ["Shown"]


class Shown:
    """Has a page of HTML beside its repr; everything of the guest's in it is escaped."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        """For notebooks (see IPython's documentation, "Rich display"); strings are encodable as UTF-8."""
        return {"text/plain": _encodable(repr(self)), "text/html": _encodable(self._repr_html_())}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
