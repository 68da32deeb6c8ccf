"""The package `comm`, over the messages of this session's front end."""

from planaria_kernel.notebook.comms import BaseComm, CommManager, create_comm, get_comm_manager

__all__ = ["BaseComm", "CommManager", "create_comm", "get_comm_manager"]
__version__ = "0.2.3"
