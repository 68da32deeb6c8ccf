"""The dependencies that are configured: `requirements.txt`, with its comments and its order."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planaria.errors import DependencyError
from planaria.storage.documents import Backend, Documents

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = ["DependencyList", "canonical_name", "canonical_requirement", "has_address", "requirements_of"]

_FILE: Final = "requirements.txt"
_MAX_LENGTH: Final = 500
#: A comment, as pip sees it.
_COMMENT: Final = re.compile(r"(?:^|\s+)#.*$")
#: Options that follow a requirement in its line, as --hash=…
_OPTIONS: Final = re.compile(r"\s+--\w.*$")


@dataclass(slots=True)
class _Line:
    """An entry of requirements.txt: one line, or several that backslashes join."""

    text: str
    """As it is in the file."""
    number: int
    requirement: Requirement | None = None
    option: str | None = None
    """An option of pip, as -r other.txt."""


class DependencyList:
    """The requirements of a workspace (PEP 508), kept in `requirements.txt`. Nothing is installed here.

    The file may be edited by hand; comments, order and options of pip stay as they are.
    """

    def __init__(self, storage: Backend) -> None:
        self._storage = storage

    def list(self) -> list[str]:
        """The requirements in the order of the file, in canonical form.

        Raises DependencyError, with its number, for a line that is none.
        """
        return [_canonical(line.requirement) for line in self._lines() if line.requirement is not None]

    def options(self) -> builtins.list[str]:
        """The lines that are options of pip, as "--index-url …" or "-r other.txt"; they are not followed."""
        return [line.option for line in self._lines() if line.option is not None]

    def add(self, requirement: str) -> str:
        """Add a requirement, in place of those of the same name, and return it in canonical form.

        Raises DependencyError when it is none.
        """
        parsed = _parse(requirement)
        canonical = _canonical(parsed)

        def action(documents: Documents) -> None:
            lines = list(_read(documents.fetch(_FILE)))
            same = [line for line in lines if _is_for(line, parsed.name)]
            if [_canonical(line.requirement) for line in same if line.requirement] == [canonical]:
                return
            if same:
                comment = _COMMENT.search(same[0].text.splitlines()[-1])
                same[0].text = canonical + (comment[0] if comment else "")
                lines = [line for line in lines if line is same[0] or line not in same]
            else:
                lines.append(_Line(canonical, 0))
            documents.put(_FILE, _joined(lines))

        self._storage.write(action)
        return canonical

    def remove(self, name: str) -> bool:
        """Remove what is required of a package, whatever its version; False when nothing is.

        A requirement, as "attrs>=24", stands for its name. Raises DependencyError for what is neither.
        """
        wanted = canonical_name(name)

        def action(documents: Documents) -> bool:
            lines = list(_read(documents.fetch(_FILE)))
            kept = [line for line in lines if not _is_for(line, wanted)]
            if len(kept) == len(lines):
                return False
            documents.put(_FILE, _joined(kept))
            return True

        return self._storage.write(action)

    def _lines(self) -> Iterator[_Line]:
        return _read(self._storage.read(lambda documents: documents.fetch(_FILE)))


def canonical_requirement(text: str) -> str:
    """A requirement (PEP 508) with its name in canonical form. Raises DependencyError."""
    return _canonical(_parse(text))


def requirements_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Several requirements in canonical form. Raises TypeError for a text by itself, DependencyError."""
    if isinstance(texts, str):
        raise TypeError(f"expected a list of requirements, such as [{texts!r}], not a str")
    return tuple(map(canonical_requirement, texts))


def has_address(text: str) -> bool:
    """Whether a requirement says where its package is: `name @ address`. Raises DependencyError."""
    return _parse(text).url is not None


def canonical_name(text: str) -> str:
    """The canonical name of the package that a requirement is for. Raises DependencyError."""
    from packaging.utils import canonicalize_name

    return canonicalize_name(_parse(text).name)


def _parse(text: str) -> Requirement:
    from packaging.requirements import InvalidRequirement, Requirement

    if not isinstance(text, str):
        raise TypeError(f"a requirement must be a str, not {type(text).__name__}")
    shown = text if len(text) <= 80 else f"{text[:80]}…"
    if len(text) > _MAX_LENGTH or not text.isprintable():
        raise DependencyError(f"{shown!r} is not a valid requirement: it is too long or not printable")
    try:
        return Requirement(text.strip())
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise DependencyError(
            f"{shown!r} is not a valid requirement (write it as 'attrs>=24'): {reason}"
        ) from None


def _canonical(requirement: Requirement) -> str:
    from packaging.utils import canonicalize_name

    return canonicalize_name(requirement.name) + str(requirement).removeprefix(requirement.name)


def _is_for(line: _Line, name: str) -> bool:
    from packaging.utils import canonicalize_name

    found = line.requirement
    return found is not None and canonicalize_name(found.name) == canonicalize_name(name)


def _read(data: bytes | None) -> Iterator[_Line]:
    try:
        text = (data or b"").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DependencyError(f"{_FILE} is not UTF-8: {error.reason} at byte {error.start}") from None
    pending: list[str] = []
    for number, one in enumerate(text.splitlines(), 1):
        pending.append(one)
        if one.endswith("\\") and not one.lstrip().startswith("#"):
            continue
        yield _line(pending, number - len(pending) + 1)
        pending = []
    if pending:
        yield _line(pending, len(text.splitlines()) - len(pending) + 1)


def _line(lines: list[str], number: int) -> _Line:
    line = _Line("\n".join(lines), number)
    said = _COMMENT.sub("", " ".join(one.rstrip("\\") for one in lines)).strip()
    if said.startswith("-"):
        line.option = said
    elif said:
        try:
            line.requirement = _parse(_OPTIONS.sub("", said))
        except DependencyError as error:
            raise DependencyError(f"{_FILE}, line {number}: {error}") from None
    return line


def _joined(lines: list[_Line]) -> bytes:
    return "".join(f"{line.text}\n" for line in lines).encode()
