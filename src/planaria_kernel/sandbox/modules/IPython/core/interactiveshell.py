"""The class of what `get_ipython()` returns, where libraries look for it."""

from planaria_kernel.notebook.interactive_shell import InteractiveShell

__all__ = ["InteractiveShell"]
