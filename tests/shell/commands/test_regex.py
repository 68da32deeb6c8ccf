"""Regular expressions beside GNU grep's."""

from __future__ import annotations

import pytest
from example_counts import examples
from harness import real
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria_shell.toolkit.regex.posix import (
    RegexError,
    compile_basic,
    compile_extended,
    compile_perl,
    match_start,
)


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("a|ab", "xabc", "ab"),
        ("(a|ab)(c|bcd)(d*)", "abcd", "abcd"),
        ("a?(ab)?", "ab", "ab"),
        ("(foo|foobar)+x?", "foobarfoo", "foobarfoo"),
        ("x*", "aaa", ""),
        ("a|b|", "b", "b"),
        ("[[:alpha:]_]+", "9é_x9", "é_x"),
        ("[^[:space:]]+", " ab\tc", "ab"),
        ("[]a]+", "x]a]", "]a]"),
        ("[a-]+", "x-a", "-a"),
        ("[[.a.][=b=]]+", "xabc", "ab"),
        ("(.)(.)\\2\\1", "xabbay", "abba"),
        ("\\<b\\w*", "abc bcd", "bcd"),
        ("o\\>", "foo fo", "o"),
        ("^a", "ba", None),
        ("a$", "a\nb", None),
        ("a.b", "a\nb", "a\nb"),
        ("a{2,3}", "aaaa", "aaa"),
        ("a{,2}b", "aaab", "aab"),
        ("a{x", "a{x", "a{x"),
        ("()", "abc", ""),
        ("a+?", "aa", "aa"),
        ("\\.\\*", "a.*", ".*"),
    ],
)
def test_an_extended_expression_finds_the_leftmost_longest_match(
    pattern: str, text: str, matched: str | None
) -> None:
    """POSIX's rule decides between matches, and brackets, anchors and intervals mean what POSIX says."""
    found = compile_extended(pattern).search(text)
    assert (found[0] if found else None) == matched


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("a*b", "aab", "aab"), ("*b", "a*b", "*b"), ("\\(*b\\)", "a*b", "*b"), ("^*b", "*b", "*b"),
        ("a+b", "a+b", "a+b"), ("a\\+b", "aab", "aab"), ("a|b", "a|b", "a|b"), ("a\\|b", "xb", "b"),
        ("x^y$z", "x^y$z", "x^y$z"), ("\\(^a\\)", "ab", "a"), ("(a)", "(a)", "(a)"), ("a{1}", "a{1}", "a{1}"),
        ("a\\{2\\}", "aaa", "aa"), ("\\(a\\)\\1", "aa", "aa"), ("[\\n]", "\\", "\\"),
    ],
)  # fmt: skip
def test_a_basic_expression_has_its_operators_behind_backslashes(
    pattern: str, text: str, matched: str
) -> None:
    """What is an operator depends on the backslash and on the place, as POSIX defines for basic ones."""
    found = compile_basic(pattern).search(text)
    assert found is not None
    assert found[0] == matched


def test_captures_belong_to_the_longest_match() -> None:
    """Groups are those of the match that is returned."""
    found = compile_extended("(a|ab)(c|bcd)(d*)").search("abcd")
    assert found is not None
    assert found.groups() == ("ab", "c", "d")


def test_bytes_that_are_no_text_are_matched_by_no_dot() -> None:
    """A lone byte is skipped by the dot and by negated brackets, as in the C library."""
    text = b"a\xffb\xc3\xa9".decode("utf-8", "surrogateescape")
    for pattern in (".+", "[^x]+"):
        found = compile_extended(pattern).search(text, 1)
        assert found is not None
        assert found[0] == "bé"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "Unmatched ( or \\("), ("[a", "Unmatched [, [^, [:, [., or [="), ("a\\", "Trailing backslash"),
        ("[[:nope:]]", "Invalid character class name"), ("[b-a]", "Invalid range end"),
        ("a{2,1}", "Invalid content of \\{\\}"), ("a\\1", "Invalid back reference"),
    ],
)  # fmt: skip
def test_a_malformed_expression_is_refused_with_the_message_of_the_c_library(
    pattern: str, message: str
) -> None:
    """The error says what is wrong in glibc's words."""
    with pytest.raises(RegexError) as refused:
        compile_extended(pattern)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        (r"foo\Kbar", "foobar", "bar"), (r"(?<=a|bcd)x", "bcdx", "x"), (r"(?<!a|bc)x", "bcx yx", "x"),
        (r"\x41\x{e9}", "Aé", "Aé"), (r"\Qa.b\E+", "a.bb", "a.bb"), (r"a(?i)b|C", "xc", "c"),
        (r"(?<n>a)\k<n>\g{1}", "aaa", "aaa"), (r"\h+\R", "a \t\r\n", " \t\r\n"),
        (r"[[:^alpha:]]+", "ab12", "12"),
        (r"\p{Lu}+", "abÉC", "ÉC"), (r"a++b", "aab", "aab"), (r"(?>a+)b", "aab", "aab"),
        (r"[]x]+", "]x", "]x"),
        (r"(?#note)a", "a", "a"), (r"\d+(?=%)", "10 20%", "20"), (r"a.*?b", "aXbXb", "aXb"),
        (r"(?x: a  b )", "ab", "ab"), (r"[\w.-]+@[\w-]+", "me.x@y-z", "me.x@y-z"),
    ],
)  # fmt: skip
def test_perl_expressions_keep_their_meaning(pattern: str, text: str, matched: str) -> None:
    """What PCRE writes in its own way works as PCRE says."""
    found = compile_perl(pattern).search(text)
    assert found is not None
    assert text[match_start(found) : found.end()] == matched


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$", "^([a-z]+ ?)*$", "((a+)+)+c", "(a|b|ab)*(bc)+d"])
def test_expressions_that_make_a_backtracking_engine_explode_are_still_answered(pattern: str) -> None:
    """Nested repetitions take time that grows with the text, not with its power set."""
    assert compile_extended(pattern).find("a" * 200 + "!") is None


def test_recursion_of_perl_expressions_is_refused() -> None:
    """What Python's engine cannot do is an error, not another meaning."""
    with pytest.raises(RegexError):
        compile_perl(r"(a(?1)?b)")


# Anchors inside repetitions are left out: there GNU grep itself errs.
_LETTERS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "\\w", "[[:space:]]"])
_EXPRESSIONS = st.recursive(
    _LETTERS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: f"({'|'.join(options)})"),
        st.tuples(
            inner.filter(lambda e: e[-1] not in "^$<>b*+?}"), st.sampled_from(["*", "+", "?", "{1,2}"])
        ).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(150), deadline=None)
@given(_EXPRESSIONS, st.text("abc ", max_size=10))
def test_generated_expressions_find_what_grep_finds(pattern: str, text: str) -> None:
    """The lines and the first match are those of GNU grep."""
    found = compile_extended(pattern, newline="lines").find(text)
    status = real(["grep", "-qE", pattern], text.encode() + b"\n").status
    assert (found is not None) == (status == 0)
    printed = real(["grep", "-obE", pattern], text.encode() + b"\n").stdout.splitlines()
    position = 0
    ours: list[bytes] = []
    while (match := compile_extended(pattern, newline="lines").search(text, position)) is not None:
        if match[0]:
            ours.append(f"{match.start()}:{match[0]}".encode())
        position = max(match.end(), match.start() + (not match[0]))
        if position > len(text):
            break
    assert ours == printed
