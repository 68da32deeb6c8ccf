"""`[[ ]]`, `[ ]` and `(( ))` as conditions in Python source."""

from __future__ import annotations

from planaria_shell.syntax.nodes import Test, Word
from planaria_shell.translation.names import INTEGER, UntranslatableError
from planaria_shell.translation.words import Text, Words

__all__ = ["translate_condition", "translate_test"]

_COMPARISONS = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}


def translate_condition(test: Test, words: Words) -> str:
    """The source of a conditional expression."""
    operator, left, right = test.operator, test.left, test.right
    if isinstance(left, Test):
        first = translate_condition(left, words)
        if operator == "!":
            return f"not ({first})"
        if operator == "(":
            return f"({first})"
        assert isinstance(right, Test)
        second = translate_condition(right, words)
        return f"({first}) and ({second})" if operator == "&&" else f"({first}) or ({second})"
    subject = words.text(left)
    if right is None:
        if operator in ("-n", "-z"):
            return f'{subject.text} {"!=" if operator == "-n" else "=="} ""'
        raise UntranslatableError(operator)
    assert isinstance(right, Word)
    if operator in ("==", "=", "!="):
        match = words.match(subject.text, right, extglob=True, case=False)
        return f"not ({match})" if operator == "!=" else match
    if operator in ("<", ">"):
        return f"{subject.text} {operator} {words.text(right).text}"
    if operator == "=~":
        words.risk()
        return f"search(sh, {subject.text}, {words.regex(right).text})"
    comparison = _COMPARISONS.get(operator)
    if comparison is None:
        raise UntranslatableError(operator)
    return f"{_number(subject, words)} {comparison} {_number(words.value(right), words)}"


def _number(text: Text, words: Words) -> str:
    """An operand of `-eq` and its like: an expression."""
    if text.kinds == INTEGER:
        return text.source
    words.risk()
    name = words.temporary()
    if "i" in text.kinds:
        return f"({name} if ({name} := {text.source}).__class__ is int else condition_number(num, {name}))"
    return f"condition_number(num, {text.source})"


def translate_test(command: str, arguments: list[Word], words: Words) -> tuple[str, bool]:
    """`test` or `[`: a condition, and whether it is a status instead."""
    if len(arguments) == 3:
        operator = _COMPARISONS.get(arguments[1].literal() or "")
        if operator is not None:
            left, right = _exact(arguments[0], words), _exact(arguments[2], words)
            if left is not None and right is not None:
                return f"{left} {operator} {right}", False
        operator = arguments[1].literal() or ""
        if operator in ("=", "==", "!=") and _single(arguments[0], words) and _single(arguments[2], words):
            left, right = words.text(arguments[0]).text, words.text(arguments[2]).text
            return f"{left} {'!=' if operator == '!=' else '=='} {right}", False
    if (
        len(arguments) == 2
        and (arguments[0].literal() or "") in ("-n", "-z")
        and _single(arguments[1], words)
    ):
        sign = "!=" if arguments[0].literal() == "-n" else "=="
        return f'{words.text(arguments[1]).text} {sign} ""', False
    words.risk()
    items = ", ".join(source for source, _ in words.fields(arguments))
    return f"{'bracket' if command == '[' else 'test'}_status(sh, [{items}], spill)", True


def _single(word: Word, words: Words) -> bool:
    """Whether the word is sure to be one field."""
    fields = words.fields([word])
    return len(fields) == 1 and not fields[0][0].startswith("*")


def _exact(word: Word, words: Words) -> str | None:
    """An operand that is sure to be one number."""
    text = words.value(word)
    return text.source if text.kinds == INTEGER else None
