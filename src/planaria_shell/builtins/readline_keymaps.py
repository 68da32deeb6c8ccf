"""The keys of readline's keymaps, in the notation of `bind -p` (readline(3))."""

from __future__ import annotations

import re

__all__ = ["ALIASES", "KEYMAPS", "keys_of", "order"]

# Lines of a function and the keys that it has; `\x20` is a space.
_EMACS = r"""
    abort \C-g \C-x\C-g \e\C-g
    accept-line \C-j \C-m
    backward-char \C-b \eOD \e[D
    backward-delete-char \C-h \C-?
    backward-kill-line \C-x\C-?
    backward-kill-word \e\C-h \e\C-?
    backward-word \e\e[D \e[1;3D \e[1;5D \e[5D \eb
    beginning-of-history \e<
    beginning-of-line \C-a \eOH \e[1~ \e[H
    bracketed-paste-begin \e[200~
    call-last-kbd-macro \C-xe
    capitalize-word \ec
    character-search \C-]
    character-search-backward \e\C-]
    clear-display \e\C-l
    clear-screen \C-l
    complete \C-i \e\e\000
    complete-command \e!
    complete-filename \e/
    complete-hostname \e@
    complete-into-braces \e{
    complete-username \e~
    complete-variable \e$
    delete-char \C-d \e[3~
    delete-horizontal-space \e\\
    digit-argument \e- \e0 \e1 \e2 \e3 \e4 \e5 \e6 \e7 \e8 \e9
    display-shell-version \C-x\C-v
    downcase-word \el
    dynamic-complete-history \e\C-i
    edit-and-execute-command \C-x\C-e
    end-kbd-macro \C-x)
    end-of-history \e>
    end-of-line \C-e \eOF \e[4~ \e[F
    exchange-point-and-mark \C-x\C-x
    forward-char \C-f \eOC \e[C
    forward-search-history \C-s
    forward-word \e\e[C \e[1;3C \e[1;5C \e[5C \ef
    glob-complete-word \eg
    glob-expand-word \C-x*
    glob-list-expansions \C-xg
    history-expand-line \e^
    history-search-backward \e[5~
    history-search-forward \e[6~
    insert-comment \e#
    insert-completions \e*
    kill-line \C-k
    kill-word \e[3;5~ \ed
    next-history \C-n \eOB \e[B
    non-incremental-forward-search-history \en
    non-incremental-reverse-search-history \ep
    operate-and-get-next \C-o
    possible-command-completions \C-x!
    possible-completions \e= \e?
    possible-filename-completions \C-x/
    possible-hostname-completions \C-x@
    possible-username-completions \C-x~
    possible-variable-completions \C-x$
    previous-history \C-p \eOA \e[A
    quoted-insert \C-q \C-v \e[2~
    re-read-init-file \C-x\C-r
    reverse-search-history \C-r
    revert-line \e\C-r \er
    set-mark \C-@ \e\x20
    shell-backward-word \e\C-b
    shell-expand-line \e\C-e
    shell-forward-word \e\C-f
    shell-kill-word \e\C-d
    shell-transpose-words \e\C-t
    spell-correct-word \C-xs
    start-kbd-macro \C-x(
    tilde-expand \e&
    transpose-chars \C-t
    transpose-words \et
    undo \C-x\C-u \C-_
    unix-line-discard \C-u
    unix-word-rubout \C-w
    upcase-word \eu
    yank \C-y
    yank-last-arg \e. \e_
    yank-nth-arg \e\C-y
    yank-pop \ey
"""
_VI_INSERT = r"""
    accept-line \C-j \C-m
    backward-char \eOD \e[D
    backward-delete-char \C-h \C-?
    backward-word \e[1;3D \e[1;5D
    beginning-of-line \eOH \e[H
    bracketed-paste-begin \e[200~
    complete \C-i
    delete-char \e[3~
    end-of-line \eOF \e[F
    forward-char \eOC \e[C
    forward-search-history \C-s
    forward-word \e[1;3C \e[1;5C
    history-search-backward \e[5~
    history-search-forward \e[6~
    kill-word \e[3;5~
    menu-complete \C-n
    menu-complete-backward \C-p
    next-history \eOB \e[B
    overwrite-mode \e[2~
    previous-history \eOA \e[A
    quoted-insert \C-v
    reverse-search-history \C-r
    transpose-chars \C-t
    unix-line-discard \C-u
    vi-eof-maybe \C-d
    vi-movement-mode \e\000
    vi-undo \C-_
    vi-unix-word-rubout \C-w
    yank \C-y
"""
_VI_COMMAND = r"""
    abort \C-g
    accept-line \C-j \C-m
    backward-char \C-h \eOD \e[D h
    backward-word \e[1;3D \e[1;5D
    beginning-of-line \eOH \e[H 0
    clear-screen \C-l
    delete-char \e[3~
    end-of-line \eOF \e[F $
    forward-char \eOC \e[C \x20 l
    forward-search-history \C-s
    forward-word \e[1;3C \e[1;5C
    history-search-backward \e[5~
    history-search-forward \e[6~
    insert-comment #
    kill-line \C-k
    kill-word \e[3;5~
    next-history \C-n \eOB \e[B + j
    overwrite-mode \e[2~
    previous-history \C-p \eOA \e[A - k
    quoted-insert \C-q \C-v
    reverse-search-history \C-r
    revert-line U
    transpose-chars \C-t
    unix-line-discard \C-u
    vi-append-eol A
    vi-append-mode a
    vi-arg-digit 1 2 3 4 5 6 7 8 9
    vi-change-case ~
    vi-change-char r
    vi-change-to C c
    vi-char-search , ; F T f t
    vi-column |
    vi-delete x
    vi-delete-to D d
    vi-edit-and-execute-command v
    vi-end-word E e
    vi-eof-maybe \C-d
    vi-fetch-history G
    vi-first-print ^
    vi-goto-mark `
    vi-insert-beg I
    vi-insertion-mode i
    vi-match %
    vi-next-word W w
    vi-prev-word B b
    vi-put P p
    vi-redo .
    vi-replace R
    vi-rubout X
    vi-search / ?
    vi-search-again N n
    vi-set-mark m
    vi-subst S s
    vi-tilde-expand &
    vi-undo \C-_ u
    vi-unix-word-rubout \C-w
    vi-yank-arg _
    vi-yank-to Y y
    yank \C-y
"""
#: Functions that are others by another name.
ALIASES = {"insert-last-argument": "yank-last-arg"}
#: The keymaps by their names: what they are called here, and the keys after which they come.
KEYMAPS = {
    "emacs": ("emacs", ""),
    "emacs-standard": ("emacs", ""),
    "emacs-meta": ("emacs", r"\e"),
    "emacs-ctlx": ("emacs", r"\C-x"),
    "vi": ("vi-command", ""),
    "vi-command": ("vi-command", ""),
    "vi-move": ("vi-command", ""),
    "vi-insert": ("vi-insert", ""),
}
_UNIT = re.compile(r"\\C-\\\\|\\C-(.)|\\e|\\([0-7]{3})|\\(.)|(.)", re.DOTALL)


def order(key: str) -> bytes:
    """The bytes of a sequence of keys, by which they are listed."""
    result = bytearray()
    for match in _UNIT.finditer(key):
        control, octal, escaped, plain = match.groups()
        if control is not None:
            result.append(0x7F if control == "?" else ord(control.upper()) & 0x1F)
        elif octal is not None:
            result.append(int(octal, 8))
        elif match.group() == r"\e":
            result.append(0x1B)
        elif escaped or plain:
            result += (escaped or plain).encode("utf-8", "surrogateescape")
        else:
            result.append(0x1C)
    return bytes(result)


def _notation(code: int) -> str:
    if code < 0x20:
        return r"\C-\\" if code == 0x1C else rf"\C-{chr(code + 0x40).lower()}"
    if code >= 0x80:
        return f"\\{code:03o}"
    return f"\\{chr(code)}" if chr(code) in '"\\' else chr(code)


def _inserting(keys: dict[str, str], codes: list[int]) -> dict[str, str]:
    """The keys of these characters that have nothing else to do: they insert themselves."""
    return {_notation(code): "self-insert" for code in codes if _notation(code) not in keys}


def _parsed(table: str) -> dict[str, str]:
    return {
        key.replace(r"\x20", " "): line.split()[0]
        for line in table.strip().splitlines()
        for key in line.split()[1:]
    }


def keys_of(keymap: str) -> dict[str, str]:
    """The function of each key of a keymap: `emacs`, `vi-insert` or `vi-command`."""
    if keymap == "vi-command":
        return _parsed(_VI_COMMAND)
    printed = [*range(0x20, 0x7F), *range(0x80, 0x100)]
    if keymap == "vi-insert":
        keys = _parsed(_VI_INSERT)
        # A null inserts nothing, and an escape begins other sequences.
        return keys | _inserting(keys, [*range(1, 0x1B), *range(0x1C, 0x20), *printed])
    keys = _parsed(_EMACS)
    upper = [chr(code) for code in range(ord("A"), ord("Z") + 1)]
    lowered = [rf"\C-x{letter}" for letter in upper] + [rf"\e{letter}" for letter in upper if letter != "O"]
    return keys | dict.fromkeys(lowered, "do-lowercase-version") | _inserting(keys, printed)
