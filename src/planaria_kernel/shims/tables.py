"""What pandas says about file formats whose packages cannot be there."""

from __future__ import annotations

import functools
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]

_HELP: Final = (
    "the sandbox has no package for parquet: pyarrow and fastparquet are native. Read or write the file on "
    "the host (pip install pyarrow there) and hand over the DataFrame, or use to_csv() or to_pickle()"
)


def _change_parquet(module: Any) -> None:
    get_engine = module.get_engine

    @functools.wraps(get_engine)
    def get_engine_or_help(engine: str) -> Any:
        try:
            return get_engine(engine)
        except ImportError as error:
            raise ImportError(_HELP) from error

    module.get_engine = get_engine_or_help


def install() -> None:
    """Put this in place when pandas imports its module for parquet."""
    when_imported("pandas.io.parquet", _change_parquet)
