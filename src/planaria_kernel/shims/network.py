"""`socket` without a network: every attempt to reach another host is an `OSError` that says so.

The build lacks the functions that resolve names, so code that catches `OSError` would see AttributeError.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, Final, NoReturn

from planaria_kernel.shims.importing import when_imported

__all__ = ["HOST_NAME", "NO_NETWORK", "install"]

#: The name of the sandbox's host, as `hostname` in the shell prints it.
HOST_NAME: Final = "planaria"
NO_NETWORK: Final = "the sandbox has no network: use a host callback, a mounted file, or a tool"


def _change_socket(module: Any) -> None:
    original = module.socket

    def refuse_name(*args: Any, **kwargs: Any) -> NoReturn:
        raise module.gaierror(module.EAI_AGAIN, NO_NETWORK)

    def refuse_address(*args: Any, **kwargs: Any) -> NoReturn:
        raise module.herror(2, NO_NETWORK)

    def refuse_service(*args: Any, **kwargs: Any) -> NoReturn:
        raise OSError(errno.ENOENT, "service/proto not found")

    def gethostname() -> str:
        return HOST_NAME

    def if_nameindex() -> list[tuple[int, str]]:
        return []

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original_init(self, *args, **kwargs)
        except OSError as error:
            raise OSError(errno.ENETUNREACH, NO_NETWORK) from error

    original_init: Callable[..., None] = original.__init__
    original.__init__ = initialise
    functions: dict[str, Callable[..., Any]] = {
        "getaddrinfo": refuse_name,
        "gethostbyname": refuse_name,
        "gethostbyname_ex": refuse_name,
        "getnameinfo": refuse_name,
        "gethostbyaddr": refuse_address,
        "getservbyname": refuse_service,
        "getservbyport": refuse_service,
        "getprotobyname": refuse_service,
        "gethostname": gethostname,
        "sethostname": refuse_address,
        "if_nameindex": if_nameindex,
    }
    for name, function in functions.items():
        function.__name__ = function.__qualname__ = name
        setattr(module, name, function)
    # What `import socket` gives comes from both modules: `socket.getaddrinfo` of the library calls this one.
    module._socket.getaddrinfo = refuse_name
    module._socket.gethostname = gethostname


def install() -> None:
    """Put this in place when `socket` is imported."""
    when_imported("socket", _change_socket)
    uname = os.uname()
    os.uname = lambda: os.uname_result((uname[0], HOST_NAME, *uname[2:]))
