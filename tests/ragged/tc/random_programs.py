"""Random functions of Tensor Comprehensions: statements that read inputs and what is written before."""

import random

import numpy as np

SIZES = {"N": 5, "M": 4, "K": 3}
SHAPES = {"a": ("N", "M"), "b": ("M", "K"), "c": ("N",), "d": ("M",), "e": ("K",)}
PARAMETERS = ", ".join(f"float({','.join(shape)}) {name}" for name, shape in SHAPES.items())


class Writer:
    """Writes a function of statements that each read inputs and what is written before.

    So many of the statements have no ranges: they are inferred, or the function is refused.
    """

    def __init__(self, seed, without_ranges=0.0):
        self.without_ranges = without_ranges
        self.rng = random.Random(seed)
        self.tensors = dict(SHAPES)

    def text(self):
        statements, outputs = [], []
        for number in range(self.rng.choice([1, 2, 3])):
            name = f"y{number}"
            statements.append(self.statement(name))
            outputs.append(name)
        return f"def f({PARAMETERS}, int32(N) at) -> ({', '.join(outputs)}) {{ {' '.join(statements)} }}"

    def statement(self, name):
        indices = self.rng.sample(sorted(SIZES), self.rng.choice([1, 2, 2, 3]))
        kept = self.rng.randint(0 if len(indices) > 1 else 1, len(indices))
        left = indices[:kept]
        reads = " , ".join(self.read(indices) for _ in range(2)).split(" , ")
        value = self.combined(reads)
        clauses = ", ".join(f"{index.lower()} in 0:{index}" for index in indices)
        where = "" if self.rng.random() < self.without_ranges else f" where {clauses}"
        operator = "=" if kept == len(indices) else self.rng.choice(["+=!", "+=!", "max=!", "min=!"])
        self.tensors[name] = tuple(left)
        own = f"({', '.join(index.lower() for index in left)})"
        again = ""
        if self.rng.random() < 0.4 and kept:
            again = f" {name}{own} {self.rng.choice(['=', '+='])} tanh({name}{own}) * 0.5"
        return f"{name}{own} {operator} {value}{where}{again}"

    def read(self, indices):
        fits = [(name, shape) for name, shape in self.tensors.items() if set(shape) <= set(indices)]
        if not fits or self.rng.random() < 0.15:
            return f"float({indices[0].lower()}) * 0.25"
        name, shape = self.rng.choice(fits)
        own = [self.index(size) for size in shape]
        return f"{name}({', '.join(own)})" if shape else name

    def index(self, size):
        """Return an index of a dimension: plain, reversed, guarded by min and max, or a gather."""
        index = size.lower()
        forms = [index] * 4 + [f"{size} - 1 - {index}", f"min({index} + 1, {size} - 1)", f"({index} + 1) / 2"]
        if self.without_ranges:
            forms += [f"{index} - 1", f"{index} + 2", f"2 * {index}"]
        if size == "N":
            forms.append("at(n)")
        return self.rng.choice(forms)

    def combined(self, reads):
        one, other = reads
        form = self.rng.choice(
            [
                "{0} * {1}",
                "{0} + {1}",
                "{0} < {1} ? {0} : {1}",
                "fmax({0}, -{1})",
                "sigmoid({0}) - {1}",
                "tanh({0})",
            ]
        )
        return form.format(one, other)


def arguments(seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal([SIZES[s] for s in shape]).astype(np.float32) for shape in SHAPES.values()]
    return [*arrays, rng.integers(0, SIZES["N"], SIZES["N"]).astype(np.int32)]


def close(found, wanted, text):
    """Compare outputs by name."""
    assert set(found) == set(wanted), text
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=text)
