"""Generates trees of files and commands about them, to be run in several shells that should agree.

Paths have missing parts, files and links in the middle, `.`, `..` and slashes at their ends. A link is not
named in its own target with something behind it: GNU's programs resolve such a path forever.
"""

from __future__ import annotations

import random
import re

__all__ = ["FileCommandGenerator"]

NAMES = "abcd"
LINKS = {
    "a": ["a", "b", "c/", "..", "b/c", "nope", "./d"],
    "b": ["b", "a", "c", "..", "c/d", "nope", "d/"],
    "c": ["c", "a", "d", "..", "d/a", "nope"],
    "d": ["d", "a/", "c", ".."],
}
TESTS = ["-e", "-f", "-d", "-L", "-s", "-r", "-x", "-h", "-w", "-O", "-p"]
PATTERNS = [
    "*", "*/", "*/*", "a*", "[ab]/*", ".*", "**/c", "{a,b}/?", "*/../*", "*/.", "./*", "**", "**/", "*/a/*", "a/**",
    "[!a]*", "*/[[:alpha:]]", "?/?/?", ".*/a", "a/../*", "*//*", "A*", "!(a)", "@(a|b)/*", "+([ab])", "!(a)/!(b)",
    "@(a|b)/", "!(*)", "*/@(a|c)",
]  # fmt: skip
#: Commands as templates: `@` is a path, `[-…]` may be left out, `{{…|…}}` is a choice.
COMMANDS = [
    "mkdir[-p][-v][-m 700] @[@]", "mkdir -p[-v][-m 711] @/x[@]", "rmdir[-p][-v][--ignore-fail-on-non-empty] @[@]",
    "rm[-r][-f][-d][-v] @[@]", "yes | rm[-d][-v] {{-i|-I|--interactive=once}} @[@][@][@]",
    "mv[-v][-n][-T][-f][-b][-u] @ @[@]", "mv[-v][-n] -t @ @[@]",
    "cp[-r][-v][-n][-f][-P][-L][-p][-H][-a][-d] @ @[@]", "cp[-v][-l][-s][-u][-b][--remove-destination][-f] @ @[@]",
    "cp {{-r|-a|-rv|-rL|-dR|-rl|-rT|-aT}} @ @", "cp[-v][-n] -t @ @[@]", "cp --parents[-r] @ @",
    "ln[-s][-f][-n][-v][-T][-b][-L][-P] @ @[@]", "ln -s[-f][-n][-v][-T][-r] @ @[@]", "ln[-s][-f][-v] -t @ @[@]",
    "ln[-s][-v] @", "link @ @", "unlink @", "touch[-c][-a][-h][-d 2001-02-03] @[@]", "touch -r @ @",
    "truncate {{-s 3|-s +2|-c -s 1|-s %4}} @[@]", "chmod[-c][-f] {{644|u+x|a-w|700|+x|u=rwx,go=}} @[@]",
    "install[-v][-D][-T][-m 600][-b] @ @[@]", "install -d[-v] @/x", "install[-v] -t @ @[@]",
    "tee[-a] @[@] <<< hi", "cat @[@]", "ls[-a][-A][-F][-p][-d][-R][-L][-H][-r][-Q] @[@]", "ls -F {{-H|-L|-dH|-dL}} @[@]",
    "readlink[-f][-e][-m][-v][-n] @[@]", "realpath[-s][-e][-m][-q][-L][-P] @[@]", "realpath {{-m|-s|-e|}} --relative-to=@ @",
    "stat[-L] -c '%n %N %F %A %a' @[@]", "test TESTS @", "test @ -ef @", "[[ @ -ef @ ]]",
    "find @[@][-maxdepth 1][-type d][-type f][-type l][-name 'a*'][-depth][-empty][-samefile a][-size +0]",
    "find @ {{-name a -prune -o -print|-type f -exec echo {} +|-type d -empty -delete|-execdir echo {} \\;|-ipath '*A'}}",
    "find @ {{-name b -delete -print|-regex '.*/[ab]'|-type l -exec readlink {} \\;|-type f,l|-printf '%p:%P:%f:%h:%y:%Y\\n'}}",
    "cd[-P][-L] @ && pwd && pwd -P && ls", "cd @; cd @; pwd; cd -; cd ..; pwd; pwd -P", "cd @ && cd .. && pwd",
    "pushd @ && pushd @; dirs -v; popd; {{popd|pushd|pushd +1|popd +1|dirs -l|dirs +0|popd -0|pushd -0}}; pwd",
    "{{:|shopt -s nullglob|shopt -s dotglob|shopt -s failglob|shopt -s globstar}}; echo PATTERNS x*",
    "GLOBIGNORE={{a|*/b|a:b}}; echo * */* .*", "basename @; dirname @; basename -a -s b @ @", "wc[-c][-l] @[@]",
    "head {{-1|-c 2|-n1 -v}} @[@]", "tail {{-1|-c 2|-n1 -v}} @[@]", "cmp[-s][-l][-b] @ @", "du[-a][-s] -b @ > /dev/null",
    "diff {{-rq|-r|-q||-rs|-s}} @ @", "tar cf - @ 2>&1 | tar tf -", "tar cf x.tar[-v] @[@]; rm x.tar", "file -b @",
    "sort @[@]", "uniq @ @", "split -b 2 @ @", "od -c @[@]", "comm @ @", "join @ @", "mktemp -u @/.XXXX > /dev/null",
    "echo hi {{>|>>|<|<>|&>}} @", "@", "@/x", "source @", "hash -p @ zz; type -p @ @", "tree -L 1 @ > /dev/null",
]  # fmt: skip


class FileCommandGenerator:
    """Makes cases from one source of random numbers."""

    def __init__(self, random: random.Random) -> None:
        self.random = random

    def tree(self) -> list[str]:
        """Commands that create some files."""
        lines: list[str] = []
        for name in NAMES:
            self._entry(lines, name, LINKS[name])
            if lines and lines[-1] == f"mkdir {name}" and self.random.random() < 0.5:
                for below in NAMES:
                    self._entry(lines, f"{name}/{below}", [below, "a", "../b", "..", "nope"])
        return lines

    def _entry(self, lines: list[str], path: str, targets: list[str]) -> None:
        kind = self.random.choice(["directory", "directory", "file", "link", "nothing"])
        if kind == "directory":
            lines.append(f"mkdir {path}")
        elif kind == "file":
            lines.append(f"printf %{self.random.randrange(9)}s > {path}")
        elif kind == "link":
            lines.append(f"ln -s {self.random.choice(targets)} {path}")

    def path(self) -> str:
        """The name of something that may be there, not above the working directory but by links."""
        parts: list[str] = []
        depth = 0
        for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])):
            part = self.random.choice([*NAMES, ".", ".."] if self.random.random() < 0.3 else NAMES)
            depth += {".": 0, "..": -1}.get(part, 1)
            if depth < 0:
                return self.random.choice(NAMES)
            parts.append(part)
        slash = "/" if self.random.random() < 0.15 else ""
        return self.random.choice(["", "", "", "", "", "", "./"]) + "/".join(parts) + slash

    def command(self) -> str:
        """One command line."""
        choose = self.random.choice
        text = re.sub(r"\{\{(.*?)\}\}", lambda match: choose(match[1].split("|")), choose(COMMANDS))
        text = re.sub(r"\[(-[^]]*|@)\]", lambda match: choose([" " + match[1], "", "", ""]), text)
        text = re.sub("@", lambda match: self.path(), text)
        return text.replace("TESTS", choose(TESTS)).replace("PATTERNS", choose(PATTERNS))
