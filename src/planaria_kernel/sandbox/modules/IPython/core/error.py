"""The exceptions of magics."""

from planaria_kernel.notebook.interactive_shell import UsageError

__all__ = ["UsageError"]
