"""The classes of the package, where libraries look for them."""

from planaria_kernel.notebook.comms import BaseComm, CommManager

__all__ = ["BaseComm", "CommManager"]
