"""zip and unzip, in sequences of commands beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import same_sequence

#: Commands separated by `;;`; one after `!` is the real one in both places.
SEQUENCES = """
zip x.zip a b nums ;; ! unzip -l x.zip ;; unzip -l x.zip ;; unzip -v x.zip
zip -r x.zip dir ;; ! unzip -l x.zip ;; unzip -d o x.zip
! zip x.zip a nums ;; unzip -t x.zip ;; unzip -p x.zip a ;; unzip x.zip nope ;; unzip -o x.zip a
! zip -r x.zip dir a nums ;; zipinfo -1 x.zip ;; zipinfo x.zip ;; unzip -d o x.zip
! zip -r x.zip dir a ;; unzip -j x.zip -d o ;; unzip x.zip -x a -d q
! zip -r x.zip dir a b ;; zipinfo x.zip a ;; unzip -Z x.zip ;; unzip -c x.zip a
zip -r x.zip dir ;; ! unzip -l x.zip ;; unzip -d o x.zip
zip -q x.zip a ;; zip x.zip a ;; zip x.zip nope ;; zip y.zip nope ;; zip -d x.zip a
zip -j x.zip dir/f1 dir/f2 ;; ! unzip -l x.zip
zip -ry x.zip dlink link a ;; ! unzip -l x.zip ;; ! unzip -Z1 x.zip
zip -r x.zip dir -x 'dir/f*' ;; ! unzip -l x.zip
unzip nope ;; unzip a ;; unzip -l a
zip -9 x.zip nums ;; zip -0 x.zip nums ;; ! unzip -v x.zip
zip -m x.zip a ;; ! unzip -l x.zip
! zip x.zip a ;; unzip x ;; unzip -qq -l x
zip -u x.zip a ;; zip -u x.zip a b
""".strip().splitlines()


@pytest.mark.parametrize("line", SEQUENCES)
def test_zip_does_what_the_real_commands_do(line: str, tmp_path: Path) -> None:
    """Archives go both ways between ours and Info-ZIP, with the same words."""
    same_sequence(line, tmp_path)
