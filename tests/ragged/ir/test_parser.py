"""What the parser refuses, with the whole message; and that it refuses whatever is no program."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.errors import InternalError, ModelError
from ragged.ir.equal import difference
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.stmt import Store
from ragged.ir.verify import verify

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
HEAD = 'program("p")\nrows: input()\nh: output(float32[rows])\nwith kernel:\n'
REFUSED = {
    "": 'no program: it does not begin with its name\n  at p.txt:1\n  fix: program("name")',
    "program(1)": 'no program: it does not begin with its name\n  at p.txt:1\n  fix: program("name")',
    'program("p")\n\nwith kernel\n': "no program: expected ':'\n  at p.txt:3",
    'program("p")\nrows: structures()\n': "'rows: structures()' declares nothing\n  at p.txt:2",
    'program("p")\nh: output()\n': "'h: output()' declares nothing\n  at p.txt:2",
    'program("p")\nh: output(float8[2])\n': "'h: output(float8[2])' declares nothing\n  at p.txt:2",
    'program("p")\nh: output(float32[2], order=(0, 1))\n': (
        "buffer 'h': (0, 1) does not permute its dimensions\n  at p.txt:2"
    ),
    'program("p")\nh: output(float32[2], scope=heap)\n': (
        "'heap' is none of global, shared, register\n  at p.txt:2"
    ),
    'program("p")\nh: output(float32[2], size=2)\n': "'output' takes no 'size='\n  at p.txt:2",
    'program("p")\nh: output(float32[2], align="8")\n': "''8'' is no whole number\n  at p.txt:2",
    'program("p")\nh: output(float32[2], dims=(N, N))\n': "'h' has 1 dimensions to name\n  at p.txt:2",
    'program("p")\nh: output(float32[2], dims=(2,))\n': "'2' is no name of a dimension\n  at p.txt:2",
    'program("p")\nh: output(float32[2]) = facts()\n': (
        "'h' is a buffer, and facts are about functions\n  at p.txt:2"
    ),
    'program("p")\nf: input()\nf: input()\n': (
        "the name 'f' means something else here\n  at p.txt:3\n  fix: choose another name"
    ),
    'program("p")\nexp: input()\n': (
        "the name 'exp' means something else here\n  at p.txt:2\n  fix: choose another name"
    ),
    'program("p")\nf: input(n)\n': "'n' is no parameter\n  at p.txt:2\n  fix: write i < extent",
    'program("p")\nf: input(n < f)\n': "unknown name 'f'\n  at p.txt:2",
    'program("p")\nf: expression()\n': "the expression 'f' has no body\n  at p.txt:2",
    'program("p")\nf: input(dtype=int128)\n': "'int128' is no dtype\n  at p.txt:2",
    'program("p")\nf: input() = 3\n': "'3' states no facts\n  at p.txt:2\n  fix: = facts(...)",
    'program("p")\nf: input() = facts(f > 3)\n': "'f > 3' is no fact\n  at p.txt:2",
    'program("p")\nf: input() = facts(0 <= 1 < f)\n': "'1' is not 'f' of its parameters\n  at p.txt:2",
    'program("p")\nf: input(i < 2) = facts(uniform(f, f, 1 + f(i)))\n': (
        "'uniform(f, f, 1 + f(i))': the condition does not compare 'f' of its parameters\n  at p.txt:2"
    ),
    'program("p")\nf: input() = facts(even())\n': "'even()' is no fact\n  at p.txt:2",
    'program("p")\nf: input(n < 2) = facts(monotone(strict=1))\n': (
        "'1' is neither True nor False\n  at p.txt:2"
    ),
    'program("p")\nf: input() = facts(prefix_sum(3))\n': "'3' is no function\n  at p.txt:2",
    'program("p")\nwith main:\n    pass\n': (
        "'with main:' is neither a declaration nor a stage\n  at p.txt:2\n"
        "  fix: with bind:, with prelude:, with kernel:"
    ),
    HEAD + "    h[0] = y\n": "unknown name 'y'\n  at p.txt:5",
    HEAD + "    h[0] = h\n": "the buffer 'h' is read without indices\n  at p.txt:5",
    HEAD + "    h[0] = rows[0]\n": "'rows' is no buffer\n  at p.txt:5",
    HEAD + "    h[0] = rows(1)\n": "'rows' takes 0 arguments, not 1\n  at p.txt:5",
    HEAD + "    h[0] = h(1)\n": "'h' is no function\n  at p.txt:5",
    HEAD + "    h[0, 1] = 1.0\n": "'h' has 1 dimensions, not 2\n  at p.txt:5",
    HEAD + "    h[0] = h[0, 1]\n": "'h' has 1 dimensions, not 2\n  at p.txt:5",
    HEAD + "    h[0] = 1 + 1.0\n": "'+' joins int64 and float32\n  at p.txt:5",
    HEAD + "    h[0] = 2.0 ** 2.0\n": "'2.0 ** 2.0' is no expression of a program\n  at p.txt:5",
    HEAD + "    h[0] = exp(1.0, 2.0)\n": "'exp' takes 1 arguments, not 2\n  at p.txt:5",
    HEAD + "    h[0] = const(rows, float32)\n": "'rows' is no literal\n  at p.txt:5",
    HEAD + "    if 0 < rows < 2:\n        pass\n": (
        "comparisons do not chain here\n  at p.txt:5\n  fix: write a < b and b < c"
    ),
    HEAD + "    while True:\n        pass\n": "'while True:' is no statement of a program\n  at p.txt:5",
    HEAD + "    h[0] -= 1.0\n": "'h[0] -= 1.0' is no statement of a program\n  at p.txt:5",
    HEAD + "    h[0]: 3 = 1.0\n": "'3' is no label\n  at p.txt:5",
    HEAD + "    sync()\n": "'sync' is no statement of a program\n  at p.txt:5",
    HEAD + "    barrier(everyone)\n": "'everyone' is no scope of a barrier\n  at p.txt:5\n  fix: team, block",
    HEAD + "    check(True, 1)\n": "'1' is no message\n  at p.txt:5",
    HEAD + "    for n in range(2):\n        pass\n": (
        "'range' is no kind of loop\n  at p.txt:5\n"
        "  fix: serial, parallel, vectorized, unrolled, tensorized, team, threads"
    ),
    HEAD + "    for rows in serial(2):\n        pass\n": (
        "the name 'rows' means something else here\n  at p.txt:5\n  fix: choose another name"
    ),
    HEAD + "    for n in serial(2):\n        h[0] = reduce(mean, 1.0)\n": (
        "'mean' is no combiner\n  at p.txt:6\n  fix: one of sum, prod, max, min"
    ),
    HEAD + "    h[0] = reduce(sum, 1.0, over=(h,))\n": "'h' is no variable\n  at p.txt:5",
    'program("p")\nc: output(int64[2])\nwith kernel:\n    c[0] = reduce(max, 1)\n': (
        "no int64 is the max of nothing\n  at p.txt:4\n  fix: say init="
    ),
    HEAD + "    acc = local(rows)\n": ("'rows' is no dtype with a shape\n  at p.txt:5\n  fix: float32[2, 3]"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_is_no_program_is_refused(text):
    with pytest.raises(ModelError) as refusal:
        parse(text, file="/somewhere/p.txt")
    assert str(refusal.value) == REFUSED[text]


@pytest.mark.parametrize("text", ["\0", "(" * 1000, "\ud800", HEAD + "    h[0] = " + "1.0 + " * 5000 + "1.0"])
def test_text_that_python_cannot_read_is_refused(text):
    with pytest.raises(ModelError, match="no program"):
        parse(text)


@given(st.data())
def test_broken_text_is_a_program_or_is_refused(data: st.DataObject):
    text = data.draw(st.sampled_from(GOLDEN)).read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(("", "*", "n", "(", "1", "None", ", x", "True", "= 2", ":", "[()]", "**k"))
        )
        text = text[:start] + piece + text[start + data.draw(st.integers(0, 4)) :]
    try:
        parsed = parse(text)
        verify(parsed)
    except (ModelError, InternalError):
        return
    assert difference(parsed, parse(to_text(parsed))) is None


def test_parsed_nodes_know_their_lines():
    body = parse(HEAD + "    h[0] = 1.0 + 2.0\n", file="p.txt").kernel
    assert isinstance(body, Store)
    assert (str(body.at), str(body.value.at)) == ("p.txt:5", "p.txt:5")
