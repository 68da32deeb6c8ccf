"""Generates command lines of text tools about a few small files, to be run in several shells that should agree."""

from __future__ import annotations

import random
import re

__all__ = ["SETUP", "TextCommandGenerator"]

SETUP = r"""printf 'banana 3 x\napple 10 y\ncherry 2 z\nApple 10 y\nbanana 3 x\n\n  date 07\n' > f1
printf 'id,name,qty\n3,foo,10\n1,bar,,\n2,"q z",7\n10,Foo,1e2\n' > f2
printf 'a:1:x\nb:22:y\n c:3:\n:::\nd\n' > f3
printf 'a 1\nb 2\nc 3\ne 5\ng 7\n' > f4
printf 'a one\nb 2\nd four\ne 5\nf six\n' > f5
printf '\ta\n  b\t c\n        d\n\t\te f\n    g   h  \n' > f6
printf 'ab\0cde\0\377\376hello world\0\001\002xyz' > f7
printf 'a b\nb c\nd a\n' > f8
printf 'no newline at end' > f9
"""
#: Commands as templates: FILE is a name, SET characters for tr, LIST fields for cut; `[-…]` may be left out,
#: `{{…|…}}` is a choice.
COMMANDS = [
    "sort[-n][-r][-u][-f][-b][-d][-i][-s] FILE", "sort[-g][-r][-u] FILE",
    "sort -t {{,|:|' '}} -k {{1|2|3}}{{|n|r|nr|f|b|d}}[-s][-u] FILE",
    "sort -k {{1.2|2.2|1,1|2,2|2.1,2.2|1.2,1.3|2,3|2nr,2|1,1f|2b,3n}}[-k 1r][-k 2,2n][-s] FILE",
    "sort -k {{0|1.0|x|1,|1.x|-1|2,1|1,1.0}} FILE", "sort[-c][-C][-u][-n][-r] FILE", "sort -m FILE FILE",
    "sort[-z] FILE", "sort -o o FILE && cat o",
    "sort "
    "--{{key=2|reverse|numeric-sort|unique|check|check=quiet|check=silent|merge|sort=numeric|sort=version|sort=x|parallel=2|field-separator=,|zero-terminated|stable|ignore-case|batch-size=2}} "
    "FILE",
    "uniq[-c][-d][-i][-u] FILE", "uniq[-c][-D][-f 1][-s 1][-w 2] FILE",
    "uniq "
    "{{--all-repeated=separate|--all-repeated=prepend|--group|--group=both|--group=append|--group=x|-D "
    "-c|--group -c|-z}} FILE",
    "uniq -{{f|s|w}} {{0|1|3|x|-1}} FILE", "cut -{{c|b|f}} LIST[-s] FILE",
    "cut -{{c|b}} LIST[--complement][--output-delimiter=_] FILE", "cut -d, FILE", "cut -f 1 -c 1 FILE",
    "cut -z -f 1 FILE",
    "paste[-s] [-d ,]{{|-d ':,'|-d '\\\\n'|-d '\\\\0'|-d ''|-d '\\\\t\\\\\\\\'}} FILE FILE",
    "paste - - < FILE", "paste -d, - FILE < FILE", "paste[-s] FILE FILE FILE",
    "comm[-1][-2][-3][--total][--check-order][--nocheck-order][--output-delimiter=:] f4 f5",
    "comm[-12][-3] FILE FILE", "join[-a 1][-a 2][-v 1][-e X][-i] f4 f5",
    "join -o {{1.1,2.2|0,1.2|auto|1.1|'0 1.1'|x|3.1|1.0}}[-a 1][-a2][-e -] f4 f5",
    "join[--header][--check-order][--nocheck-order] f4 f5", "tr[-d] SET < FILE",
    "tr[-s][-c][-C] SET SET < FILE", "tr -s SET < FILE", "tr -ds SET SET < FILE",
    "tr[-d][-s] SET SET < FILE",
    "head {{-n 2|-n -2|-c 5|-c -5|-1|-3c|-n 0|-n x|-c 1k|-n +2|-q|-v|-z|-n 1K|-c 2b|-n "
    "99999999999999999999|-n}} FILE[FILE]",
    "tail {{-n 2|-n +2|-c 5|-c +5|-1|+2|-n 0|-n +0|-c +0|-n x|-q|-v -n 1|-c 1k|-n -2|-c -3|-z -n "
    "1|-r}} FILE[FILE]",
    "nl[-b a][-b t][-b n][-b pa][-n ln][-n rz][-w 3][-s :][-v 5][-i 2][-l 2][-p][-h a][-f a] FILE",
    "nl -{{b|n|w|i|s|d|l|v|h|f}} {{a|x|0|-1|ln|rz|'p^a'|5}} FILE", "fold[-s][-b] -w {{5|10|1|3|0|x}} FILE",
    "fold {{-3|-s|-sw 8|--width=4|-w}} FILE",
    "expand[-i]{{|-t 4|-t 2,6|-4|-t 2,/4|-t 3,+2|-t x|-t 0|-t 4,2}} f6",
    "unexpand[-a][--first-only]{{|-t 4|-t 2,6|-4|-t 3,/4}} f6",
    "tac[-b][-r]{{|-s ,|-s a|-s ''|-rs '[0-9]'}} FILE", "wc[-l][-w][-c][-m][-L] FILE[FILE]",
    "wc[-l] FILE FILE < /dev/null",
    "od[-A n][-A d][-A x][-A o][-v]{{|-c|-x|-b|-d|-o|-a|-i|-s|-l|-t x1|-t x1z|-t d2|-t u4|-t o1|-t "
    "c|-t a|-t x8|-t f4|-t fD|-t x1c|-tx1 -tc|-t d3|-t z|-f}}{{|-j 3|-N 5|-j 2 -N "
    "4|-w4|-w8|-w|-w3|-S 3|-j 999999|-N 0|-j x}} FILE",
    "od --endian={{big|little|x}} -t x{{2|4}} FILE", "xxd -p FILE | xxd -r -p", "base64[-w 10][-w 0] FILE",
    "base32[-w 10] FILE", "base64 FILE | base64 -d",
    "echo {{aGVsbG8=|aGVsbG8|'aGV sbG8='|a*b|''|====|aGVsbG8=Zg==}} | base64 -d[-i]",
    "md5sum[-b][--tag][-z] FILE[FILE]",
    "sha256sum[--tag] FILE; sha1sum FILE; sha512sum FILE; sha224sum FILE; sha384sum FILE; b2sum "
    "FILE; b2sum -l 128 FILE",
    "cksum[-a md5][-a crc][-a sysv][-a bsd][-a sha256][--untagged][--tag] FILE", "sum[-r][-s] FILE[FILE]",
    "md5sum FILE FILE > sums; md5sum -c[--quiet][--status][--strict][-w] sums; sed 's/^./0/' sums | "
    "md5sum -c[--quiet][--status] -",
    "split -{{l 2|b 7|C 8|n 3|n l/2|n r/2|n 2/3|n l/1/2|l 0|b 0|n 0|n x|t : -l 1}}[-d][-a "
    '3][--additional-suffix=.t][-e][-x] FILE pre; for x in pre*; do echo "= $x"; cat $x; done; rm -f '
    "pre*",
    "seq[-w][-s ,][-f %g]{{|-f %03g|-f '%.2f'|-f %x|-f %5.1e|-f a|-f '%%%g'|-f '%g%g'}} {{5|1 5|1 2 "
    "9|5 1|5 -2 1|0.5 2|1 .5 3|-1 1|1e2 101|x|1 0 5|1 x|0x10 18|-w 8 11|1.0 2|.1 .1 .5|9 11|-5 5 "
    "10|1 2 3 4||inf 1|1 nan|10 -3 -5|-s ' ' 3|--help-x|1.20 1.25 3}}",
    "numfmt {{--to=si|--to=iec|--to=iec-i|--from=si --to=none|--from=iec|--from=auto|--to=x}} "
    "{{1000|1024|1500000|999|1K|1Ki|1.5M|x|-5|0|1e3|123456789012345|''|12x|9999}}",
    "factor {{12|97|1|0|x|123456789|-5|'' |1e3|2 3 4|18446744073709551617}}", "tsort {{f8|f1|f9}}",
    "dd if=FILE {{bs=3|bs=2 count=2|skip=1 "
    "bs=2|count=0|bs=x|conv=ucase|conv=swab|conv=lcase,noerror|bs=4 conv=sync|cbs=5 "
    "conv=block|seek=1 of=o bs=1|conv=x|status=none|foo=1|iflag=count_bytes count=3}} 2>&1 | grep -v "
    "copied",
    "diff[-u][-c][-i][-w][-b][-B][-q][-s][-y][-e][-n][-N] f4 f5 | sed 's/\\t20.*//'",
    "diff -c f4 f5 > p; cp f4 q; patch q < p; cat q",
    "diff f4 f5 > p; cp f4 q; patch q p; cat q; patch -R q p; cmp q f4",
    "cmp {{-i 1:2|-n 0|-i x|--bytes=3|--ignore-initial=1:0}} FILE FILE",
    "{{od -c|od -x|xxd|base64|wc|cat -v|md5sum|strings -n 2|sha1sum|cut -b 3-|head -c 5|tail -c 4|tr "
    "-d ab|cksum}} f7",
    "xargs[-n 2][-t][-r] echo {} < FILE",
    "xargs {{-n 1 echo a|-I % echo a%b|-L 2 echo|-d , echo|-n 0 echo|-n x|-E b echo|-a f1 echo|-n1 "
    "false|nosuch|-n 3 printf '<%s>\\n'}} < FILE",
    "column -t[-s ,][-s :][-R 1][-N a,b] FILE", "column[-x][-c 40] FILE",
    "xxd[-u][-l 8][-s 3][-c 8][-g 1] FILE", "xxd {{-p|-b|-i}}[-l 8][-s 3] FILE",
    "hexdump {{-C|-c|-x|-b|-d|-o}}[-v][-n 10] FILE", "fmt[-u]{{|-w 10|-w 20|-15|-p a}} FILE",
    "csplit -s FILE {{/b/|2|'/b/+1'|2 4}}; cat xx* 2>/dev/null; rm -f xx*",
    "diff -U 1[-i][-w][-b][-B] FILE FILE | sed 's/\\t20.*//'", "diff[-q][-s][-y][-n][-N] FILE FILE",
    "diff -u f4 f5 > p; cp f4 q; patch -s q p; cat q",
    "date -u -d {{@0|@1700000000|'2024-02-29'|'2024-01-31 +1 month'|'2024-03-10 12:34:56'|'1 Jan "
    "2024'|20240101|12/25/2024|2024-13-01|'2024-01-01 1 week'|'last friday 2024-01-10'}} "
    "{{+%F|+%s|+%FT%T%:z|+%c|+%j-%U-%V-%u|+%e-%k-%I-%p|+%D-%R-%r|-R|-Iseconds|--rfc-3339=seconds}}",
]  # fmt: skip
FILES = [
    "f1", "f2", "f3", "f4", "f5", "f6", "f8", "f9", "nofile",
]  # fmt: skip
SETS = [
    "a-z", "A-Z", "a-f", "'[:upper:]'", "'[:lower:]'", "'[:digit:]'", "'[:space:]'", "'\\n'", "' '", "abc",
    "x", "'[:alpha:]'", "'[:punct:]'", "a-c0-2", "'[a*]'", "'\\t '", "'[:alnum:]'", "é", "'a-z '",
    "'[b*2]c'", "'[=a=]'", "'\\141'", "',:'",
]  # fmt: skip
LISTS = [
    "1", "2", "1-2", "2-", "-2", "1,3", "3,1", "1-3,2", "0", "x", "1-", "5-3", "1,,2", "-", "'1 2'", "4-",
    "2-2", "1,3-", "99",
]  # fmt: skip


class TextCommandGenerator:
    """Makes commands from one source of random numbers."""

    def __init__(self, random: random.Random) -> None:
        self.random = random

    def command(self) -> str:
        """One command line."""
        choose = self.random.choice
        text = re.sub(r"\{\{(.*?)\}\}", lambda match: choose(match[1].split("|")), choose(COMMANDS))
        text = re.sub(r"\[(-[^]]*|FILE)\]", lambda match: choose([" " + match[1], "", ""]), text)
        for mark, values in (("FILE", FILES), ("SET", SETS), ("LIST", LISTS)):
            text = re.sub(rf"\b{mark}\b", lambda match, values=values: choose(values), text)  # type: ignore[misc]
        return text
