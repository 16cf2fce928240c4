"""fuse_ragged over rows of a prefix sum from any row on, with and without tables: random bodies, lengths and rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragged.ir.interpret import interpret
from ragged.transform.loops.fuse_ragged import fuse_ragged
from tests.ragged.transform.data_support import valid
from tests.ragged.transform.support import refused
from tests.ragged.transform.test_fuse_ragged import data, rows
from tests.support.tables import filled_tables

PLACE = "x[offset(node) + k]"
"""What the fused index alone gives."""
MORE = {
    "the row": "float32(node)",
    "the iteration over rows": "float32(n)",
    "the place in the row": "float32(k)",
    "row and place": "x[offset(node + 1) - 1 - k]",
}
"""What else a body may ask for."""


@st.composite
def nests(draw):
    """Draw a loop over rows and one over a row's places, the data, and whether tables are needed."""
    asked = draw(st.lists(st.sampled_from(sorted(MORE)), unique=True))
    value = " + ".join([PLACE, *(MORE[each] for each in asked)])
    target = draw(st.sampled_from(["y[offset(node) + k]", "z[node]"]))
    outer = draw(st.sampled_from(["serial", "parallel"])) if target != "z[node]" else "serial"
    inner = draw(st.sampled_from(["serial", "parallel"])) if target != "z[node]" else "serial"
    let = draw(st.sampled_from(["node = begin + n", "some = n + begin\n        node = some"]))
    length = draw(st.sampled_from(["offset(node + 1) - offset(node)", "length(node)", "run(node)"]))
    program = rows(
        f"{target} = {value}",
        outer=f"{outer}(num_rows - begin)",
        let=let,
        inner=f"{inner}({length})",
    )
    lengths = draw(st.lists(st.integers(0, 4), max_size=6))
    case = data(lengths, draw(st.integers(0, len(lengths))))
    return program, case, bool(asked) or target == "z[node]"


@given(nests(), st.booleans())
def test_rows_from_any_row_on(nest, tables):
    (program, outer, inner), (sizes, arrays), needed = nest
    if needed and not tables:
        assert "for more than its place" in refused(fuse_ragged, program, outer, inner)
        return
    new = valid(fuse_ragged, program, outer, inner, tables=tables).program
    filled = filled_tables(new, sizes, arrays)
    assert set(filled) == ({"offset_row"} if needed else set())
    want, got = interpret(program, sizes, arrays, seed=0), interpret(new, sizes, arrays | filled, seed=1)
    for name in ("y", "z"):
        np.testing.assert_array_equal(got[name], want[name])
