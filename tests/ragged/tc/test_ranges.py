"""Ranges against a search over numbers, the domains of outputs, and what a refusal says."""

import itertools
import random
import re

import numpy as np
import pytest

from ragged import tc
from ragged.errors import DataError
from ragged.tc import tree
from ragged.tc.analyse import analyse
from ragged.tc.errors import TcError
from ragged.tc.parse import parse
from ragged.tc.prove import Outcome
from ragged.tc.size_text import size_text


def analysed(text):
    library = {}
    for definition in parse(text):
        found = analyse(definition, dict(library))
        library[definition.name] = definition
    return found


def domains(text, **sizes):
    """Return (lower, extent) of each dimension of each output."""
    found = analysed(text)
    names = {**found.function.sizes, **found.function.scalars}
    values = {names[name]: value for name, value in sizes.items()}
    found.check_sizes(values)
    return found.domains(values)


def symbolic(text):
    (version,) = analysed(text).function.outputs.values()
    return [f"{size_text(own.lower)}:{size_text(own.upper)}" for own in version.domain]


def test_symbolic_ranges():
    assert symbolic("def f(float(N) x) -> (y) { y(i) = x(123 * i) }") == ["0:(N + 122) / 123"]
    assert symbolic("def f(float(N) x) -> (y) { y(i) = x(i - 1) }") == ["1:N + 1"]
    assert symbolic("def f(float(H) x, float(K) w) -> (y) { y(h) +=! x(h + k) * w(k) }") == ["0:H - K + 1"]
    assert symbolic("def f(float(N) x, float(M) z) -> (y) { y(i) = x(i) + z(i) }") == ["0:min(M, N)"]
    assert symbolic("def f(float(N) x) -> (y) { y(i) = x(i / 2) }") == ["0:2 * N"]
    assert symbolic("def f(float(N,M) x) -> (y) { y(i,j) = x(j, i) where i in 1:M - 1 }") == [
        "1:M - 1",
        "0:N",
    ]


def test_a_condition_around_an_access_counts():
    text = "def f(float(N) x) -> (y) { y(t) = x(t) + (t - 3 >= 0 ? x(t - 3) : 0) }"
    assert symbolic(text) == ["0:N"]
    assert {each.outcome for each in analysed(text).checks} == {Outcome.PROVEN}


@pytest.mark.parametrize(
    ("statement", "ranges"),
    [
        ("y(t) +=! t >= k ? x(t - k) * w(k) : 0.0 where t in 0:N", {"t": "0:N", "k": "0:K"}),
        ("y(l) +=! i + l < N ? x(i) * x(i + l) : 0.0 where l in 0:N", {"l": "0:N", "i": "0:N"}),
        (
            "y(i) +=! i - k >= 0 && i - k < N ? x(i - k) * w(k) : 0.0 where i in 0:N + K - 1",
            {"i": "0:N + K - 1", "k": "0:K"},
        ),
        (
            "y(i) +=! a >= 0 && a < N && b < N ? x(a) * x(b) * w(k) * v(l) : 0.0 "
            "where i in 0:N, a = i + k - 1, b = i + l",
            {"i": "0:N", "k": "0:K", "l": "0:3"},
        ),
    ],
)
def test_an_index_under_a_condition_has_the_range_of_what_is_read_at_it_alone(statement, ranges):
    found = analysed(f"def f(float(N) x, float(K) w, float(3) v) -> (y) {{ {statement} }}")
    own = found.function.statements[0].ranges
    assert {
        var.name: f"{size_text(each.lower)}:{size_text(each.upper)}" for var, each in own.items()
    } == ranges
    assert {each.outcome for each in found.checks} == {Outcome.PROVEN}


@pytest.mark.parametrize("condition", ["N > 3", "flag == 1", "j > 2"])
def test_a_condition_about_something_else_does_not_matter(condition):
    text = f"def f(int flag, float(N) x) -> (y) {{ y(i,j) = {condition} ? x(i + 1) : 0.0 where j in 0:5 }}"
    assert symbolic(text) == ["-1:N - 1", "0:5"]


def test_a_condition_that_leaves_no_end_gives_no_range():
    with pytest.raises(TcError, match="index 'i' of") as caught:
        analysed("def f(float(N) x) -> (y) { y(i) = i >= 1 ? x(i - 1) : 0.0 }")
    assert caught.value.fix == "where i in 0:N"


def test_the_reasons_are_the_dimensions_that_an_index_stands_in():
    with pytest.raises(TcError, match="index 't' of") as caught:
        analysed("def f(float(B,T) x, float(K) w) -> (y) { y(b,t) +=! (t - k >= 0 ? x(b,t - k) : 0) * w(k) }")
    assert "dimension 1 of x(b, t - k)" in caught.value.because
    assert "dimension 0" not in caught.value.because


@pytest.mark.parametrize(
    ("where", "size", "values"),
    [
        ("1:(N > 3 ? 4 : 2)", 10, (1, 4)),
        ("1:(N > 3 ? 4 : 2)", 2, (1, 2)),
        ("1:N % 7 + 2", 10, (1, 5)),
        ("N % 3:5", 10, (1, 5)),
        ("N % 3:5", 5, (2, 5)),
    ],
)
def test_a_range_has_as_many_values_as_the_sizes_of_a_call_say(where, size, values):
    given = np.arange(1, size + 1, dtype=np.float32)
    kept = tc.define(f"def f(float(N) x) -> (y) {{ y(i) = x(i) where i in {where} }}").f
    added = tc.define(f"def f(float(N) x) -> (y) {{ y +=! x(i) where i in {where} }}").f
    for schedule in ({}, {"schedule": None}):
        assert kept.compile(**schedule)(given).tolist() == given[slice(*values)].tolist()
        assert added.compile(**schedule)(given) == given[slice(*values)].sum()


def test_an_access_does_not_bound_an_index_that_its_condition_alone_is_about():
    f = tc.define(
        "def f(float(N) x, float(K) w) -> (y) { y(i) +=! k != 1 ? x(i) * w(k) : 0.0 where i in 0:6 }"
    ).f
    assert f(np.ones(6, np.float32), np.ones(5, np.float32)).tolist() == [4.0] * 6
    with pytest.raises(DataError, match="index 3 of dimension 0 of 'x' is outside"):
        f(np.ones(3, np.float32), np.ones(5, np.float32))


@pytest.mark.parametrize(
    ("index", "where", "places"),
    [
        ("d < D ? d : D - 1", "0:D + 2", [0, 1, 2, 3, 4, 5, 5, 5]),
        ("d < 2 ? 0 : (d - 2 < D ? d - 2 : D - 1)", "0:D + 4", [0, 0, 0, 1, 2, 3, 4, 5, 5, 5]),
        ("d / 2 + d % 2", "0:D", [0, 1, 1, 2, 2, 3]),
        ("d * (4 - d)", "0:5", [0, 3, 4, 3, 0]),
        ("D % (d + 1)", "0:D", [0, 0, 0, 2, 1, 0]),
        ("d / 2 + d % 2", "0:2 * D", "d = 11 reads"),
        ("d < 2 ? 1 - d : d - 1", "0:D + 3", "d = 8 reads"),
        ("d * (5 - d)", "0:6", "needs 0 <= d"),
    ],
)
def test_an_index_of_fewer_values_than_its_interval_has(index, where, places):
    f = tc.define(f"def f(float(N,D) x) -> (y) {{ y(n,d) = x(n, {index}) where d in {where} }}").f
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    if isinstance(places, list):
        assert f(x).tolist() == x[:, places].tolist()
    else:
        with pytest.raises(TcError, match="out of bounds") as caught:
            f(x)
        assert places in str(caught.value)


def test_exists_bounds_an_index_that_only_a_condition_reads():
    text = "def f(float(N) x, float(M) z) -> (y) { y(i) = i == 0 ? 1.0 : 2.0 where exists z(i + 2), exists x(i) }"
    assert symbolic(text) == ["0:min(M - 2, N)"]


def test_indices_take_ranges_from_other_statements():
    mv = "def mv(float(M,K) A, float(K) x) -> (C) { C(i) = 0 C(i) += A(i,k) * x(k) }"
    mlp = """def mlp(float(B,M) x, float(N,M) w, float(N) v) -> (o) {
        o(b,n) = v(n) o(b,n) += x(b,m) * w(n,m) o(b,n) = fmax(o(b,n), 0) }"""
    sgemm = """def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {
        C(i,j) = b * C(i,j) C(i,j) += a * A(i,k) * B(k,j) }"""
    assert domains(mv, M=3, K=4) == {"C": ((0, 3),)}
    assert domains(mlp, B=3, M=4, N=5) == {"o": ((0, 3), (0, 5))}
    assert domains(sgemm, N=3, M=4, K=5) == {"C": ((0, 3), (0, 5))}


def test_lower_bounds_travel_on():
    text = "def f(float(N) x) -> (y, z) { y(i) = x(i - 2) z(j) = y(j + 1) + x(0) }"
    assert domains(text, N=5) == {"y": ((2, 5),), "z": ((1, 5),)}


def test_calls_are_inlined_with_the_extents_of_their_arguments():
    text = """
        def conv(float(H) x, float(K) w) -> (y) { y(h) +=! x(h + k) * w(k) }
        def mean(float(N) x) -> (m) { m +=! x(i) / N }
        def f(float(H) x, float(K) w) -> (z, m) { t = conv(x, w) z = conv(t, w) m = mean(z) }"""
    assert domains(text, H=10, K=3) == {"z": ((0, 6),), "m": ()}


def test_a_part_of_a_tensor_may_be_written_again():
    text = "def f(float(N) x) -> (y) { y(i) = 0.0 where i in 0:N y(i) = x(i - 1) where i in 1:N }"
    assert domains(text, N=5) == {"y": ((0, 5),)}
    assert [each.partial for each in analysed(text).function.statements] == [False, True]


@pytest.mark.parametrize("where", ["0:1", "N - 1:N", "0:2", "0:M"])
def test_what_is_written_again_has_to_lie_in_the_tensor(where):
    text = f"def f(float(N) x, float(M) b) -> (y) {{ y(i) = x(i) y(i) = 0.0 where i in {where} }}"
    assert domains(text, N=4, M=3) == {"y": ((0, 4),)}
    outside = {"0:2": {"N": 1, "M": 1}, "0:M": {"N": 2, "M": 3}}
    if where in outside:
        with pytest.raises(
            TcError, match="the end of the index along dimension 0 of 'y', written again,"
        ) as caught:
            domains(text, **outside[where])
        assert "and has to be at most" in str(caught.value) and caught.value.phase == "range"


def test_what_is_written_again_does_not_begin_before_the_tensor():
    with pytest.raises(TcError, match="the first index along dimension 0 of 'y', written again, is -1"):
        domains("def f(float(N) x) -> (y) { y(i) = x(i) y(i) = 0.0 where i in -1:2 }", N=3)


def test_accesses_that_leave_values_for_some_sizes_alone():
    text = "def f(float(N) x, float(K) w) -> (y) { y(i) +=! x(i - k) * w(k) where i in 0:N + K - 1 }"
    assert domains(text, N=5, K=1) == {"y": ((0, 5),)}
    with pytest.raises(TcError, match="of the index 'k' of"):
        domains(text, N=5, K=3)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("def f(float(N) x) -> (int64(N) b) { b(i) = i }", "where i in 0:N"),
        ("def f(float(T) z, float(N) x) -> (int64(N) b) { b(i) = i }", "where i in 0:N"),
        ("def f(float(N) x) -> (y) { y(i) +=! x(j) where j in 0:i + 1 }", "where i in 0:N"),
    ],
)
def test_a_proposed_range_is_as_far_as_what_is_declared(text, fix):
    with pytest.raises(TcError, match="has no range") as caught:
        analysed(text)
    assert caught.value.fix == fix


def test_a_size_is_known_before_the_parameter_that_declares_it():
    text = """def f(float(T,2 * D) x, float(T,D) c) -> (y) { y(t,k) = x(t,k) * c(t,k / 2) where k in 0:2 * D }
              def g(float(T,E) x, float(T,D) c) -> (y) { y = f(x, c) }"""
    assert domains(text, T=2, D=3, E=6) == {"y": ((0, 2), (0, 6))}


def test_sizes_that_leave_a_range_empty_are_refused_unless_one_is_zero():
    text = "def f(float(H) x, float(K) w) -> (y) { y(h) +=! x(h + k) * w(k) }"
    with pytest.raises(TcError, match=r"the range 0:H - K \+ 1 of the index 'h' .* is negative") as caught:
        domains(text, H=2, K=5)
    assert caught.value.phase == "range" and "H = 2, K = 5: 0:-2" in str(caught.value)
    assert domains(text, H=0, K=3) == {"y": ((0, 0),)}
    with pytest.raises(TcError, match="is negative"):
        domains("def f(float(H) x, float(K) w) -> (y, s) { y(h) +=! x(h + k) * w(k) s +=! w(i) }", H=0, K=3)


@pytest.mark.parametrize(
    ("parameters", "where", "args", "given"),
    [
        ("int s, float(N) x", "0:N / s", (0, np.ones(4, np.float32)), "s = 0, N = 4"),
        ("int s, float(N) x", "0:min(N, 9 % s)", (0, np.ones(4, np.float32)), "s = 0, N = 4"),
        (
            "float(K) w, float(N) x",
            "0:N / K",
            (np.ones(0, np.float32), np.ones(4, np.float32)),
            "K = 0, N = 4",
        ),
    ],
)
def test_ranges_that_are_divided_by_0_are_refused(parameters, where, args, given):
    f = tc.define(f"def f({parameters}) -> (y) {{ y(i) = x(i) where i in {where} }}").f
    with pytest.raises(TcError, match=f"the range {re.escape(where)} of the index 'i' divides by 0") as error:
        f(*args)
    assert given in str(error.value)


def test_a_range_that_depends_on_its_own_index_is_refused():
    with pytest.raises(TcError, match="depends on 'b'") as error:
        tc.define("def f(int(B) n, float(B,n(B)) x) -> (y) { y(b) = x(b,n(b) - 1) }")
    assert error.value.fix == "a range of sizes for 'b' by where, such as 0:N of a size N"


@pytest.mark.parametrize("statement", ["y(c,j) = x(at(c),j)", "y(c) +=! x(at(c),j)"])
def test_ranges_that_data_choose_are_refused(statement):
    text = f"def f(int(B) n, float(B,n(B)) x, int(C) at) -> (y) {{ {statement} }}"
    with pytest.raises(TcError, match=r"the range of 'j' in .* is read from 'at'"):
        tc.define(text)


def test_literal_empty_ranges_are_refused():
    with pytest.raises(TcError, match="is negative"):
        analysed("def f() -> (y) { y(i) = 3 where i in 8:4 }")
    for clause, what in (("N:N", "empty"), ("N:N - 1", "negative")):  # whatever the sizes are
        with pytest.raises(TcError, match=f"the range {clause} of the index 'i' .* is {what}"):
            analysed(f"def f(float(N) x) -> (y) {{ y(i) = x(i) where i in {clause} }}")
    with pytest.raises(TcError, match="is empty") as caught:
        analysed("def f(float(N) x, float(3) w) -> (y) { y(i) = x(i) * w(i + 3) }")
    assert "where" not in str(caught.value).partition("because")[2]  # none mends it


def test_an_output_has_no_sizes_of_its_own():
    with pytest.raises(TcError, match="'M' is an extent of the output 'y', and no size of a parameter"):
        analysed("def f(float(N) x) -> (float(M) y) { y(i) = x(i) }")
    assert domains("def f(float(N) x) -> (float(N) y) { y(i) = x(i) }", N=3) == {"y": ((0, 3),)}


@pytest.mark.parametrize(
    "call", ["sinh(sinh(sinh(x(i))))", "round(round(round(x(i))))", "expm1(expm1(expm1(x(i))))"]
)
def test_a_read_that_stands_in_a_function_of_numbers_many_times_bounds_once(call):
    assert domains(f"def f(float(N) x) -> (y) {{ y(i) = {call} }}", N=3) == {"y": ((0, 3),)}


def test_casts_of_indices_keep_their_last_bits():
    read = "def f(float(N) x) -> (y) {{ y(i) = x({}) where i in 0:N }}"
    wrapping = read.format("int32(uint8(i - 2)) + 2")
    with pytest.raises(TcError) as caught:
        domains(wrapping, N=16)
    assert caught.value.example == "N = 16: i = 0 reads x(256), and dimension 0 is 0:16"
    assert domains(wrapping, N=258) == {"y": ((0, 258),)}
    assert domains(read.format("uint8(i)"), N=300) == {"y": ((0, 300),)}
    with pytest.raises(TcError, match=r"x\(int8\(i\)\) is out of bounds"):
        domains(read.format("int8(i)"), N=300)
    with pytest.raises(TcError, match=r"out of bounds"):
        domains("def f(float(16) x) -> (y) { y(i) = x(int32(uint8(i - 2)) + 2) where i in 0:16 }")


# --- refusals ----------------------------------------------------------------------------------------------

REFUSED = [
    ("def f(float(N,M) x) -> (y) { y(i,j) = x(10 + i - j, i + j) }", {}),
    ("def f(float(N,S,M) x) -> (y) { y(i,j) = x(i, i + j, j) }", {"N": 10, "S": 18, "M": 10}),
    ("def f(float(10,18,10) x) -> (y) { y(i,j) = x(i, i + j, j) }", {}),
    ("def f(float(N) x) -> (y) { y(i,j) = x(i) }", {}),
    ("def f(float(N) x) -> (y) { y(i,j) = x(i + j) }", {}),
    ("def f(int s, float(N) x, float(K) w) -> (y) { y(i) +=! x(s * i + k) * w(k) }", {}),
    ("def f(float(N) x, float(M) z) -> (y) { y(i) = x(i) + z(2 * i) where i in 0:N }", {"N": 5, "M": 3}),
    ("def f(float(N) x) -> (y) { y(i) = x(i % 3) }", {}),
]


def pasted(definition, statement_line, clause):
    """Return a text with a clause added to its statement, by hand as a user would."""
    (statement,) = definition.statements
    (sample,) = parse(f"def f() -> (x) {{ x = 0 {clause} }}")
    names = {each.index for each in sample.statements[0].clauses}
    kept = [
        each for each in statement.clauses if not (isinstance(each, tree.RangeClause) and each.index in names)
    ]
    new = tree.Comprehension(
        statement.target,
        statement.indices,
        statement.operator,
        statement.value,
        (*kept, *sample.statements[0].clauses),
        statement.at,
    )
    return tree.Definition(definition.name, definition.parameters, definition.outputs, (new,), definition.at)


@pytest.mark.parametrize(("text", "sizes"), REFUSED)
def test_a_refusal_gives_numbers_and_a_where_that_compiles(text, sizes):
    with pytest.raises(TcError) as caught:
        domains(text, **sizes)
    error = caught.value
    assert error.phase == "range" and error.line == 1 and error.column > 20
    assert error.because and error.example and error.fix.startswith("where ")
    (definition,) = parse(text)
    found = analyse(pasted(definition, error.line, error.fix), {})
    if sizes:
        found.check_sizes({found.function.sizes[name]: value for name, value in sizes.items()})


def test_the_whole_message():
    with pytest.raises(TcError) as caught:
        domains("def f(float(N,S,M) x) -> (y) {\n  y(i,j) = x(i, i + j, j)\n}", N=4, S=5, M=4)
    assert str(caught.value) == (
        "x(i, i + j, j) is out of bounds for some 'i', 'j' of 'y(i, j) = x(i, i + j, j)'\n"
        "  at tc:2:12\n"
        "  because: its dimension 1 needs 0 <= i + j < S, and i in 0:N and j in 0:M by the other accesses\n"
        "  example: N = 4, S = 5, M = 4: i = 3, j = 3 reads x(3, 6, 3), and dimension 1 is 0:5\n"
        "  fix: where i in 0:min(N, S - M + 1)"
    )


# --- against a search over numbers -------------------------------------------------------------------------

NAMES = "ijk"
WIDE = range(-60, 61)


def random_access(rng, names):
    """Return an index as its coefficients by name, and a constant."""
    chosen = rng.sample(names, rng.choice([1, 1, 1, 2]) if len(names) > 1 else 1)
    return {name: rng.choice([1, 1, 1, 2, 3, -1]) for name in chosen}, rng.choice([0, 0, 0, 1, -1, 2])


def index_text(access):
    terms, constant = access
    text = " + ".join(f"{c} * {name}" if c >= 0 else f"(-{-c}) * {name}" for name, c in terms.items())
    return f"{text} + {constant}" if constant >= 0 else f"{text} - {-constant}"


def searched(accesses, sizes):
    """Return the ranges by the paper's rounds, each value tried; None where they find none."""
    known = {}
    names = {name for terms, _ in accesses for name in terms}
    while names - set(known):
        bounding = {}
        for access, size in zip(accesses, sizes, strict=True):
            missing = set(access[0]) - set(known)
            if len(missing) == 1:
                bounding.setdefault(missing.pop(), []).append((access, size))
        if not bounding:
            return None
        for name, own in bounding.items():
            values = [v for v in WIDE if all(inside(access, size, name, v, known) for access, size in own)]
            if not values:
                return "empty"
            known[name] = range(values[0], values[-1] + 1)
    for (terms, constant), size in zip(accesses, sizes, strict=True):
        for point in itertools.product(*(known[name] for name in terms)):
            if not 0 <= sum(c * v for c, v in zip(terms.values(), point, strict=True)) + constant < size:
                return None
    return known


def inside(access, size, name, value, known):
    terms, constant = access
    others = [other for other in terms if other != name]
    return all(
        0
        <= terms[name] * value + constant + sum(terms[o] * v for o, v in zip(others, point, strict=True))
        < size
        for point in itertools.product(*(known[other] for other in others))
    )


@pytest.mark.parametrize("seed", range(8))
def test_ranges_are_those_of_a_search(seed):
    rng = random.Random(seed)
    for _ in range(12):
        names = NAMES[: rng.choice([1, 2, 2, 3])]
        accesses = [random_access(rng, names) for _ in range(rng.choice([1, 2, 3]) + len(names) - 1)]
        used = sorted({name for terms, _ in accesses for name in terms})
        sizes = [rng.randint(3, 14) for _ in accesses]
        reads = " + ".join(f"x{n}({index_text(access)})" for n, access in enumerate(accesses))
        parameters = ", ".join(f"float(N{n}) x{n}" for n in range(len(accesses)))
        text = f"def f({parameters}) -> (y) {{ y({','.join(used)}) = {reads} }}"
        expected = searched(accesses, sizes)
        try:
            found = domains(text, **{f"N{n}": size for n, size in enumerate(sizes)})
        except TcError as error:
            assert error.phase == "range" and not isinstance(expected, dict), (text, sizes, expected, error)
        else:
            assert isinstance(expected, dict), (text, sizes, found)
            assert found["y"] == tuple((expected[name][0], len(expected[name])) for name in used), (
                text,
                sizes,
            )
