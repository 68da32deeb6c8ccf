"""The shell beside /bin/bash and PyPI's bashkit: `python benchmarks/shell.py [CASE]...`.

Each case is one script. Ours runs in a live session in the sandbox, bash as a process for each run (which is how
programs use it), bashkit in its own interpreter, whose path is in PEER_PYTHON. Medians of three runs each in
both orders; ours is given in wall and in processor time.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import planaria

LINES = "".join(
    f"line {number} of the log level={'error' if number % 7 == 0 else 'info'}\n" for number in range(5000)
)
JSON = json.dumps([{"name": f"n{number}", "size": number * 7 % 101} for number in range(500)])
LONG_SCRIPT = "".join(
    f'f{number}() {{ local x=${{1:-{number}}}; if [[ $x == a* ]]; then echo "$x"; else : "${{x%%.*}}"; fi; }}\n'
    for number in range(2000)
)
FILES = "mkdir -p many; for i in {1..200}; do echo $i > many/f$i; done\n"

CASES = {
    "hello": "echo hi",
    "arithmetic loop": "s=0; for ((i = 0; i < 5000; i++)); do ((s += i * i % 7)); done; echo $s",
    "while loop": "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; echo $i",
    "conditions": "n=0; for i in {1..3000}; do if [[ $i == *7* && $i -gt 100 ]]; then n=$((n + 1)); fi; done; echo $n",
    "strings": 's=; for i in {1..3000}; do s+="item $i,"; done; echo ${#s}',
    "expansions": "for i in {1..2000}; do p=/a/b$i/c.tar.gz; x=${p##*/}; y=${x%%.*}; z=${p//b/d}; done; echo $x $y $z",
    "indexed array": 'a=(); for i in {1..3000}; do a+=($i); done; s=0; for x in "${a[@]}"; do ((s += x)); done; echo $s',
    "associative array": "declare -A m; for i in {1..3000}; do m[k$((i % 50))]=$i; done; echo ${#m[@]} ${m[k7]}",
    "functions": "f() { local a=$1; r=$((a + 1)); }; r=0; for i in {1..2000}; do f $r; done; echo $r",
    "recursion": "fib() { (($1 < 2)) && { r=$1; return; }; fib $(($1 - 1)); local a=$r; fib $(($1 - 2)); r=$((r + a)); }; "
    "fib 13; echo $r",
    "substitutions": "for i in {1..100}; do x=$(echo $i); done; echo $x",
    "case": "n=0; for i in {1..3000}; do case $i in *5) ((n++));; 1*) ((n += 2));; *) :;; esac; done; echo $n",
    "read loop": "n=0; while read -r a b rest; do ((n += b)); done < lines.txt; echo $n",
    "pipeline": "cat lines.txt | grep error | tr a-z A-Z | cut -d' ' -f2 | head -20 | wc -l",
    "many pipelines": "for i in {1..30}; do echo $i | tr 0-9 a-j | cat; done | tail -1",
    "grep": "grep -c 'level=error$' lines.txt; grep -n 'line 12[0-9]*5 ' lines.txt | tail -1",
    "sed": "sed -n 's/level=\\([a-z]*\\)/\\1!/p' lines.txt | tail -2",
    "awk": "awk '$NF ~ /error/ {n++; s += $2} END {print n, s}' lines.txt",
    "awk table": "awk '{c[$NF]++; l = length($0); if (l > m) m = l} END {for (k in c) print k, c[k]; print m}' lines.txt | sort",
    "sort": "sort -k2,2nr lines.txt | head -1; sort lines.txt | uniq | wc -l",
    "jq": "jq -c 'map(select(.size > 50)) | group_by(.size) | map({size: .[0].size, n: length}) | length' data.json",
    "files": 'for f in many/*; do [ -f "$f" ] && read -r x < $f; done; echo $x; find many -name "f1*" | wc -l',
    "make files": "mkdir -p t; for i in {1..100}; do echo $i > t/$i; done; cat t/* | wc -l; rm -r t",
    "parse 2,000 lines": LONG_SCRIPT + "f7 abc",
}
_RUNS = 5
_BASHKIT = """
import json, sys, time
import bashkit
for line in sys.stdin:
    script = json.loads(line)
    if script is None:
        shell = bashkit.Bash(max_commands=10**9, max_loop_iterations=10**9)
        continue
    began = time.perf_counter()
    result = shell.execute_sync(script)
    print(json.dumps([time.perf_counter() - began, result.stdout]), flush=True)
"""

Timed = tuple[float, float, str]


def ours(bash: planaria.Bash) -> Callable[[str], Timed]:
    def run(script: str) -> Timed:
        began, cpu = time.perf_counter(), time.thread_time()
        result = bash.execute(script)
        return time.perf_counter() - began, time.thread_time() - cpu, result.stdout

    return run


def real(directory: str) -> Callable[[str], Timed]:
    def run(script: str) -> Timed:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        words = ["-c", script]
        if len(script) > 100_000:  # more than an argument may hold
            words = ["script.sh"]
            with open(os.path.join(directory, "script.sh"), "w") as file:
                file.write(script)
        done = subprocess.run(
            ["/bin/bash", *words], cwd=directory, capture_output=True, text=True, check=False
        )
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, cpu, done.stdout

    return run


def bashkit(peer: subprocess.Popen[str]) -> Callable[[str], Timed]:
    def run(script: str) -> Timed:
        assert peer.stdin is not None
        assert peer.stdout is not None
        peer.stdin.write(json.dumps(script) + "\n")
        peer.stdin.flush()
        answer = peer.stdout.readline()
        if not answer:
            return math.nan, math.nan, ""
        seconds, output = json.loads(answer)
        return seconds, seconds, output

    return run


def main(names: list[str]) -> None:
    directory = tempfile.mkdtemp()
    bash = planaria.Bash()
    runners = {"ours": ours(bash), "bash": real(directory)}
    interpreter = os.environ.get("PEER_PYTHON")
    if interpreter:
        peer = subprocess.Popen(
            [interpreter, "-c", _BASHKIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        runners["bashkit"] = bashkit(peer)
    files = {"lines.txt": LINES, "data.json": JSON}
    for place, text in files.items():
        bash.files.write_text(place, text)
        with open(os.path.join(directory, place), "w") as file:
            file.write(text)
    runners["ours"](FILES)
    runners["bash"](FILES)
    print(f"{'':20}{'ours ms':>9}{'cpu':>9}{'bash ms':>9}{'cpu':>9}{'ratio':>7}{'cpu':>7}{'bashkit ms':>12}")
    ratios: list[float] = []
    for name, script in CASES.items():
        if names and name not in names:
            continue
        if (
            interpreter
        ):  # a new one for each case: it counts over its whole life and stops at limits of its own
            assert peer.stdin is not None
            peer.stdin.write("null\n")
            for place, text in files.items():
                runners["bashkit"](f"cat > {place} <<'END_OF_FILE'\n{text}END_OF_FILE\n")
            runners["bashkit"](FILES)
        runs: dict[str, list[Timed]] = {kind: [] for kind in runners}
        for round_number in range(_RUNS):
            order = list(runners) if round_number % 2 == 0 else list(reversed(runners))
            for kind in order:
                # The text differs from round to round, so that the first of three has to parse it; and the one
                # of a case that is about parsing.
                again = 100 if script == "echo hi" else 1 if name.startswith("parse") else 3
                runs[kind] += [runners[kind](f"{script} # {round_number}") for _ in range(again)]
        if runs["ours"][0][2] != runs["bash"][0][2]:
            print(f"{name}: ours printed {runs['ours'][0][2]!r}, bash {runs['bash'][0][2]!r}")
        medians = {
            kind: tuple(statistics.median(one[place] for one in found) * 1e3 for place in (0, 1))
            for kind, found in runs.items()
        }
        (wall, cpu), (bash_wall, bash_cpu) = medians["ours"], medians["bash"]
        ratios.append(wall / bash_wall)
        other = ""
        if interpreter:
            same = all(run[2] == runs["bash"][0][2] for run in runs["bashkit"])
            other = f"{medians['bashkit'][0]:12.2f}" if same else f"{'(differs)':>12}"
        print(
            f"{name:20}{wall:9.2f}{cpu:9.2f}{bash_wall:9.2f}{bash_cpu:9.2f}{wall / bash_wall:7.2f}"
            f"{cpu / max(bash_cpu, 1e-3):7.2f}{other}",
            flush=True,
        )
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"geometric mean of the ratios {mean:.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
