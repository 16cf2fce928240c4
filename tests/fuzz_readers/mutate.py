"""Random and mutated bytes for readers: a case is drawn from its number alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

MOST_BYTES = 200_000
"""The most bytes of a case."""

SIGNS = (
    *(
        b"",
        b"\0",
        b"\n",
        b"\r\n",
        b"\t",
        b" ",
        b'"',
        b"'",
        b"#",
        b"\\",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
    ),
    *(
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"=",
        b"-",
        b"_",
        b".",
        b"0",
        b"1",
        b"-1",
        b"2147483648",
    ),
    *(b"9" * 5000, b"1e999", b"nan", b"0.1", "é漢😀".encode(), b"((((((((", b"null", b"true"),
)
"""What is inserted besides the words of a reader."""


def case(seeds: Sequence[bytes], words: Sequence[bytes], random: Random) -> bytes:
    """Return one of the seeds after up to eight changes, or now and then random bytes."""
    signs = (*SIGNS, *words, *words)
    if random.random() < 0.03:
        return b"".join(random.choice(signs) for _ in range(random.randrange(60)))
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        random.choice(CHANGES)(data, seeds, signs, random)
        del data[MOST_BYTES:]
    return bytes(data)


def _range(data: bytearray, random: Random, most: int = 64) -> slice:
    begin = random.randrange(len(data) + 1)
    return slice(begin, begin + random.randrange(most))


def _flip(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _insert(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    data[_range(data, random, 3)] = random.choice(signs)


def _delete(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    del data[_range(data, random)]


def _cut(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    del data[random.randrange(len(data) + 1) :]


def _copy(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    part = bytes(data[_range(data, random)])
    data[_range(data, random)] = part


def _splice(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    other = random.choice(seeds)
    data[_range(data, random)] = other[_range(bytearray(other), random, len(other) + 1)]


def _repeat(data: bytearray, seeds: Sequence[bytes], signs: Sequence[bytes], random: Random) -> None:
    """Insert one part many times: what is nested, or long."""
    part = random.choice((random.choice(signs), bytes(data[_range(data, random, 20)])))
    at = random.randrange(len(data) + 1)
    data[at:at] = part * int(10 ** random.uniform(0.5, 4))


CHANGES: tuple[Callable[[bytearray, Sequence[bytes], Sequence[bytes], Random], None], ...] = (
    *(_flip, _insert, _insert, _insert, _delete, _cut, _copy, _copy, _splice, _repeat),
)
