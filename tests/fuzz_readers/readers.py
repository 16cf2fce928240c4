"""Everything that reads files and texts, with inputs to begin with."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

import cortex
import ragged
from cortex import Vocab, models, read_conllu, read_ptb
from cortex.cli.trees import read_params, read_trees, read_vocab
from cortex.data import sample_treebank
from cortex.linearize import Linearizer
from ragged import tc
from ragged.api.function_chain import FunctionChain
from ragged.auto.options import ScheduleOptions
from ragged.codegen.target import read_target
from ragged.compiled.artifact import CODE, read_artifact
from ragged.errors import DataError
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.runtime.bundle import MANIFEST, FileFormat, read_bundle, write_bundle
from ragged.tc.kernel import TcKernel
from ragged.tuning.records import Record, RecordKey, append_record, records_of
from tests.fuzz_readers.reader import Reader

ROOT = Path(__file__).resolve().parents[2]
VOCAB = Vocab(["a", "b", "<unk>"], unk="<unk>")
MODEL = models.tree_sum(hidden=4, vocab=3)
TREE_PLAN = models.tree_gru(hidden=2, embed=2, vocab=3).plan()
DAG_PLAN = models.dag_rnn(hidden=2, embed=2).plan()
BRACKETS = (
    b"(3 (2 the) (4 film))",
    b"(S (NP (DT the) cat) (VP sat\n))",
    b"( (S (X a) (Y b)) )",
    b"(2 (2 a) (2 b))",
)
CONLLU = b"""\
# sent_id = one
# text = She wants to dance and sing
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Gender=Fem\t2\tnsubj\t2:nsubj|4:nsubj:xsubj\t_
2\twants\twant\tVERB\tVBZ\t_\t0\troot\t0:root\t_
3-4\tto dance\t_\t_\t_\t_\t_\t_\t_\t_
3\tto\tto\tPART\tTO\t_\t4\tmark\t4:mark\t_
4\tdance\tdance\tVERB\tVB\t_\t2\txcomp\t2:xcomp|2:conj\tSpaceAfter=No
5.1\tdo\tdo\tVERB\tVB\t_\t_\t_\t4:dep\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t0:root\t_

"""
KEY = RecordKey("p", "m", 2, "T=5")
PROGRAM_WORDS = (
    "for if else with scope kernel: serial( parallel( facts( reduce(sum, local( const( payload( [n] "
)
JSON = tuple(b'{} [] "" null -1 1e400 {"a":1} PK\x03\x04 PK\x05\x06 float64 int8'.split())
TC_WORDS = "def f ( float(N) x ) -> (y) { y(i) = +=! min= where i in 0:N exists ? : && ! % x(i+1) x(x(i)) int64 1e30 "


def from_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a reader of bytes of one that reads a file."""
    path = Path("input")

    def of_bytes(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return of_bytes


def of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Return a reader of bytes of one that takes a text; bytes that are no UTF-8 become lone surrogates."""
    return lambda data: read(data.decode("utf-8", errors="surrogateescape"))


def words(text: str) -> tuple[bytes, ...]:
    """Return the words of a text, each as bytes."""
    return tuple(word.encode() for word in text.split())


def treebank(path: Path) -> None:
    """Read a file as `read_ptb` does, with and without a vocabulary, and as commands do."""
    for read in (read_ptb, lambda path: read_ptb(path, VOCAB), read_trees):
        with suppress(DataError):
            read(path)


def conllu(path: Path) -> None:
    """Read a file's trees and its graphs, and linearize both."""
    for enhanced, plan in ((False, TREE_PLAN), (True, DAG_PLAN)):
        with suppress(DataError):
            found = read_conllu(path, VOCAB, enhanced=enhanced, on_cycle=lambda _: None)
            Linearizer(plan)(found)


def program(text: str) -> None:
    """Parse a program; what it prints has to parse to the same."""
    printed = to_text(parse(text))
    if to_text(parse(printed)) != printed:
        raise AssertionError("it prints as another program")


def records(path: Path) -> object:
    """Return the records of a key."""
    return list(records_of(path, KEY, ScheduleOptions))


def archive(form: FileFormat[Any], members: dict[str, bytes], name: str) -> Callable[[bytes], bytes]:
    """Return the file with a member replaced, and with right hashes."""
    plain = zipped(members)

    def of(data: bytes) -> bytes:
        if name != MANIFEST:
            content = msgspec.json.decode(members[MANIFEST])["content"]
            rest = {each: value for each, value in members.items() if each != MANIFEST}
            return write_bundle(form, content, rest | {name: data})
        return plain(data)

    return of


def zipped(members: dict[str, bytes]) -> Callable[[bytes], bytes]:
    """Return the archive of members with another manifest, and its hash."""

    def of(data: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as made:
            made.comment = hashlib.sha256(data).hexdigest().encode()
            for name, value in (members | {MANIFEST: data}).items():
                made.writestr(name, value)
        return file.getvalue()

    return of


def described(form: FileFormat[Any]) -> Callable[[bytes], object]:
    """Return a reader of artifacts that loads no code: whatever their manifest says of it."""

    def read(data: bytes) -> object:
        saved, _, members = read_artifact(form, data)
        return saved.kernel.executable.describe(members[CODE])

    return read


def artifacts() -> dict[str, Reader]:
    """Return the readers of saved functions; the functions are compiled here."""
    recursive = cortex.compile(MODEL, MODEL.init_params(seed=0), vocab=VOCAB, schedule=None, threads=1)
    row, column = ragged.dim("row"), ragged.dim("column")
    lengths = ragged.length_fn("lengths", over=row)
    x = ragged.input_tensor("x", [(row, ragged.size("rows")), (column, lengths(row))])
    y = ragged.compute("y", x.dims, lambda i, j: 2 * x[i, j])
    plain = ragged.compile(y, schedule=None, threads=1)
    chain = FunctionChain([plain, plain])
    text = tc.define("def scaled(float(N) x, float s) -> (y) { y(i) = s * x(i) }")
    readers = {}
    for name, function, load in (
        ("cortex.load", recursive, cortex.load),
        ("ragged.load", plain, ragged.load),
        ("ragged.tc.load", text.scaled, tc.load),
        ("FunctionChain.load", chain, FunctionChain.load),
    ):
        stream = io.BytesIO()
        function.save(stream)
        readers[name] = Reader((stream.getvalue(),), JSON, load)
        if function is not chain:
            form = TcKernel.form if isinstance(function, tc.TcFunction) else type(function).form
            _, found = read_bundle(form, stream.getvalue())
            with zipfile.ZipFile(stream) as opened:
                found[MANIFEST] = opened.read(MANIFEST)
            for member in sorted(set(found) - {CODE}):
                load_ = described(form) if member == MANIFEST else load
                of = archive(form, found, member)
                readers[f"{name}, {member}"] = Reader(
                    (found[member],), JSON, lambda data, of=of, load_=load_: load_(of(data))
                )
    return readers


def npz() -> bytes:
    """Return a file of two arrays."""
    stream = io.BytesIO()
    np.savez_compressed(stream, emb=np.zeros((3, 4), np.float32), b=np.ones(2))
    return stream.getvalue()


def records_file() -> bytes:
    """Return a file of two records."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        append_record(path, Record(KEY, {"tile": (6, 4), "prefetch": False}, 0.9, 3.5))
        append_record(path, Record(KEY, {}, None, None, "no registers"))
        return path.read_bytes()


def alone(text: str) -> Iterator[bytes]:
    """Yield the definitions of a text that call no other one."""
    for body in text.split("def ")[1:]:
        with suppress(tc.TcError):
            tc.define(f"def {body}")
            yield f"def {body}".encode()


@cache
def readers() -> dict[str, Reader]:
    """Return all readers by name."""
    treebank_lines = tuple(sample_treebank().read_bytes().splitlines()[:20])
    brackets = Linearizer(MODEL.plan(), vocab=VOCAB)
    texts = [
        (ROOT / "tests/ragged/ir/golden" / f"{name}.txt").read_bytes()
        for name in ("all_constructs", "tree_sum")
    ]
    files = sorted((ROOT / "examples/tc").glob("*.tc"))
    comprehensions = [each for path in files for each in alone(path.read_text(encoding="utf-8"))]
    return {
        "read_ptb": Reader(
            (*BRACKETS, b"\n".join(treebank_lines)), words("( ) (NP (2 the)"), from_file(treebank)
        ),
        "brackets": Reader(BRACKETS, words("( ) (2 the a b"), of_text(brackets)),
        "read_conllu": Reader((CONLLU,), words("0:root 1-2 1.1 8 2:x _ | = #"), from_file(conllu)),
        "read_vocab": Reader((b"the\ncat\n<unk>\n",), words("<unk> the"), from_file(read_vocab)),
        "read_params": Reader((npz(),), words("emb.npy descr <f4 |O shape"), from_file(read_params)),
        "records": Reader((records_file(),), JSON, from_file(records)),
        "parse": Reader(texts, words(PROGRAM_WORDS), of_text(program)),
        "tc.define": Reader(comprehensions, words(TC_WORDS), of_text(tc.define)),
        "target": Reader(
            (b"llvm -mcpu=znver4 -mattr=+avx2,-fma -num-cores=8",),
            words("cuda - = -keys"),
            of_text(read_target),
        ),
        **artifacts(),
    }
