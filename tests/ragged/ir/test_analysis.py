"""Where statements stand, and what they touch."""

from hypothesis import given

from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import labels_of
from ragged.ir.sites import ElementAccess, Site, regions, sites
from ragged.ir.stmt import Label, Store
from ragged.ir.walk import statements
from tests.ragged.ir.strategies import programs

TEXT = """
program("p")

rows: input()
begin: input(r < rows)
left: input(n < rows)
x: payload(float32[rows])
h: output(float32[rows, 4])
count: output(int64[rows])

with kernel:
    scale = x[0]
    for r in parallel(rows, N):
        node = begin(r) + r
        if node > 3:
            last = node - 1
            for i in serial(count[r], H):
                h[last, i]: inner = h[left(node), i] * scale if x[node] > 0.0 or x[last] > 0.0 else x[r]
        elif not count[r] == 2:
            h[node, 0]: leaf = 0.0
        else:
            acc = local(float32[count[r]])
            for i in serial(4):
                acc[0] += h[r, i]
                check(count[node] > 0 and count[count[r]] > 0, "")
"""


def where(program: Program) -> dict[Label, Site]:
    """Return where each labelled statement stands."""
    return {site.stmt.label: site for site in sites(program) if hasattr(site.stmt, "label")}


def site(label: str) -> Site:
    (found,) = (s for name, s in where(parse(TEXT)).items() if name.name == label)
    return found


def shown(access: ElementAccess) -> str:
    place = f"{access.buffer.name}[{', '.join(expr_text(index) for index in access.indices)}]"
    conditions = "".join(f" if {expr_text(condition)}" for condition in access.conditions)
    return f"{place}{conditions}"


def test_a_site_has_the_loops_conditions_and_lets_around_it():
    inner, leaf = site("inner"), site("leaf")
    assert inner.stage.kind is StageKind.KERNEL
    assert [loop.var.name for loop in inner.loops] == ["r", "i"]
    assert [expr_text(condition) for condition in inner.conditions] == ["node > 3"]
    assert [expr_text(condition) for condition in leaf.conditions] == ["not node > 3", "not count[r] == 2"]
    assert [expr_text(condition) for condition in site("acc").conditions] == ["not node > 3", "count[r] == 2"]
    assert {var.name: expr_text(value) for var, value in inner.lets.items()} == {
        "scale": "x[0]",
        "node": "begin(r) + r",
        "last": "node - 1",
    }


def test_regions_are_told_over_loops_alone():
    assert [shown(write) for write in regions(site("inner")).writes] == [
        "h[begin(r) + r - 1, i] if begin(r) + r > 3"
    ]
    assert [shown(read) for read in regions(site("inner")).reads] == [
        "x[0]",
        "count[r] if begin(r) + r > 3",
        "x[begin(r) + r] if begin(r) + r > 3",
        "x[begin(r) + r - 1] if begin(r) + r > 3 if not x[begin(r) + r] > 0.0",
        "h[left(begin(r) + r), i] if begin(r) + r > 3 if x[begin(r) + r] > 0.0 or x[begin(r) + r - 1] > 0.0",
        "x[0] if begin(r) + r > 3 if x[begin(r) + r] > 0.0 or x[begin(r) + r - 1] > 0.0",
        "x[r] if begin(r) + r > 3 if not (x[begin(r) + r] > 0.0 or x[begin(r) + r - 1] > 0.0)",
    ]


def test_reductions_read_what_they_update_and_shapes_are_read():
    other = "if not begin(r) + r > 3 if count[r] == 2"
    assert [shown(read) for read in regions(site("acc")).reads] == [
        "x[0]",
        "count[r] if not begin(r) + r > 3",
        f"count[r] {other}",
        f"h[r, i] {other}",
        f"acc[0] {other}",
    ]
    assert [shown(write) for write in regions(site("acc")).writes] == [f"acc[0] {other}"]


def test_the_right_of_an_and_is_read_where_the_left_holds():
    *_, left, inside, right = regions(site("check")).reads
    assert "if count[begin(r) + r] > 0" not in shown(left)
    assert shown(right).endswith("if count[begin(r) + r] > 0")
    assert shown(right).startswith("count[count[r]]")
    assert shown(inside).startswith("count[r]")
    assert regions(site("check")).writes == ()


@given(programs())
def test_every_statement_has_a_site(program: Program):
    assert list(where(program)) == labels_of(program)
    everything = [stmt for stage in program.stages for stmt in statements(stage.body)]
    assert [s.stmt for s in sites(program)] == everything
    for place in where(program).values():
        targets = [(w.buffer, len(w.indices)) for w in regions(place).writes]
        if isinstance(place.stmt, Store):
            assert targets == [(place.stmt.buffer, len(place.stmt.buffer.shape))]
