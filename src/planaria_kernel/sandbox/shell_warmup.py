"""Scripts that are run before an image is captured, as cells of Python are (`warmup`).

The code of the shell and of the commands that scripts use most is specialised by then, in pages that all
sessions share.
"""

from __future__ import annotations

from planaria_kernel.sandbox.bash import SessionShell
from planaria_shell.compile.program import forget_programs

__all__ = ["warm_up"]

#: What scripts usually do. Nothing may depend on time or chance.
_SCRIPT = r"""
mkdir -p /tmp/warming/inner && cd /tmp/warming
total() { local sum=0 number; for number; do ((sum += number)); done; echo "$sum"; }
describe() { if [[ -f $1 && $1 == *.txt ]]; then return 0; else return 1; fi; }
set -e; set +e
for i in 1 2 3; do printf '%s name%d level=%s\n' "$i" "$i" info; done > lines.txt
echo 'more text here' >> lines.txt
cat lines.txt lines.txt > other.txt 2>/dev/null
while read -r number name rest; do x=${name%1}; y=${x##*n}; z=${rest//=/-}; done < lines.txt
for file in *; do describe "$file" || continue; [ -s "$file" ] && test -r "$file"; done
list=(a b c); list+=(d); declare -A map=([a]=1); map[b]=2; echo "${list[@]}" "${#map[@]}" "${map[b]:-none}"
i=0; while [ $i -lt 3 ]; do i=$((i + 1)); case $i in 1) :;; 2 | 3) true;; *) false;; esac; done
out=$(total 1 2 3); export NAME="value of $out"; unset NAME
grep -n 'name' lines.txt | cut -d: -f2 | sort -r | uniq -c | head -2 | wc -l
grep -rc level . | tail -1; grep -v nothing lines.txt | tr a-z A-Z | tee copy.txt | cat
sed -e 's/name\([0-9]\)/\1/g' -e '/x/d' lines.txt | awk '{ n[$1]++; s += NF } END { for (k in n) print k, s }'
awk -F= '$2 ~ /info/ { print $2 }' lines.txt; sort -k2,2n -t' ' lines.txt > sorted.txt
diff lines.txt sorted.txt; basename /a/b.txt; dirname /a/b
cp lines.txt inner/; mv inner/lines.txt inner/moved; touch inner/new; ls; ls -la inner
find . -name '*.txt' -type f | xargs wc -l; find . -type d; head -n 1 lines.txt; tail -n 1 lines.txt; date +%Y
cat <<END | jq -c '.items[] | {name}'
{"items": [{"name": "a", "size": 1}, {"name": "b"}]}
END
(cd inner; pwd) && { echo done; } || echo failed; missing 2>/dev/null; echo $? "$PWD" "$@" > /dev/null
cd ~; rm -rf /tmp/warming
"""


def warm_up(times: int) -> None:
    """Run the scripts so often, in a shell that is thrown away with all that it keeps."""
    shell = SessionShell(_ask)
    for number in range(times):
        shell.run(f"{_SCRIPT}: {number}\n")  # each time another text, so that it is parsed
    forget_programs()


def _ask(name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> object:
    raise LookupError(f"nothing answers {name}")
