"""Scripts that look at each line alone, run on many lines at once.

Substitutions, y, d and (with -n, at the end) p keep nothing from one line to the next. So a script of them
does the same when each command in turn goes over a whole block of lines, which the engine's own loop does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from planaria_shell.commands.text.sed.replacement import Substitution
from planaria_shell.commands.text.sed.script import Command
from planaria_shell.toolkit.regex.posix import Pattern

__all__ = ["compile_blocks"]

#: From lines, each with its newline, to lines.
Step = Callable[[str], str]
#: Put into lines that a substitution changed; texts that hold it are edited line by line.
_MARK = "\0"


def compile_blocks(commands: list[Command], quiet: bool) -> Step | None:
    """The script as one function of a block of lines; None for a script that must be run line by line.

    What it is called with must not hold a zero byte.
    """
    steps: list[Step] = []
    for place, command in enumerate(commands):
        last = place == len(commands) - 1
        step = _step(command, last, quiet)
        if step is None:
            return None
        steps.append(step)
    if quiet and not (commands and _prints(commands[-1])):
        return None
    if len(steps) == 1:
        return steps[0]

    def edit(text: str) -> str:
        for step in steps:
            if not text:
                break
            text = step(text)
        return text

    return edit


def _prints(command: Command) -> bool:
    """Whether the command prints what it selects, and nothing else would."""
    return command.name == "p" or (command.substitution is not None and command.substitution.printed == 1)


def _step(command: Command, last: bool, quiet: bool) -> Step | None:
    if command.second is not None or (_prints(command) and not (last and quiet)):
        return None
    chosen = None
    if command.first is not None:
        pattern = command.first.pattern
        if command.first.kind != "regex" or pattern is None:
            return None
        chosen = pattern
    elif command.negated:
        return None
    match command.name:
        case "d" | "p" if chosen is not None:
            return _selecting(chosen, (command.name == "p") != command.negated)
        case "y":
            table = command.table
            if 10 in table or "\n" in table.values():
                return None
            if chosen is None:
                return lambda text: text.translate(table)
            return _changing(chosen, command.negated, lambda line: line.translate(table))
        case "s" if command.substitution is not None:
            return _substituting(command, command.substitution, chosen, last)
    return None


def _finder(pattern: Pattern, text: str) -> Callable[[str], object]:
    """A function that returns a true value for a line of the text that matches."""
    return pattern.find if pattern.explosive else pattern.engine(text).search


def _selecting(pattern: Pattern, wanted: bool) -> Step:
    """Keep the lines that match, or those that do not."""
    literal = pattern.literal

    def select(text: str) -> str:
        lines = text.split("\n")
        lines.pop()
        if literal and "\n" not in literal:
            kept = [line for line in lines if (literal in line) is wanted]
        else:
            find = _finder(pattern, text)
            kept = [line for line in lines if (find(line) is not None) is wanted]
        kept.append("")
        return "\n".join(kept)

    return select


def _changing(pattern: Pattern, negated: bool, change: Callable[[str], str]) -> Step:
    """Change the lines that match, or those that do not."""

    def step(text: str) -> str:
        find = _finder(pattern, text)
        lines = text.split("\n")
        lines.pop()
        lines = [line if (find(line) is None) is not negated else change(line) for line in lines]
        lines.append("")
        return "\n".join(lines)

    return step


def _substituting(command: Command, given: Substitution, chosen: Pattern | None, last: bool) -> Step | None:
    pattern, replacement = given.pattern, given.replacement
    if pattern is None or given.number != 1 or given.evaluated or given.file or given.printed > 1:
        return None
    if replacement.newlines and (not last or given.printed):
        return None
    if chosen is not None:
        if given.printed or not pattern.exact or (pattern.nullable and given.every):
            return None
        engine, count = pattern.engine, 0 if given.every else 1
        by = replacement.expand if replacement.template is None else replacement.template
        return _changing(chosen, command.negated, lambda line: engine(line).sub(by, line, count))
    whole = pattern.for_lines()
    if whole is None or not whole.exact:
        return None
    every = given.every
    if whole.nullable and every:
        if not whole.anchored:
            return None
        every = False
    if every:
        engines = whole.engine
    elif not whole.by_lines:
        return None
    else:
        engines, replacement = whole.engine_with_rest, replacement.shifted()
    mark = _MARK if given.printed else ""
    target: str | Callable[[re.Match[str]], str]
    rest = whole.groups + 2
    expand = replacement.expand
    if replacement.template is not None:
        target = replacement.template + mark + ("" if every else f"\\g<{rest}>")
    elif every:
        target = lambda found: expand(found) + mark  # noqa: E731
    else:
        target = lambda found: expand(found) + mark + found[rest]  # noqa: E731

    def substitute(text: str) -> str:
        return engines(text).sub(target, text)

    if not mark:
        return substitute

    def substitute_and_select(text: str) -> str:
        lines = [line for line in substitute(text).split("\n") if _MARK in line]
        lines.append("")
        return "\n".join(lines).replace(_MARK, "")

    return substitute_and_select
