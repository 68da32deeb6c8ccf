"""Which unknown commands are taken for misspelled ones."""

from __future__ import annotations

import pytest

from planaria_shell.run.suggestions import is_misspelling


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("grpe", "grep"),
        ("GREP", "grep"),
        ("gerp", "grep"),
        ("gre", "grep"),
        ("greep", "grep"),
        ("lss", "ls"),
        ("catt", "cat"),
        ("sde", "sed"),
        ("pythom", "python"),
        ("heda", "head"),
        ("mkdri", "mkdir"),
    ],
)
def test_a_slip_of_the_fingers_is_a_misspelling(word: str, name: str) -> None:
    """Letters changed over, doubled, left out or put in are a misspelling of the command."""
    assert is_misspelling(word, name)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("ls", "ls"),
        ("tox", "top"),
        ("ack", "awk"),
        ("rsync", "sync"),
        ("jest", "test"),
        ("zsh", "ssh"),
        ("bat", "cat"),
        ("node", "nice"),
        ("NOSUCH", "nohup"),
        ("nosuch", "nohup"),
        ("env", "envsubst"),
        ("", "ls"),
        ("[", "ls"),
    ],
)
def test_the_name_of_another_program_is_no_misspelling(word: str, name: str) -> None:
    """A name that differs as two programs' names do is not taken for a misspelled one, nor the name itself."""
    assert not is_misspelling(word, name)
