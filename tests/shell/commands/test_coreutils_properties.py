"""Laws of the commands on generated input, beside the real commands."""

from __future__ import annotations

import subprocess

import pytest
from harness import BytesInput, BytesOutput, NativeProcess, ours, real
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria_shell.state.command import COMMANDS

pytestmark = pytest.mark.slow

few = settings(max_examples=30, deadline=None)

lines = st.lists(st.text("ab AB01.,-\t\x01é", max_size=12), max_size=12).map(
    lambda found: "".join(line + "\n" for line in found).encode()
)
keys = st.builds(
    lambda first, dot, last, options: f"-k{first}{dot}{options}{last}",
    st.integers(1, 3),
    st.sampled_from(["", ".1", ".2"]),
    st.sampled_from(["", ",1", ",2", ",3.1", ",2.0", ",2b"]),
    st.sampled_from(["", "n", "r", "b", "f", "nr", "g", "h", "V", "d", "i", "M", "bf"]),
)


def agree(argv: list[str], stdin: bytes = b"") -> None:
    expected, got = real(argv, stdin), ours(argv, stdin)
    assert (got.stdout, got.status) == (expected.stdout, expected.status), argv


@few
@given(
    data=lines,
    order=st.lists(keys, max_size=2),
    flags=st.lists(st.sampled_from(["-r", "-u", "-s", "-f", "-b", "-n", "-t,"]), max_size=2, unique=True),
)
def test_sort_orders_as_the_real_command(data: bytes, order: list[str], flags: list[str]) -> None:
    """Any keys and flags give the lines in the same order."""
    agree(["sort", *flags, *order], data)


@few
@given(data=lines, kind=st.sampled_from("nghVMdif"))
def test_sort_orders_whole_lines_of_each_kind(data: bytes, kind: str) -> None:
    """Each kind of comparison orders generated lines as the real command does."""
    agree(["sort", f"-{kind}"], data)


positions = st.lists(
    st.one_of(
        st.integers(1, 6).map(str),
        st.tuples(st.integers(1, 6), st.integers(1, 6)).map(lambda pair: f"{min(pair)}-{max(pair)}"),
        st.integers(1, 6).map(lambda first: f"{first}-"),
        st.integers(1, 6).map(lambda last: f"-{last}"),
    ),
    min_size=1,
    max_size=3,
).map(",".join)


@few
@given(
    data=lines,
    ranges=positions,
    how=st.sampled_from([["-b"], ["-c"], ["-d,", "-f"], ["-f"], ["-s", "-d.", "-f"]]),
    more=st.sampled_from([[], ["--complement"], ["--output-delimiter=:"]]),
)
def test_cut_takes_the_same_parts(data: bytes, ranges: str, how: list[str], more: list[str]) -> None:
    """Any list of ranges cuts the same bytes or fields."""
    agree(["cut", *more, *how[:-1], how[-1] + ranges], data)


sets = st.one_of(
    st.text("abcxyz019", min_size=1, max_size=5),
    st.sampled_from(
        ["a-z", "A-Z", "0-9", "[:lower:]", "[:upper:]", "[:digit:]x", "\\n", "\\141b", "a-c1-3", "[x*]"]
    ),
)


@few
@given(data=lines, first=sets, second=sets, flags=st.sampled_from([[], ["-s"], ["-c"], ["-t"], ["-cs"]]))
def test_tr_translates_as_the_real_command(data: bytes, first: str, second: str, flags: list[str]) -> None:
    """Any two sets translate, squeeze or are refused alike."""
    agree(["tr", *flags, "--", first, second], data)


@few
@given(data=lines, first=sets, flags=st.sampled_from(["-d", "-s", "-cd", "-cs"]))
def test_tr_deletes_and_squeezes_as_the_real_command(data: bytes, first: str, flags: str) -> None:
    """Deleting and squeezing one set does the same."""
    agree(["tr", flags, "--", first], data)


decimals = st.decimals(-50, 50, places=2).map(lambda number: f"{number.normalize():f}")


@few
@given(
    first=decimals,
    step=decimals.filter(lambda text: abs(float(text)) >= 0.2),
    last=decimals,
    flags=st.sampled_from([[], ["-w"], ["-s:"], ["-f%.2f"]]),
)
def test_seq_counts_exactly(first: str, step: str, last: str, flags: list[str]) -> None:
    """Whole and decimal sequences have the numbers and the digits of the real ones."""
    agree(["seq", *flags, "--", first, step, last])


@few
@given(
    number=st.integers(-(10**12), 10**12),
    target=st.sampled_from(["si", "iec", "iec-i", "none"]),
    rounding=st.sampled_from(["up", "down", "from-zero", "towards-zero", "nearest"]),
)
def test_numfmt_scales_and_rounds_as_the_real_command(number: int, target: str, rounding: str) -> None:
    """Every scale and rounding gives the same text."""
    agree(["numfmt", f"--to={target}", f"--round={rounding}", "--", str(number)])


@few
@given(
    number=st.integers(1, 10**6),
    suffix=st.sampled_from(["", "K", "M", "Ki", "G", "x"]),
    kind=st.sampled_from(["si", "iec", "auto", "iec-i"]),
)
def test_numfmt_reads_suffixes_as_the_real_command(number: int, suffix: str, kind: str) -> None:
    """Every suffix is read or refused alike."""
    agree(["numfmt", f"--from={kind}", f"{number}{suffix}"])


expressions = st.recursive(
    st.one_of(
        st.integers(-20, 20).map(lambda number: [str(number)]), st.sampled_from([["abc"], ["0"], [""]])
    ),
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(["+", "-", "*", "/", "%", "<", "<=", "=", "!=", ">=", ">", "&", "|"]),
            inner,
        ).map(lambda parts: [*parts[0], parts[1], *parts[2]]),
        inner.map(lambda words: ["(", *words, ")"]),
        st.tuples(inner, st.sampled_from(["a.*", "\\(.\\)", "[0-9]*"])).map(
            lambda parts: [*parts[0], ":", parts[1]]
        ),
    ),
    max_leaves=6,
)


@few
@given(words=expressions)
def test_expr_evaluates_as_the_real_command(words: list[str]) -> None:
    """Any expression has the same value and status."""
    agree(["expr", *words])


@few
@given(data=lines, width=st.integers(1, 20), flags=st.sampled_from([[], ["-s"], ["-b"]]))
def test_fold_breaks_lines_as_the_real_command(data: bytes, width: int, flags: list[str]) -> None:
    """Lines are broken at the same columns."""
    agree(["fold", *flags, f"-w{width}"], data)


@few
@given(words=st.lists(st.text("ab.,?()", min_size=1, max_size=9), max_size=60), width=st.integers(12, 60))
def test_fmt_fills_paragraphs_as_the_real_command(words: list[str], width: int) -> None:
    """The breaks of a paragraph are those of least cost."""
    agree(["fmt", f"-w{width}"], (" ".join(words) + "\n").encode())


@few
@given(data=st.binary(max_size=200), wrap=st.sampled_from(["-w0", "-w7", "-w76"]))
def test_encodings_come_back(data: bytes, wrap: str) -> None:
    """What is encoded is what the real command encodes, and decodes to what it was."""
    for name in ("base64", "base32"):
        agree([name, wrap], data)
        assert ours([name, "-d"], ours([name, wrap], data).stdout).stdout == data


@pytest.mark.parametrize(
    "argv", [["yes"], ["seq", "inf"], ["cat", "/dev/zero"], ["shuf", "-r", "-e", "x"], ["tr", "a", "b"]]
)
def test_a_command_without_end_stops_where_its_output_is_full(argv: list[str]) -> None:
    """An endless command yields when its output is full, having written a bounded amount."""

    class Full(BytesOutput):
        def write(self, data: bytes) -> None:
            self.data += data
            self.full = True

    class Endless(BytesInput):
        def chunks(self):  # type: ignore[no-untyped-def]
            while True:
                yield b"aaaa" * 4096

    out = Full()
    process = NativeProcess(argv, stdin=Endless(b""), stdout=out)
    running = COMMANDS[argv[0]](process)  # type: ignore[arg-type]
    assert not isinstance(running, int)
    next(running)
    assert 0 < len(out.data) <= 1 << 18
    running.close()


def test_large_inputs_are_not_quadratic() -> None:
    """Two hundred thousand numbers pass through sort, uniq, cut, tr and wc in one go."""
    data = b"".join(b"%d,x\n" % (number * 7919 % 1_000_003) for number in range(200_000))
    expected = subprocess.run(
        "sort -t, -k1,1n | uniq | cut -d, -f1 | tr 0-9 a-j | wc",
        shell=True,
        input=data,
        capture_output=True,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        check=True,
    ).stdout
    for argv in (["sort", "-t,", "-k1,1n"], ["uniq"], ["cut", "-d,", "-f1"], ["tr", "0-9", "a-j"], ["wc"]):
        data = ours(argv, data).stdout
    assert data == expected


def test_output_and_messages_stay_in_order() -> None:
    """What was printed before a message comes before it when both go to one place."""
    out = BytesOutput()
    process = NativeProcess(["cat", "-n", "/etc/hostname", "/nope"], stdout=out, stderr=out)
    process.execute()
    assert bytes(out.data).index(b"     1\t") < out.data.index(b"cat: /nope")
