"""The exceptions of magics."""

from planaria_kernel.notebook.usage import UsageError

__all__ = ["UsageError"]
