"""Matplotlib's import without the tables of properties in its docstrings, and a word on missing fonts.

Making the tables, two hundred from seven thousand docstrings, takes a third of the import, in every session
that draws. `matplotlib.artist.getp` and `ArtistInspector` still list the properties of an artist.

The fonts that come with matplotlib have no Chinese, Japanese or Korean characters, and the sandbox has no
others.
"""

from __future__ import annotations

import functools
import unicodedata
import warnings
from typing import Any, Final

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]


def _no_table(artist: Any) -> str:
    """Inspect an artist class, and return information about its settable properties."""
    return "    see matplotlib.artist.getp\n"


def _without_tables(module: Any) -> None:
    module.kwdoc = _no_table


#: How the names of Chinese, Japanese and Korean characters begin in Unicode.
_EAST_ASIAN: Final = ("CJK ", "HANGUL ", "HIRAGANA ", "KATAKANA ", "BOPOMOFO ", "HALFWIDTH ", "FULLWIDTH ")
_NO_FONT: Final = (
    "no font here has Chinese, Japanese or Korean characters, which are drawn as boxes. Write a font file of "
    "the host (such as NotoSansCJK-Regular.ttc of Debian's fonts-noto-cjk) into the session with "
    "files.write_bytes(), call matplotlib.font_manager.fontManager.addfont(path), and put the font's name "
    "into plt.rcParams['font.family']. For Japanese alone, "
    "planaria.Image.build(..., packages=['matplotlib-fontja']) and `import matplotlib_fontja`"
)


def _explain_missing_glyphs(module: Any) -> None:
    warn = module.warn_on_missing_glyph

    @functools.wraps(warn)
    def warn_and_explain(codepoint: int, *fonts: Any) -> None:
        warn(codepoint, *fonts)
        if unicodedata.name(chr(codepoint), "").startswith(_EAST_ASIAN):
            warnings.warn(_NO_FONT, stacklevel=2)

    module.warn_on_missing_glyph = warn_and_explain


def install() -> None:
    """Change matplotlib when it is imported."""
    when_imported("matplotlib.artist", _without_tables)
    when_imported("matplotlib._text_helpers", _explain_missing_glyphs)
