"""Misspelled and missing arguments, and those of another type, of what users create."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria.pool import AsyncPool, Pool

SPELLINGS: list[tuple[Callable[..., object], str, str]] = [
    (planaria.Limits, "timout", r"Limits\(\) got an unexpected .*'timout'. Did you mean 'timeout'\?"),
    (planaria.ShellLimits, "command", r"ShellLimits\(\) .* Did you mean 'commands'\?"),
    (planaria.Network, "alow", r"Network\(\) .* Did you mean 'allow'\?"),
    (planaria.Secret, "host", r"Secret\(\) .* Did you mean 'hosts'\?"),
    (planaria.Mount, "mod", r"Mount\(\) .* Did you mean 'mode'\?"),
    (planaria.VfsStorage, "quotas", r"VfsStorage\(\) .* Did you mean 'quota'\?"),
    (planaria.Quota, "byte", r"Quota\(\) .* Did you mean 'bytes'\?"),
    (planaria.Deterministic, "seeds", r"Deterministic\(\) .* Did you mean 'seed'\?"),
    (planaria.ArtifactQuota, "byte", r"ArtifactQuota\(\) .* Did you mean 'bytes'\?"),
    (planaria.SubprocessConfig, "python", r"SubprocessConfig\(\) .* Did you mean 'python_version'"),
    (planaria.Image.build, "pakages", r"Image.build\(\) .* Did you mean 'packages'\?"),
    (planaria.connect, "sesion", r"\Aconnect\(\) .* Did you mean 'session'\?"),
    (planaria.connect_async, "tokn", r"\Aconnect_async\(\) .* Did you mean 'token'\?"),
    (planaria.ServerSession, "tokn", r"ServerSession\(\) .* Did you mean 'token'\?"),
    (Pool, "limit", r"\APool\(\) .* Did you mean 'limits'\?"),
    (AsyncPool, "worker", r"AsyncPool\(\) .* Did you mean 'workers'\?"),
]


@pytest.mark.parametrize(
    ("create", "name", "words"), SPELLINGS, ids=lambda one: getattr(one, "__name__", one)
)
def test_misspelled_arguments(create: Callable[..., object], name: str, words: str) -> None:
    """A misspelled argument is a TypeError that names what was called and what may have been meant."""
    with pytest.raises(TypeError, match=words):
        create(**{name: 1})


@pytest.mark.parametrize("create", [planaria.connect, planaria.connect_async, Pool, AsyncPool])
def test_arguments_of_sessions_are_in_signatures(create: Callable[..., object]) -> None:
    """What passes arguments on to sessions shows each of them in its signature, by its own name."""
    parameters = inspect.signature(create).parameters
    assert {"limits", "image", "env"} <= parameters.keys()
    assert parameters["limits"].annotation == "Limits | None"
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def test_limits_given_to_a_pool() -> None:
    """A limit among the arguments of a pool is a TypeError that says where limits belong."""
    with pytest.raises(TypeError, match=r"Did you mean limits=planaria.Limits\(memory=...\)\?"):
        Pool("memory://", memory=1 << 30)  # type: ignore[call-arg]


def test_missing_arguments() -> None:
    """A missing argument is named, and so is what was called as its caller wrote it."""
    with pytest.raises(TypeError, match=r"\ASession.from_base\(\) is missing the argument 'base'\Z"):
        planaria.Session.from_base()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"\ASecret\(\) is missing the arguments 'value' and 'hosts'\Z"):
        planaria.Secret("KEY")  # type: ignore[call-arg]


#: Arguments of sessions, values of another type, and words of the error.
TYPES: list[tuple[str, Any, str]] = [
    ("clock", 5, "a clock such as planaria.FrozenClock.*, not int"),
    ("clock", planaria.FrozenClock, "not the class FrozenClock"),
    ("shell_limits", planaria.Limits(), "planaria.ShellLimits or None, not Limits"),
    ("storage", "desk", "planaria.Storage or None, not str"),
    ("tool_environment", {}, "planaria.ToolEnvironment or None, not dict"),
    ("artifact_quota", 5, "planaria.ArtifactQuota or None, not int"),
    ("tools", 5, "a list of functions and objects, .*, not int"),
    ("argv", "a b", "a list of strings, not the string 'a b'"),
    ("argv", ["a", 5], "a list of strings; 5 is of type int"),
    ("extra_deps", "six", "a list of strings, not the string 'six'"),
    ("vfs_mount_path", Path("/data"), "must be a str, not .*Path"),
    ("sync_deps_on_start", "yes", "must be a bool, not str"),
]


@pytest.mark.parametrize(("name", "value", "words"), TYPES)
def test_types_of_a_session(name: str, value: Any, words: str) -> None:
    """An argument of another type is a TypeError that names it, before anything is started."""
    with pytest.raises(TypeError, match=f"{name}= must be .*{words}|{name}= {words}"):
        planaria.Session(**{name: value})


def test_types_of_others() -> None:
    """The same goes for mounts, storages and recipes of images."""
    refused: list[tuple[str, Callable[[], object]]] = [
        ("guest_path must be a str, not int", lambda: planaria.Mount(".", 5)),  # type: ignore[arg-type]
        ("host_path must be a str or a path, not int", lambda: planaria.Mount(5, "/a")),  # type: ignore[arg-type]
        ("quota= must be a planaria.Quota", lambda: planaria.VfsStorage(quota=5)),  # type: ignore[arg-type]
        ("packages= must be a list", lambda: planaria.Image.build("a", packages="six")),
        ("preload= must be a list", lambda: planaria.Image.build("a", preload=5)),  # type: ignore[arg-type]
        ("files= must be a dict", lambda: planaria.Image.build("a", files=["b"])),  # type: ignore[arg-type]
    ]
    for words, create in refused:
        with pytest.raises(TypeError, match=words):
            create()
