"""Lists of arguments, made as directly as the kinds of their words allow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from planaria_shell.expand.constant_words import TextCode, constant_text
from planaria_shell.expand.fields import Fields
from planaria_shell.state.interpreter import Interpreter

__all__ = ["UNSPLIT", "ArgumentsCode", "Item", "gather", "plain_fields"]

ArgumentsCode = Callable[["Interpreter"], "list[str]"]
#: Whether an argument is always exactly one field, and its text or the code for its field or fields.
Item: TypeAlias = "tuple[bool, str | Callable[[Interpreter], object]]"

#: A text that usual word splitting and globbing leave as it is.
UNSPLIT = re.compile(r"[A-Za-z0-9_./:,=-]+")


def plain_fields(texts: list[str], codes: list[tuple[int, TextCode]]) -> ArgumentsCode:
    """Code for a word of texts that are neither split nor globbed, and between them ("" in `texts`)
    expansions without quotes, by their places.
    """

    def fields(sh: Interpreter) -> list[str]:
        filled = texts.copy()
        plain = sh.ifs == " \t\n"
        for place, code in codes:
            filled[place] = text = code(sh)
            plain = plain and UNSPLIT.fullmatch(text) is not None
        if plain:
            return ["".join(filled)]
        collected = Fields(sh)
        for text, written in zip(filled, texts, strict=True):
            if written:
                collected.unquoted(text)
            else:
                collected.expanded(text)
        if collected.started:
            collected.finish()
        return collected.done

    return fields


def gather(items: list[Item]) -> ArgumentsCode:
    """Code for a list of arguments, as direct as the kinds of its words allow."""
    if all(isinstance(code, str) for _, code in items):
        constants: list[str] = [code for _, code in items if isinstance(code, str)]
        return lambda sh: constants.copy()
    if all(single for single, _ in items):
        codes = [constant_text(code) if isinstance(code, str) else code for _, code in items]
        first = items[0][1]
        if isinstance(first, str):
            if len(codes) == 2:
                second = codes[1]
                return lambda sh: [first, second(sh)]  # type: ignore[list-item]
            if len(codes) == 3:
                second, third = codes[1:]
                return lambda sh: [first, second(sh), third(sh)]  # type: ignore[list-item]
        return lambda sh: [code(sh) for code in codes]  # type: ignore[misc]
    if len(items) == 1:
        return items[0][1]  # type: ignore[return-value]

    def collect(sh: Interpreter) -> list[str]:
        result: list[str] = []
        for single, code in items:
            if isinstance(code, str):
                result.append(code)
            elif single:
                result.append(code(sh))  # type: ignore[arg-type]
            else:
                result.extend(code(sh))  # type: ignore[arg-type]
        return result

    return collect
