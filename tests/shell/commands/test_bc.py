"""bc and dc beside GNU's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_data import ours, real, same


@pytest.mark.parametrize(
    "program",
    [
        "2^100; -2^2; 5%3; -5%3",
        "scale=4; 1/3; sqrt(2); 1.23456*2.3",
        ".5; -.5; 0.00; 1.50",
        "a=3; a; a++; --a; a+=2; (a=3)",
        "ibase=16; FF; ibase=A; obase=16; 255.5; obase=20; 399",
        "if (1) 2 else 3\nfor (i=0;i<3;i++) i",
        "define f(n) {\n if (n<=1) return (1);\n return (n*f(n-1));\n}\nf(20)",
        "define f(a[],n) { auto i,s; for(i=0;i<n;i++) s+=a[i]; return(s) }\nb[0]=1;b[1]=2\nf(b[],2)",
        'print "a",1,"\\n"; "hi"',
        "2^1000",
        "length(123.45); scale(1.234); last",
        "1/0\n2",
        "2+\n3",
    ],
)
def test_bc(program: str) -> None:
    """The language of bc gives GNU's output."""
    same(["bc"], program.encode() + b"\n")


@pytest.mark.parametrize(
    "call", ["e(1)", "e(-5.5)", "l(2)", "l(.001)", "s(1)", "c(-3)", "a(1)*4", "a(100)", "j(0,1)"]
)
@pytest.mark.parametrize("scale", [5, 20, 45])
def test_mathematics(call: str, scale: int) -> None:
    """The functions of `-l` agree to the last digit."""
    same(["bc", "-l"], f"scale={scale};{call}\n".encode())


numbers = st.decimals(-1000, 1000, allow_nan=False, places=3).map(str)


@given(numbers, st.sampled_from("+-*/%"), numbers, st.integers(0, 8), st.sampled_from([10, 2, 7, 16, 30]))
@settings(max_examples=40, deadline=None)
def test_arithmetic(one: str, operator: str, two: str, scale: int, base: int) -> None:
    """Every operation at every scale and base gives the digits of GNU bc."""
    program = f"scale={scale};obase={base};({one}){operator}({two})\n".encode()
    assert ours(["bc"], program).stdout == real(["bc"], program).stdout


@pytest.mark.parametrize(
    "program",
    [
        "1 2+p 2k 1 3/p",
        "7 2~f 2 3 5|p",
        "2k 2vp",
        "[hi]p [x]P 10P",
        "16o 255p",
        "5sa lap 1Sb 2Sb LbpLbp",
        "10 0:a 0;ap",
        "10[d1-d1<F*]dsFxp",
        "[3p]sa 1 2!>a 2 2=a",
        "[1p q 2p]x 3p",
        "[[1p 2Q 2p]x 3p]x 4p",
        "p + 1 0/p",
        "1 2 3 3Rf",
        "65ap 12345Zp 1.234Xp",
    ],
)
def test_dc(program: str) -> None:
    """The commands of dc give GNU's output."""
    same(["dc", "-e", program], stderr=True)
