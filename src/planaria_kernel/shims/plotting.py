"""Matplotlib's import without the tables of properties in its docstrings, and a word on missing fonts.

Making the tables, two hundred from seven thousand docstrings, takes a third of the import, in every session
that draws. `matplotlib.artist.getp` and `ArtistInspector` still list the properties of an artist.

The fonts that come with matplotlib have no Chinese, Japanese or Korean characters. Those that the session has
in the directories of fonts, mounted or written there, are used for those that the chosen font lacks.
"""

from __future__ import annotations

import contextlib
import functools
import os
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


#: Where a system keeps fonts, and where its user does.
_FONTS: Final = ("/usr/share/fonts", "~/.local/share/fonts")
#: A font that has one of these has its script, as far as is looked.
_SCRIPTS: Final = ("\u4e2d", "\u3042", "\uac00")
#: How the names of Chinese, Japanese and Korean characters begin in Unicode.
_EAST_ASIAN: Final = ("CJK ", "HANGUL ", "HIRAGANA ", "KATAKANA ", "BOPOMOFO ", "HALFWIDTH ", "FULLWIDTH ")
_NO_FONT: Final = (
    "no font here has Chinese, Japanese or Korean characters, which are drawn as boxes. Mount a directory of "
    "the host that has such a font (as Debian's fonts-noto-cjk), "
    "planaria.Session(mounts=[planaria.Mount('/usr/share/fonts', '/usr/share/fonts')]), or write one with "
    "files.write_bytes() to ~/.local/share/fonts. For Japanese alone, "
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


class _SessionFonts:
    """The fonts in the session's directories of fonts, as often as these change: `others` stand in for glyphs
    that a chosen font lacks, one for each script. The rest is there by name.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._changed: list[int] = []
        self.others: list[str] = []

    def look(self) -> None:
        changed = []
        for directory in _FONTS:
            with contextlib.suppress(OSError):
                changed.append(os.stat(os.path.expanduser(directory)).st_mtime_ns)
        if changed != self._changed:
            self._changed, self.others = changed, []
            missing = set(_SCRIPTS)
            paths = self._module.findSystemFonts(list(map(os.path.expanduser, _FONTS)))
            for path in sorted(paths, key=lambda path: ("Regular" not in path, path)):
                with contextlib.suppress(OSError, RuntimeError):  # damaged, or of fixed sizes
                    self._module.fontManager.addfont(path)
                    font = self._module.get_font(path)
                    drawn = {character for character in missing if font.get_char_index(ord(character))}
                    if drawn:
                        self.others.append(path)
                        missing -= drawn


def _use_session_fonts(module: Any) -> None:
    find_names = module.FontManager._find_fonts_by_props
    session_fonts = _SessionFonts(module)

    @functools.wraps(find_names)
    def find(manager: Any, *arguments: Any, **named: Any) -> list[str]:
        session_fonts.look()  # before the search, which may be for one of them
        found: list[str] = find_names(manager, *arguments, **named)
        return found + [path for path in session_fonts.others if path not in found]

    module.FontManager._find_fonts_by_props = find


def install() -> None:
    """Change matplotlib when it is imported."""
    when_imported("matplotlib.artist", _without_tables)
    when_imported("matplotlib.font_manager", _use_session_fonts)
    when_imported("matplotlib._text_helpers", _explain_missing_glyphs)
