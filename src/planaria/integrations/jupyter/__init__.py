"""A Jupyter kernel whose cells run in a sandbox: `planaria jupyter install`.

It needs the extra `planaria[jupyter]`.
"""

from planaria.integrations.jupyter.kernel import JupyterKernel
from planaria.integrations.jupyter.wire import Connection

__all__ = ["Connection", "JupyterKernel"]
