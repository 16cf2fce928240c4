"""contract_storage: temporaries that are too large for a stack, and which may share the storage of one iteration."""

from textwrap import indent

import pytest

from ragged.ir.printer import to_text
from ragged.passes.contract_storage import contract_storage
from tests.ragged.passes.contracting import contracted, declared, nodes

LARGE = """\
for n in {kind}(count):
    for i in serial({wide}):
        t[n, {base}i] = x[n, 0]
    for i in serial(8):
        y[n, i] = t[n, {base}i]
"""


def large(kind, base="", wide="5000", around="{}"):
    body = LARGE.format(kind=kind, base=base, wide=wide)
    return nodes(around.format(indent(body, "    ") if around != "{}" else body), width="10000")


def test_serial_iterations_share_a_row():
    text = contracted(large("serial", wide="10000"))
    assert declared(text) == ["t: workspace(float32[10000])"]


def test_iterations_that_run_at_once_do_not():
    text = contracted(large("parallel", wide="10000"))
    assert declared(text) == ["t: workspace(float32[count, 10000])"]


def test_each_worker_has_a_row():
    text = contracted(
        nodes(
            """\
for w in team(workers):
    for n in serial((w + 1) * count // workers - w * count // workers):
        node = w * count // workers + n
        for i in serial(10000):
            t[node, i] = x[node, i % 8]
        for i in serial(8):
            y[node, i] = t[node, 9992 + i]
""",
            width="10000",
        )
    )
    assert declared(text) == ["t: workspace(float32[workers, 10000])"]
    assert "t[w, i] = x[node, i % 8]" in text


def test_each_worker_has_a_slice():
    text = contracted(
        nodes(
            """\
for w in team(workers):
    for s in serial((w + 1) * 2 // workers - w * 2 // workers):
        first = (w * 2 // workers + s) * 5000
        for n in serial(count):
            for i in serial(5000):
                t[n, first + i] = x[n, i % 8]
            for i in serial(5000):
                if i < 4:
                    y[n, first // 1250 + i] = t[n, first + i]
""",
            width="10000",
        )
    )
    assert declared(text) == ["t: workspace(float32[workers, 5000])"]
    assert "t[w, i] = x[n, i % 8]" in text


TEAM = """\
for w in team({size}):
    for n in serial(count):
        node = n
        for i in serial(10000):
            t[node, i] = x[node, i % 8]
        {between}
        for i in serial(8):
            y[node, i] = t[node, i]
"""


def test_a_barrier_in_a_nest_keeps_it():
    program = nodes(TEAM.format(size="workers", between="barrier(team)"), width="10000")
    text = to_text(contract_storage(program).program)
    assert declared(text) == ["t: workspace(float32[count, 10000])"]


def test_a_team_whose_size_is_known_inside_alone_keeps_it():
    body = "for q in serial(1):\n    k = q + 1\n" + indent(TEAM.format(size="k", between="e = n"), "    ")
    text = contracted(nodes(body, width="10000"), workers=1)
    assert declared(text) == ["t: workspace(float32[count, 10000])"]


def test_two_slices_of_two_widths_that_are_large_keep_it():
    body = """\
for n in serial(count):
    for i in serial(10000):
        t[n, 0 + i] = x[n, i % 8]
    for i in serial(10000):
        y[n, i % 8]: y.first = t[n, 0 + i]
for m in serial(count):
    for i in serial(5000):
        t[m, 10 + i]: t.again = x[m, i % 8]
    for i in serial(5000):
        y[m, i % 8] = t[m, 10 + i]
"""
    text = contracted(nodes(body, width="10000"))
    assert declared(text) == ["t: workspace(float32[count, 10000])"]


@pytest.mark.parametrize(
    ("width", "text"), [(4096, "local(float32[4096])"), (4097, "workspace(float32[4097])")]
)
def test_up_to_16_kib_are_allocated_in_the_loop(width, text):
    body = f"""\
for n in serial(count):
    for i in serial({width}):
        t[n, i] = x[n, 0]
    for i in serial(8):
        y[n, i] = t[n, i]
"""
    assert text in to_text(contract_storage(nodes(body, width=str(width))).program)
