"""tar, in sequences of commands beside the real ones of this machine."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from harness import ours, real, same_sequence

#: Commands separated by `;;`; one after `!` is the real one in both places.
SEQUENCES = """
tar cf x.tar a dir ;; tar tf x.tar ;; tar tvf x.tar ;; mkdir o ;; tar xf x.tar -C o
! tar cf x.tar a dir link ;; tar tvf x.tar ;; mkdir o ;; tar xvf x.tar -C o
! tar czf x.tgz a dir link ;; tar tvf x.tgz ;; tar xzvf x.tgz -C dir
tar -czvf x.tgz a dir ;; ! tar tzf x.tgz ;; tar tf x.tgz
tar -cjf x.tar.bz2 a dir ;; ! tar tjf x.tar.bz2 ;; tar tf x.tar.bz2
tar -cJf x.tar.xz a dir ;; ! tar tJf x.tar.xz ;; tar tf x.tar.xz
tar -caf x.tar.gz a ;; ! gzip -t x.tar.gz
tar cvvf x.tar a link dir/f1
! tar cf x.tar a dir ;; tar xf x.tar nope ;; tar tf x.tar dir/sub ;; tar tf x.tar a nope
! tar cf x.tar dir ;; mkdir o ;; tar xf x.tar -C o --strip-components=1
! tar cf x.tar dir ;; mkdir o ;; tar xf x.tar -C o --exclude=sub
tar cf x.tar --exclude='f*' dir ;; ! tar tf x.tar
tar cf x.tar nope a ;; ! tar tf x.tar
tar cf x.tar
tar
tar tf nope.tar
tar tf a
tar cf x.tar -C dir f1 sub ;; ! tar tf x.tar
! tar cf x.tar a b ;; tar xOf x.tar a ;; tar xOf x.tar
! tar cf x.tar a ;; tar rf x.tar b ;; ! tar tf x.tar ;; tar tf x.tar
! tar cf x.tar a ;; tar uf x.tar a b ;; ! tar tf x.tar
tar cf x.tar a --transform='s/a/z/' ;; ! tar tf x.tar
! tar cf x.tar a dir ;; mkdir o ;; tar xf x.tar -C o --transform 's,dir,new,' -v
! tar cf x.tar a ;; tar xkf x.tar ;; tar xf x.tar --skip-old-files
tar cf x.tar dlink ;; ! tar tvf x.tar
tar chf x.tar dlink ;; ! tar tvf x.tar
tar cf x.tar --owner=foo:5 --group=bar:6 --mode=600 a ;; ! tar tvf x.tar
tar cf x.tar --mtime=2020-01-01 a ;; ! tar tvf x.tar
tar cf x.tar 'x y' ;; tar tf x.tar ;; tar xf x.tar
tar cf x.tar ./a ./dir ;; ! tar tf x.tar ;; tar tf x.tar ./a
! tar cf x.tar a ;; tar xzf x.tar
tar xf
tar -x -c -f x
tar df x.tar
! tar cf x.tar a ;; tar df x.tar
tar cf x.tar --wildcards a b ;; tar xf x.tar --wildcards '[a]'
! tar cf x.tar --no-recursion dir ;; tar tf x.tar
tar cf x.tar --no-recursion dir ;; ! tar tf x.tar
tar --foo
tar cf x.tar -T b ;; ! tar tf x.tar
tar cf nope/x.tar a
tar xf x.tar -C nope
tar cf x.tar --remove-files a ;; ! tar tf x.tar
tar cf x.tar --remove-files dir ;; ! tar tf x.tar ;; ! ls dir
tar cf x.tar --sort=name dir ;; ! tar tf x.tar
tar cf x.tar broken ;; ! tar tvf x.tar ;; tar xf x.tar
""".strip().splitlines()


@pytest.mark.parametrize("line", SEQUENCES)
def test_tar_does_what_the_real_commands_do(line: str, tmp_path: Path) -> None:
    """Archives go both ways between ours and the real tar, with the same output and the same files."""
    same_sequence(line, tmp_path)


def _archive(place: Path, *members: tarfile.TarInfo) -> Path:
    path = place / "evil.tar"
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def _member(name: str, link: str | None = None) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = 0 if link else 3
    if link:
        member.type, member.linkname = tarfile.SYMTYPE, link
    return member


def test_a_member_named_upwards_is_refused(tmp_path: Path) -> None:
    """A name with `..` is not extracted, and the status is 2."""
    _archive(tmp_path, _member("../up"), _member("good"))
    (tmp_path / "o").mkdir()
    outcome = ours(["tar", "xf", "../evil.tar"], cwd=tmp_path / "o")
    assert outcome.status == 2
    assert not (tmp_path / "up").exists()
    assert (tmp_path / "o" / "good").read_bytes() == b"xxx"


def test_a_member_is_not_written_through_a_link_that_leads_out(tmp_path: Path) -> None:
    """A symbolic link that leads out is made last, so a member below its name stays inside."""
    _archive(tmp_path, _member("l", "../outside"), _member("l/file"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "o").mkdir()
    ours(["tar", "xf", "../evil.tar"], cwd=tmp_path / "o")
    assert not list((tmp_path / "outside").iterdir())


def test_an_absolute_name_loses_its_slash(tmp_path: Path) -> None:
    """The leading `/` of a member's name is removed with a message, when made and when extracted."""
    (tmp_path / "f").write_text("x")
    for run in (real, ours):
        outcome = run(["tar", "cf", "-", str(tmp_path / "f")])
        assert outcome.stderr == b"tar: Removing leading `/' from member names\n"
        assert tarfile.open(fileobj=io.BytesIO(outcome.stdout)).getnames() == [str(tmp_path / "f")[1:]]
