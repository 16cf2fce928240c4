"""How many processors a process may use, by affinity and by the quotas of control groups."""

from __future__ import annotations

import os

import pytest

from ragged.runtime import cores
from ragged.runtime.cores import quota, usable_cores


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


@pytest.mark.parametrize(
    ("files", "groups", "share"),
    [
        ({}, "0::/\n", None),
        ({"cpu.max": "max 100000\n"}, "0::/\n", None),
        ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
        ({"a/b/cpu.max": "max 100000\n", "a/cpu.max": "400000 100000\n"}, "0::/a/b\n", 4.0),
        ({"a/b/cpu.max": "200000 100000\n", "a/cpu.max": "400000 100000\n"}, "0::/a/b\n", 2.0),
        ({"cpu.max": "200000 100000\n"}, "0::/../../elsewhere\n", None),
        ({"cpu.max": "50000 100000\n"}, "0::/not/here\n", 0.5),
        ({"cpu.max": "what\n"}, "0::/\n", None),
        (
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            "4:memory:/x\n2:cpu,cpuacct:/x\n",
            3.0,
        ),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, "1:cpu:/\n0::/\n", None),
        ({}, "nonsense\n", None),
    ],
)
def test_quotas(tmp_path, files, groups, share):
    write(tmp_path, files)
    assert quota(groups, tmp_path) == share


@pytest.mark.parametrize(("share", "count"), [("50000", 1), ("100000", 1), ("10000000", None), ("max", None)])
def test_the_smaller_of_quota_and_affinity(tmp_path, monkeypatch, share, count):
    monkeypatch.setattr(cores, "_CGROUPS", tmp_path)
    write(tmp_path, {"cpu.max": f"{share} 100000\n"})
    assert usable_cores() == (count or len(os.sched_getaffinity(0)))
