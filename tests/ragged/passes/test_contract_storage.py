"""contract_storage: the storage of one iteration, or of a slice of one; and what keeps a temporary as it is."""

import pytest

from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.passes.contract_storage import contract_storage
from tests.ragged.passes.contracting import contracted, declared, local, nodes

SLICE = """\
for s in parallel(2):
    for n in parallel(count):
        node = count - 1 - n
        for i in serial(4):
            t[node, s * 4 + i] = x[node, s * 4 + i] * 2.0
        for i in serial(4):
            y[node, s * 4 + i] = t[node, s * 4 + i] + 1.0
"""
TWO_NESTS = """\
for s in parallel(2):
    for n in parallel(count):
        for i in serial(4):
            t[n, s * 4 + i] = x[n, s * 4 + i] * 2.0
        for i in serial(4):
            y[n, s * 4 + i]: y.first = t[n, s * 4 + i]
for s in parallel(4):
    for m in parallel(count):
        for i in serial(2):
            t[m, s * 2 + i]: t.again = x[m, s * 2 + i] * 3.0
        for i in serial(2):
            y[m, s * 2 + i] = t[m, s * 2 + i]
"""
WHOLE_ROWS = """\
for n in parallel(count):
    for s in serial(2):
        for i in serial(4):
            t[n, s * 4 + i] = x[n, s * 4 + i] * 2.0
    for i in serial(8):
        y[n, i] = t[n, 7 - i]
"""
"""What is written in slices, and read across them: the loop over slices is inside of the iteration."""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slice", SLICE),
        ("two_nests", TWO_NESTS),
        ("team", SLICE.replace("for s in parallel(2)", "for w in team(workers):\n  for s in serial(2)")),
    ],
)
def test_text(name, text, golden):
    program = nodes(text)
    golden(f"contract_{name}.txt", f"{program}\ncontract_storage\n\n{contracted(program, workers=1)}")


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (SLICE.replace("* 4 + i] + 1.0", "* 4 + i] + t[node, s * 4 + i]"), ["t = local(float32[4])"]),
        (SLICE.replace("t[node, s * 4 + i] +", "t[node, s * 4 + (3 - i)] +"), []),
        (SLICE.replace("s * 4 + i", "start(s) + i"), ["t = local(float32[4])"]),
        (
            SLICE.replace("for s in parallel(2)", "for s in serial(2)").replace(
                "for i in serial(4):\n            y", "for i in serial(2):\n            y"
            ),
            [],
        ),
        (WHOLE_ROWS, ["t = local(float32[8])"]),
        (WHOLE_ROWS.replace("t[n, 7 - i]", "t[n, i]"), ["t = local(float32[8])"]),
        (WHOLE_ROWS.replace("s * 4 + i", "i").replace("serial(4)", "serial(8)"), ["t = local(float32[8])"]),
        (
            "for n in parallel(count):\n    for s in serial(2):\n        m = n\n        for i in serial(4):\n"
            "            t[m, s * 4 + i] = x[m, s * 4 + i]\n        for i in serial(4):\n"
            "            y[m, s * 4 + i] = t[m, s * 4 + i]",
            ["t = local(float32[4])"],
        ),
        (
            "for f in parallel(count * 2):\n    n = f // 2\n    s = f % 2\n    for i in serial(4):\n"
            "        t[n, s * 4 + i] = x[n, s * 4 + i]\n    for i in serial(4):\n"
            "        y[n, s * 4 + i] = t[n, s * 4 + i]",
            ["t = local(float32[4])"],
        ),
        (
            "for n in parallel(count):\n    for j in serial(2):\n        s = j\n        for i in serial(4):\n"
            "            t[n, s * 4 + i] = x[n, s * 4 + i]\n    for j in serial(2):\n        s = j\n"
            "        for i in serial(4):\n            y[n, s * 4 + i] = t[n, (1 - s) * 4 + i]",
            [],
        ),
    ],
    ids=[
        "read twice",
        "read mirrored",
        "base of a function",
        "two extents",
        "slices inside, read mirrored",
        "slices inside, read whole",
        "written twice",
        "let in a slice",
        "slice that a let under the home says",
        "slices that lets of loops say",
    ],
)
def test_what_is_kept_of_a_row(body, left):
    if "7 - i" in body or "start(" in body or "serial(2):\n            y" in body or body == WHOLE_ROWS:
        body = f"for a in parallel(count):\n    for b in serial(8):\n        y[a, b]: y.start = 0.0\n{body}"
    text = contracted(nodes(body))
    assert local(text) == left
    assert bool(left) != bool(declared(text))


INNER_FIRST = """\
for n in serial(count):
    for m in serial(count):
        for i in serial(8):
            t[m, i]: t.inner = x[m, i] * 2.0
        for i in serial(8):
            u[n, i] = t[m, i]
    for i in serial(8):
        t[n, i] = x[n, i]
    for i in serial(8):
        y[n, i] = t[n, i]
"""


def test_a_home_in_another_that_comes_first_has_storage_of_its_own():
    text = contracted(nodes(INNER_FIRST))
    assert not declared(text)
    assert [line.strip() for line in text.splitlines() if "= local(" in line and "u" not in line] == [
        "t = local(float32[8])",
        "t_1 = local(float32[8])",
    ]


def test_large_homes_one_in_another_share_storage():
    text = contracted(nodes(INNER_FIRST, width="5000"))
    assert declared(text) == ["t: workspace(float32[5000])"]


KEPT = {
    "a home in another, where a loop comes back to it": """\
for z in serial(2):
    for n in serial(count):
        if z == 1:
            for i in serial(8):
                y[n, i] = t[n, i]
        for m in serial(count):
            for i in serial(8):
                t[m, i]: t.inner = x[m, i] * 2.0
        for i in serial(8):
            t[n, i] = x[n, i]
""",
    "a home in another that reads what is at the outer one": """\
for n in serial(count):
    for m in serial(count):
        for i in serial(8):
            t[m, i]: t.inner = x[m, i] * 2.0
        for i in serial(8):
            y[n, i] = t[n, i]
    for i in serial(8):
        t[n, i] = x[n, i]
""",
    "a home in another": """\
for n in serial(count):
    for i in serial(8):
        t[n, i] = x[n, i]
    for m in serial(count):
        for i in serial(8):
            t[m, i]: t.again = x[m, i] * 2.0
    for i in serial(8):
        y[n, i] = t[n, i]
""",
    "a first nest that may not run": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    for z in serial(flag):
        for i in serial(8):
            t[n, i]: t.again = 0.0
    for i in serial(8):
        y[n, i] = t[n, i]
""",
    "a first nest under a condition": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    if flag == 1:
        for i in serial(8):
            t[n, i]: t.again = 0.0
    for i in serial(8):
        y[n, i] = t[n, i]
""",
    "a first nest that reads what it has not come to": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    for i in serial(8):
        t[n, i]: t.again = x[n, i] * 2.0
        y[n, i] = t[n, 7 - i]
""",
    "a store that covers only a part": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    for i in serial(4):
        t[n, i]: t.again = 0.0
    for i in serial(8):
        y[n, i] = t[n, i]
""",
    "a store along a diagonal": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    for i in serial(8):
        t[n, i // 2]: t.again = 0.0
    for i in serial(8):
        y[n, i] = t[n, i]
""",
    "blocks that leave elements out": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    for s in serial(2):
        for i in serial(3):
            t[n, s * 4 + i]: t.again = 0.0
    for i in serial(8):
        y[n, i] = t[n, i]
""",
    "a reduction that starts from it": """\
for m in serial(count):
    for i in serial(8):
        t[m, i] = x[m, i]
for n in serial(count):
    for i in serial(8):
        y[n, i]: y.start = t[n, i]
        for j in serial(2):
            y[n, i] = reduce(sum, x[n, j], init=t[n, i])
""",
    "another row": """\
for n in serial(count):
    for i in serial(8):
        t[n, i] = x[n, i]
    for i in serial(8):
        y[n, i] = t[n // 2, i]
""",
}


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.replace(" ", "-"))
def test_what_stays_as_it_is(case):
    program = nodes(KEPT[case], other="output(float32[1])")
    assert contracted(program) == to_text(program)


def test_a_vector_has_no_room_for_storage():
    program = nodes(
        "for n in serial(count):\n    for i in vectorized(8):\n        u[n, i] = x[n, i]\n        y[n, i] = u[n, i]"
    )
    assert "for i in vectorized(8):\n            u[i] = x[n, i]" in contracted(program)
    program = nodes(
        "for i in vectorized(8):\n    u[i] = 1.0\n    t[0, i] = u[i]\nfor n in serial(count):\n"
        "    for i in serial(8):\n        y[n, i] = x[n, i]",
        other="workspace(float32[8])",
        width="9",
    )
    assert "u: workspace(float32[8])" in to_text(contract_storage(program).program)
    verify(contract_storage(program).program)


def test_another_name_of_its_memory_keeps_it():
    program = nodes(
        "for n in parallel(count):\n    for i in serial(8):\n        t[n, i] = x[n, i]\n"
        "    for i in serial(8):\n        y[n, i] = u[n, i]",
        other="workspace(float32[count, 8], aliases=t)",
    )
    assert contracted(program) == to_text(program)


def test_another_name_that_is_allocated_keeps_it():
    program = nodes(
        "for n in serial(count):\n    v = local(float32[count, 8], aliases=t)\n    for i in serial(8):\n"
        "        t[n, i] = x[n, i]\n    for i in serial(8):\n        y[n, i] = v[n, i]",
        other="output(float32[1])",
    )
    assert contracted(program) == to_text(program)
