"""What pandas and scikit-learn say about files that need packages which cannot be there."""

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


_NO_PICTURES: Final = (
    "the sandbox has neither scikit-learn's sample images nor a decoder for JPEG. Load them on the host and "
    "write the arrays into the session's files with numpy.save(), or return them from a callback"
)


def _change_pictures(module: Any) -> None:
    def load_sample_images() -> Any:
        """Refuse: the images are not here."""
        raise OSError(_NO_PICTURES)

    def load_sample_image(image_name: str) -> Any:
        """Refuse: the images are not here."""
        raise OSError(_NO_PICTURES)

    module.load_sample_images = load_sample_images
    module.load_sample_image = load_sample_image


def install() -> None:
    """Put this in place when pandas and scikit-learn import what reads such files."""
    when_imported("pandas.io.parquet", _change_parquet)
    when_imported("sklearn.datasets._base", _change_pictures)
