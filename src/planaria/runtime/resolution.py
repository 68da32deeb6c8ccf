"""Which versions of which packages satisfy requirements in the guest.

resolvelib decides; pip, run as a program, says which wheel of a project is the newest that fits (its
index, credentials and proxies are those that it is configured for), and what that wheel depends on. Markers
are evaluated here, because pip evaluates them for the computer that it runs on.
"""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from resolvelib import AbstractProvider, BaseReporter, Resolver
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from planaria.errors import ImageError
from planaria.runtime.pip_process import PipProcess
from planaria.version import GUEST_PYTHON

__all__ = ["COMMON_TAGS", "GUEST_TAGS", "Candidate", "Pip", "Unresolvable", "resolve"]

#: The newest Python for which projects usually have wheels; only used to find out which need native code.
_COMMON_PYTHON: Final = "3.13"
#: pip's options for wheels that run in the guest: in pure Python.
GUEST_TAGS: Final = (
    *("--implementation", "py", "--abi", "none", "--platform", "any", "--python-version", GUEST_PYTHON),
)
#: pip's options for wheels that run on a common computer.
COMMON_TAGS: Final = (
    *("--python-version", _COMMON_PYTHON, "--implementation", "cp"),
    *("--abi", f"cp{_COMMON_PYTHON.replace('.', '')}", "--abi", "abi3", "--abi", "none"),
    *("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64"),
    *("--platform", "manylinux2014_x86_64", "--platform", "any"),
)
#: The values of environment markers in the guest (PEP 508).
_ENVIRONMENT: Final = {
    "implementation_name": "cpython",
    "implementation_version": f"{GUEST_PYTHON}.0",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "WASI",
    "platform_version": "",
    "python_full_version": f"{GUEST_PYTHON}.0",
    "python_version": GUEST_PYTHON,
    "sys_platform": "wasi",
}
_MOST_ROUNDS: Final = 10_000


class Unresolvable(Exception):
    """No set of versions satisfies the requirements; the message says which are in the way."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version of a project."""

    name: str
    version: Version
    filename: str
    """Of the wheel; empty when the runtime has the project itself."""
    url: str | None = None
    """The address that a requirement names, if one does."""
    path: Path | None = field(default=None, compare=False)
    """The wheel, where it is a file of this computer."""
    dependencies: tuple[Requirement, ...] = field(default=(), compare=False)
    """All, whatever their markers."""
    extras: frozenset[str] = frozenset()

    @property
    def pin(self) -> str:
        """The requirement that only this candidate satisfies."""
        return f"{self.name}=={self.version}" if self.url is None else f"{self.name} @ {self.url}"


class Pip:
    """pip, with options for where it finds wheels."""

    def __init__(self, process: PipProcess, sources: Sequence[str], tags: Sequence[str] = GUEST_TAGS) -> None:
        self._process = process
        self._sources = sources
        self._tags = tags

    def newest(self, requirements: Sequence[str], nowhere: str) -> list[Candidate]:
        """The newest wheels that satisfy requirements, without what they depend on.

        Nothing is installed; pip only wants the name of a directory, `nowhere`. Raises Unresolvable.
        """
        report = self._run(
            [
                *("install", "--dry-run", "--ignore-installed", "--report", "-", "--target", nowhere),
                *self._options(),
                *requirements,
            ]
        )
        return [_candidate(one) for one in json.loads(report)["install"]]

    def download(self, pins: Sequence[str], directory: str) -> None:
        """Put the wheels of candidates into a directory. Raises Unresolvable."""
        self._run(["download", "--dest", directory, *self._options(), *pins])

    def _options(self) -> list[str]:
        return ["--no-deps", "--only-binary", ":all:", *self._tags, *self._sources]

    def _run(self, arguments: Sequence[str]) -> str:
        """What pip prints. Raises Unresolvable with its errors."""
        options = ("--quiet", "--no-input", "--disable-pip-version-check")
        try:
            ended = self._process.run([*arguments, *options])
        except subprocess.TimeoutExpired as error:
            raise Unresolvable(f"pip timed out after {error.timeout:g} s") from None
        if ended.status == 0:
            return ended.output
        errors = [
            line.removeprefix("ERROR: ") for line in ended.errors.splitlines() if line.startswith("ERROR: ")
        ]
        raise Unresolvable(
            "\n".join(dict.fromkeys(errors))
            or ended.errors.strip()
            or f"pip exited with status {ended.status}"
        )


def _candidate(reported: Mapping[str, Any]) -> Candidate:
    """A candidate of an item of pip's installation report."""
    metadata, url = reported["metadata"], str(reported["download_info"]["url"])
    dependencies = []
    for text in metadata.get("requires_dist", ()):
        try:
            dependencies.append(Requirement(text))
        except InvalidRequirement as error:
            raise Unresolvable(f"{metadata['name']} has an invalid dependency {text!r}: {error}") from None
    try:
        version = Version(metadata["version"])
    except InvalidVersion as error:
        raise Unresolvable(f"{metadata['name']}: {error}") from None
    address = urlsplit(url)
    return Candidate(
        canonicalize_name(metadata["name"]),
        version,
        address.path.rpartition("/")[2],
        url if reported.get("is_direct") else None,
        Path(url2pathname(address.path)) if address.scheme == "file" and not address.netloc else None,
        tuple(dependencies),
    )


def resolve(
    requirements: Sequence[Requirement],
    pip: Pip,
    *,
    bundled: Mapping[str, str],
    fixed: Mapping[str, str],
    nowhere: str,
) -> list[Candidate]:
    """The candidates that satisfy `requirements` and everything that they depend on in the guest.

    `bundled` are versions of what the runtime has, which no candidate replaces; `fixed` are versions that
    must be kept. Raises Unresolvable, and ImageError for an address of something that is not a wheel.
    """
    roots = list(_applicable(requirements, frozenset()))
    provider = _Provider(pip, bundled, fixed, nowhere)
    provider.look_ahead(roots)
    try:
        result = Resolver(provider, BaseReporter()).resolve(roots, max_rounds=_MOST_ROUNDS)
    except ResolutionImpossible as error:
        lines = [_explained(cause.requirement, cause.parent) for cause in error.causes]
        lines += [problem for cause in error.causes if (problem := provider.problems.get(_name(cause)))]
        raise Unresolvable("\n".join(dict.fromkeys(lines))) from None
    except ResolutionTooDeep:
        raise Unresolvable("the requirements conflict in too many ways") from None
    for root in roots:
        provider.warn_of_older(root, result.mapping[canonicalize_name(root.name)])
    return [one for one in result.mapping.values() if one.filename]


def _explained(requirement: Requirement, parent: Candidate | None) -> str:
    return (
        str(requirement) if parent is None else f"{requirement} (required by {parent.name} {parent.version})"
    )


def _name(cause: Any) -> str:
    return canonicalize_name(cause.requirement.name)


def _applicable(requirements: Iterable[Requirement], extras: frozenset[str]) -> Iterator[Requirement]:
    """Those whose markers are true in the guest. Raises ImageError for one that would have to be built."""
    for requirement in requirements:
        marker = requirement.marker
        if marker is None or any(
            marker.evaluate({**_ENVIRONMENT, "extra": extra}) for extra in ("", *extras)
        ):
            if requirement.url is not None and not urlsplit(requirement.url).path.endswith(".whl"):
                raise ImageError(f"{requirement} is not a wheel: nothing is built; a wheel is needed")
            yield requirement


class _Provider(AbstractProvider[Requirement, Candidate, str]):
    """What resolvelib asks."""

    def __init__(self, pip: Pip, bundled: Mapping[str, str], fixed: Mapping[str, str], nowhere: str) -> None:
        self._pip = pip
        self._nowhere = nowhere
        self._bundled = bundled
        self._fixed = fixed
        #: The newest candidates of requirements without markers, as text.
        self._newest: dict[str, Candidate] = {}
        #: pip's errors, by project.
        self.problems: dict[str, str] = {}

    def look_ahead(self, requirements: Sequence[Requirement]) -> None:
        """Ask for many candidates in one run of pip: those that will be wanted if nothing conflicts."""
        seen: set[tuple[str, frozenset[str]]] = set()
        while requirements:
            wanted: dict[str, str] = {
                canonicalize_name(one.name): self._text(one.name, [one]) for one in requirements
            }
            unknown = {
                name: text
                for name, text in wanted.items()
                if name not in self._bundled and text not in self._newest
            }
            if unknown:
                try:
                    found = self._pip.newest(list(unknown.values()), self._nowhere)
                except Unresolvable:
                    return  # each is asked for by itself, so that the error is known for it
                self._newest.update((unknown[one.name], one) for one in found if one.name in unknown)
            following: list[Requirement] = []
            for requirement in requirements:
                key = canonicalize_name(requirement.name), frozenset(requirement.extras)
                candidate = self._newest.get(wanted[key[0]])
                if candidate is not None and key not in seen:
                    seen.add(key)
                    following += _applicable(candidate.dependencies, key[1])
            requirements = following

    def warn_of_older(self, requirement: Requirement, chosen: Candidate) -> None:
        """Warn when a newer version satisfies a requirement, but not what it depends on in the guest."""
        newest = self._newest.get(self._text(requirement.name, [requirement]))
        if newest is None or newest.version <= chosen.version:
            return
        needed = {canonicalize_name(one.name) for one in newest.dependencies}
        missing = ", ".join(sorted(needed & self.problems.keys()))
        reason = f"needs {missing}, of which no version fits" if missing else "conflicts with the others"
        warnings.warn(
            f"{chosen.name} {chosen.version} is installed and not {newest.version}, which {reason} (the "
            "sandbox takes wheels in pure Python)",
            stacklevel=2,
        )

    def identify(self, requirement_or_candidate: Requirement | Candidate) -> str:
        return canonicalize_name(requirement_or_candidate.name)

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, Candidate],
        candidates: Mapping[str, Iterator[Candidate]],
        information: Mapping[str, Iterator[Any]],
        backtrack_causes: Sequence[Any],
    ) -> tuple[bool, bool, str]:
        """What caused a conflict first, then what is narrowed down most."""
        is_cause = any(identifier == _name(cause) for cause in backtrack_causes)
        is_pinned = any(
            specifier.operator == "=="
            for one in information[identifier]
            for specifier in one.requirement.specifier
        )
        return not is_cause, not is_pinned, identifier

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Requirement]],
        incompatibilities: Mapping[str, Iterator[Candidate]],
    ) -> Callable[[], Iterator[Candidate]]:
        wanted = list(requirements[identifier])
        unfit = {one.version for one in incompatibilities[identifier]}
        return lambda: self._matches(identifier, wanted, unfit)

    def _matches(
        self, name: str, requirements: Sequence[Requirement], unfit: set[Version]
    ) -> Iterator[Candidate]:
        """The candidates, newest first. pip is asked for each when it is wanted."""
        extras = frozenset(extra for one in requirements for extra in one.extras)
        if name in self._bundled:
            own = Candidate(name, Version(self._bundled[name]), "", extras=extras)
            if own.version not in unfit and all(self.is_satisfied_by(one, own) for one in requirements):
                yield own
            else:
                self.problems[name] = f"the runtime has {name} {own.version}"
            return
        unfit = set(unfit)
        while True:
            candidate = self._known(name, requirements, unfit)
            if candidate is None:
                return
            yield replace(candidate, extras=extras)
            unfit.add(candidate.version)

    def _known(self, name: str, requirements: Sequence[Requirement], unfit: set[Version]) -> Candidate | None:
        # The newest that satisfies one of the requirements is the newest for all, if it satisfies them all.
        for one in requirements:
            known = self._newest.get(self._text(name, [one]))
            if known is not None and known.version not in unfit and self._fits(known, requirements):
                return known
        text = self._text(name, requirements, unfit)
        if text not in self._newest:
            try:
                found = self._pip.newest([text], self._nowhere)
            except Unresolvable as error:
                self.problems.setdefault(name, str(error))
                return None
            self._newest[text] = found[0]
        candidate = self._newest[text]
        return candidate if candidate.version not in unfit and self._fits(candidate, requirements) else None

    def _fits(self, candidate: Candidate, requirements: Iterable[Requirement]) -> bool:
        return all(self._satisfies(one, candidate) for one in requirements)

    def _text(self, name: str, requirements: Iterable[Requirement], unfit: Iterable[Version] = ()) -> str:
        """One requirement for pip that stands for several of the same project."""
        address = next((one.url for one in requirements if one.url is not None), None)
        if address is not None:
            return f"{canonicalize_name(name)} @ {address}"
        specifiers = {str(specifier) for one in requirements for specifier in one.specifier}
        specifiers |= {f"!={version}" for version in unfit}
        if (version := self._fixed.get(canonicalize_name(name))) is not None:
            specifiers.add(f"=={version}")
        return f"{canonicalize_name(name)}{','.join(sorted(specifiers))}"

    @staticmethod
    def _satisfies(requirement: Requirement, candidate: Candidate) -> bool:
        if requirement.url is not None and requirement.url != candidate.url:
            return False
        specifier: SpecifierSet = requirement.specifier
        return specifier.contains(candidate.version, prereleases=True)

    def is_satisfied_by(self, requirement: Requirement, candidate: Candidate) -> bool:
        return self._satisfies(requirement, candidate) and candidate.extras >= requirement.extras

    def get_dependencies(self, candidate: Candidate) -> list[Requirement]:
        return list(_applicable(candidate.dependencies, candidate.extras))
