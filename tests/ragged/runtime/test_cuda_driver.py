"""What is asked of the CUDA driver, and what is said of what it refuses."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ragged.errors import UserError
from ragged.runtime.cuda.driver import Driver
from ragged.runtime.cuda.launch import Launch

LAUNCH = Launch("f", blocks=132, threads=256, shared_bytes=1024, architecture="sm_90")


class Library:
    """A driver's library that refuses one function with a code, and notes which are called with what."""

    def __init__(self, refuses: str = "", code: int = 0) -> None:
        self.refuses, self.code = refuses, code
        self.calls: list[tuple[str, tuple]] = []
        self.words: list[int] = []

    def __getattr__(self, name: str):
        def call(*arguments: object) -> int:
            if name == "cuGetErrorString":
                arguments[1]._obj.value = b"what it means"
                return 0
            self.calls.append((name, arguments))
            if name == "cuEventElapsedTime":
                arguments[0]._obj.value = 1.5
            if name == "cuLaunchCooperativeKernel":  # what is launched with is gone when the call is over
                number = ctypes.POINTER(ctypes.c_uint64)
                self.words = [ctypes.cast(address, number)[0] for address in arguments[9]]
            return self.code if name == self.refuses else 0

        return call


ENDS = ("Record", "Synchronize", "ElapsedTime")
"""What is done with events after a launch."""


def run(device: Driver) -> int:
    return device.run(ctypes.c_void_p(7), LAUNCH, [5, -1, 2**63], device.timer())


def said(refuses: str, code: int, act) -> str:
    with pytest.raises(UserError) as error:
        act(Driver(Library(refuses, code)))
    return str(error.value)


def test_no_device():
    assert said("cuInit", 100, lambda device: device) == (
        "no GPU to run a kernel on\n"
        "  because: cuInit says 100: what it means\n"
        "  fix: call it on a machine with a GPU, or compile for this one: target='cpu'"
    )


def test_a_device_of_another_kind():
    assert said("cuModuleLoadData", 209, lambda device: device.load(b"", LAUNCH)) == (
        "the kernel was compiled for sm_90\n"
        "  because: cuModuleLoadData says 209: what it means\n"
        '  fix: compile it for this GPU\'s architecture: target="cuda -arch=sm_..."'
    )


def test_a_device_with_too_few_multiprocessors():
    assert said("cuLaunchCooperativeKernel", 720, run) == (
        "this GPU has fewer multiprocessors than the kernel's 132 blocks\n"
        "  because: cuLaunchCooperativeKernel says 720: what it means\n"
        '  fix: compile it for as many: target="cuda -arch=sm_90 -multiprocessors=..."'
    )


def test_anything_else():
    assert said("cuMemAlloc_v2", 2, lambda device: device.allocate(8)) == (
        "the GPU cannot run the kernel\n  because: cuMemAlloc_v2 says 2: what it means"
    )


def test_a_launch_of_all_blocks_at_once():
    library = Library()
    assert run(Driver(library)) == 1_500_000
    names = [name for name, _ in library.calls[-5:]]
    assert names == ["cuEventRecord", "cuLaunchCooperativeKernel", *(f"cuEvent{each}" for each in ENDS)]
    arguments = library.calls[-4][1]
    assert [argument.value for argument in arguments[:8]] == [7, 132, 1, 1, 256, 1, 1, 1024]
    assert library.words == [5, 2**64 - 1, 2**63]


def test_nothing_is_copied_of_nothing():
    library = Library()
    device = Driver(library)
    begun = len(library.calls)
    device.upload(8, np.empty(0, np.float32))
    device.download(np.empty((0, 4), np.float32), 8)
    assert len(library.calls) == begun
    device.allocate(0)
    assert library.calls[-1][1][1].value == 1
