"""The cache on disk: entries come back whole or not at all, whatever becomes of the folder."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragged.runtime import disk_cache
from ragged.runtime.disk_cache import DiskCache

LIMIT = 10_000


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "a" / "cache", LIMIT)


def only_file(cache):
    (path,) = cache.folder.iterdir()
    return path


def test_what_was_put_comes_back(cache):
    assert cache.get("k") is None and not cache.folder.exists(), "reading makes nothing"
    cache.put("k", b"value")
    assert cache.get("k") == b"value" and cache.get("l") is None
    cache.put("k", b"other")
    assert cache.get("k") == b"other"
    cache.put("e", b"")
    assert cache.get("e") == b""


def test_others_may_neither_read_nor_write_it(cache):
    cache.put("k", b"value")
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only_file(cache).stat().st_mode) == 0o600


def test_damage_is_no_entry_and_is_mended(cache):
    cache.put("k", b"some value")
    whole = only_file(cache).read_bytes()
    damaged = [whole[:size] for size in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for data in [*damaged, whole + b"x", b"\0" * 1000]:
        only_file(cache).write_bytes(data)
        assert cache.get("k") is None
    cache.put("k", b"some value")
    assert cache.get("k") == b"some value"


def test_an_entry_of_another_key_is_none(cache):
    cache.put("k", b"value")
    only_file(cache).rename(cache.folder / "l.entry")
    assert cache.get("l") is None


def test_what_is_no_plain_file_is_no_entry(cache, tmp_path):
    cache.put("k", b"value")
    path = only_file(cache)
    aside = tmp_path / "aside"
    path.rename(aside)
    path.symlink_to(aside)
    assert cache.get("k") is None
    path.unlink()
    os.mkfifo(path)
    assert cache.get("k") is None
    path.unlink()
    path.mkdir()
    assert cache.get("k") is None
    cache.put("k", b"value")
    assert cache.get("k") is None and list(cache.folder.iterdir()) == [path], "a folder cannot be replaced"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_not_used(cache, mode):
    cache.put("k", b"value")
    cache.folder.chmod(mode)
    assert cache.get("k") is None
    cache.put("l", b"value")
    assert not (cache.folder / "l.entry").exists()


def test_an_entry_that_others_may_write_is_not_used(cache):
    cache.put("k", b"value")
    only_file(cache).chmod(0o606)
    assert cache.get("k") is None


def test_what_belongs_to_somebody_else_is_not_used(cache, monkeypatch):
    cache.put("k", b"value")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.get("k") is None


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "inner", tmp_path / ("x" * 300)):
        cache = DiskCache(folder, LIMIT)
        cache.put("k", b"value")
        assert cache.get("k") is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_to_a_folder(cache, tmp_path):
    cache.put("k", b"value")
    (tmp_path / "link").symlink_to(cache.folder)
    linked = DiskCache(tmp_path / "link", LIMIT)
    assert linked.get("k") == b"value"
    cache.folder.chmod(0o777)
    assert linked.get("k") is None, "others may write where it leads"


def test_how_much_is_used(cache):
    with pytest.raises(FileNotFoundError):
        cache.used()
    cache.put("k", b"value")
    cache.put("l", b"")
    (cache.folder / "x.new").write_bytes(b"half")
    assert cache.used() == (2, 2 * 32 + 5)


def test_no_room(cache, monkeypatch):
    cache.put("k", b"value")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put("k", b"other")
    assert cache.get("k") == b"value"
    assert len(list(cache.folder.iterdir())) == 1, "nothing unfinished stays"


def test_the_least_recently_used_goes_first(cache):
    for at, key in enumerate("abc"):
        cache.put(key, bytes(3000))
        os.utime(cache.folder / f"{key}.entry", (at, at))
    assert cache.get("a") is not None, "which is now the last used"
    cache.put("d", bytes(3000))
    assert [key for key in "abcd" if cache.get(key) is not None] == ["a", "c", "d"]
    cache.put("huge", bytes(LIMIT + 1))
    assert list(cache.folder.iterdir()) == []


def test_what_was_never_finished_is_removed_in_time(cache):
    cache.put("k", b"value")
    old, new = cache.folder / "x.new", cache.folder / "y.new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 4000,) * 2)
    disk_cache._free.clear()  # as in another process
    cache.put("l", b"value")
    assert not old.exists() and new.exists()


def test_all_entries_are_looked_at_when_the_folder_may_be_full(cache, monkeypatch):
    looked, listed = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: looked.append(folder) or listed(folder))
    for at in range(40):
        cache.put(f"k{at}", bytes(300 - 32))
        assert cache.used()[1] <= LIMIT
        looked.pop()  # of `used`
    assert len(looked) < 30 and cache.get("k39") is not None and cache.get("k0") is None


def test_many_writers_and_readers(cache):
    values = [bytes([at]) * (500 + at) for at in range(8)]
    cache.put("k", values[0])

    def work(seed: int) -> bool:
        right = True
        for at in range(50):
            cache.put("k", values[(seed + at) % 8])
            right &= cache.get("k") in values
        return right

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert [path.name for path in cache.folder.iterdir()] == ["k.entry"]
