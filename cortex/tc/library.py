"""Libraries of recursive comprehensions: the models that a text defines."""

from __future__ import annotations

from cortex.ra.model import Model
from cortex.tc.build import model_of
from cortex.tc.symbols import size_names
from ragged.errors import UserError
from ragged.tc.errors import TcError
from ragged.tc.library import FunctionLibrary
from ragged.tc.parse import parse
from ragged.tc.text import definition_text
from ragged.tc.tree import Definition


class RecursiveComprehension:
    """A recursive function of a text: a call with its sizes makes the model.

    Example::

        model = tc.define(text).tree_rnn(H=64, V=20_000)
        fn = cortex.compile(model, model.init_params(seed=0))
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    @property
    def name(self) -> str:
        """The function's name."""
        return self._definition.name

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes, which a call takes."""
        return size_names(self._definition)

    def __call__(self, /, **sizes: int) -> Model:
        """Return the model with these sizes.

        Its parameters and payloads have the names of the text's parameters: payloads are those with the node as the
        first dimension. Its outputs are the text's.

        Raises:
            UserError: a size is missing, unknown, or no number from 1 up.
            TcError: the text breaks a rule ("check"), or an index has no range ("range").
        """
        for name in sizes.keys() ^ set(self.sizes):
            what = "needs the size" if name in self.sizes else "has no size"
            fix = f"{self.name}({', '.join(f'{each}=...' for each in self.sizes)})"
            raise UserError(f"{self.name} {what} '{name}'", fix=fix)
        for name, value in sizes.items():
            if type(value) is not int or value < 1:
                raise UserError(f"{self.name}: {name}={value!r} is no size", fix="a number from 1 up")
        return model_of(self._definition, sizes)

    def __str__(self) -> str:
        return definition_text(self._definition)

    def __repr__(self) -> str:
        return f"<RecursiveComprehension {str(self).partition(' {')[0]}>"


class RecursiveLibrary(FunctionLibrary[RecursiveComprehension]):
    """The recursive functions of a text, each an attribute by its name."""


def define(text: str, *, name: str = "tc") -> RecursiveLibrary:
    """Return the recursive functions of a text; names and ranges are checked when a call makes a model.

    Args:
        text: any number of definitions, each with a structure and its node among its parameters: `tree n`, `tree(2) n`
            with at most two children, `dag n`, or `sequence n`.
        name: the name of the text in messages, before line and column.

    Raises:
        TcError: the text is not of the grammar ("parse"), or a definition is not recursive ("check").
        UserError: `text` is no string.

    Example::

        lib = tc.define(\"\"\"
        def tree_sum(tree n, int(n) word, float(V,H) emb) -> (h) {
          s(n,i) +=! h(k,i) where k in children(n)
          h(n,i) = s(n,i) + emb(word(n),i)
        }\"\"\")
        model = lib.tree_sum(H=64, V=20_000)
    """
    if not isinstance(text, str):
        raise UserError(f"define: the text is of type {type(text).__name__}", fix="a string of definitions")
    functions: dict[str, RecursiveComprehension] = {}
    for definition in parse(text, name):
        if definition.name in functions:
            raise TcError("check", f"the function '{definition.name}' is already defined", at=definition.at)
        if definition.structure is None:
            raise TcError(
                "check",
                f"'{definition.name}' runs over no structure",
                at=definition.at,
                fix="a parameter such as 'tree n'; ragged.tc.define(text) is for functions of arrays",
            )
        functions[definition.name] = RecursiveComprehension(definition)
    return RecursiveLibrary(functions)
