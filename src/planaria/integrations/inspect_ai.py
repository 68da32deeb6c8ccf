"""Inspect (UK AISI): sessions as the sandboxes of samples. Needs `planaria[inspect-ai]`.

Inspect finds it by its entry point: `sandbox="planaria"`.
"""

from __future__ import annotations

from typing import Any, Final, Literal, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel, ConfigDict, Field

from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.command_backend import CommandBackend, CommandOutputLimit, CommandTimeout
from planaria.limits import Limits
from planaria.session._sync.session import Session

__all__ = ["PlanariaSandboxConfig", "PlanariaSandboxEnvironment"]

#: Users that programs in the sandbox can run as.
_USERS: Final = frozenset(["user", "1000"])
_NOT_EXECUTABLE: Final = 126


class PlanariaSandboxConfig(BaseModel):
    """How the sandboxes of a task are made: `sandbox=SandboxEnvironmentSpec("planaria", …)`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: str | None = Field(default=None, description="What sessions begin from; see planaria.Image")
    memory: int | None = Field(default=None, gt=0, description="Memory of the code, in bytes")
    environment: dict[str, str] = Field(default_factory=dict, description="Environment variables")


@sandboxenv(name="planaria")
class PlanariaSandboxEnvironment(SandboxEnvironment):
    """A session for each sample: in this process, created in milliseconds, without a network."""

    def __init__(self, config: PlanariaSandboxConfig | None = None) -> None:
        super().__init__()
        given = config or PlanariaSandboxConfig()
        limits = {} if given.memory is None else {"memory": given.memory}
        self.session = Session(
            limits=Limits(timeout=None, output=SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE, **limits),
            image=given.image,
            env=given.environment,
        )
        """The session, for checkpoints, forks and snapshots in solvers and scorers."""
        self._backend = CommandBackend(self.session)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """A new session."""
        if config is not None and not isinstance(config, PlanariaSandboxConfig):
            raise TypeError(f"the configuration of this sandbox is a PlanariaSandboxConfig, not {config!r}")
        return {"default": await in_thread(cls, config)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Any,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Close the session."""
        for environment in environments.values():
            await in_thread(environment.as_type(cls).close)

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """The configuration in a log."""
        return PlanariaSandboxConfig.model_validate(config)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,  # noqa: A002
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a program. Programs of one sandbox run one after the other."""
        if user is not None and user not in _USERS:
            raise SandboxUserUnsupportedError(
                f"programs in this sandbox run as 'user' (1000), not as {user!r}"
            )
        data = input.encode() if isinstance(input, str) else input or b""
        try:
            done = await run_command(self._backend, cmd, cwd=cwd, env=env, stdin=data, timeout=timeout)
        except CommandTimeout as error:
            raise TimeoutError(str(error)) from error
        except CommandOutputLimit as error:
            raise OutputLimitExceededError(
                SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, error.output.stdout
            ) from error
        if done.exit_code == _NOT_EXECUTABLE and done.stderr.rstrip().endswith("Permission denied"):
            raise PermissionError(done.stderr.strip())
        return ExecResult(
            success=done.exit_code == 0, returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr
        )

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, creating the directories above it."""
        data = contents.encode() if isinstance(contents, str) else contents
        await in_thread(self._backend.files.write, file, data)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """The contents of a file."""
        data = await in_thread(self._read, file, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE)
        return data.decode() if text else data

    def close(self) -> None:
        """Stop what runs, and close the session."""
        self._backend.close()

    def default_polling_interval(self) -> float:
        """Seconds between two looks at a program in the background: it is near."""
        return 0.2

    def _read(self, file: str, limit: int) -> bytes:
        files = self._backend.files
        if files.stat(file).size > limit and not files.stat(file).is_dir:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return files.read(file)
