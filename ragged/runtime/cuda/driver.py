"""The CUDA driver API, through ctypes. The library is opened at the first call of a kernel, not at import."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any, TypeAlias

from ragged.errors import UserError
from ragged.runtime.cuda.launch import Launch
from ragged.runtime.memory import Array, raw_address

LIBRARY = "libcuda.so.1"

Timer: TypeAlias = tuple[c_void_p, c_void_p]
"""The driver's events before and after a launch."""

_NO_DEVICE, _NO_BINARY, _TOO_LARGE = 100, 209, 720
"""CUDA_ERROR_NO_DEVICE, ..._NO_BINARY_FOR_GPU and ..._COOPERATIVE_LAUNCH_TOO_LARGE."""
_SHARED_BYTES = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


@cache
def the_driver() -> Driver:
    """Return the driver of the first GPU of this machine.

    Raises:
        UserError: there is none, or it cannot be used.
    """
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise UserError(
            "no GPU to run a kernel on: the CUDA driver is not here",
            because=str(error),
            fix="call it on a machine with a GPU and its driver, or compile for this one: target='cpu'",
        ) from None
    return Driver(library)


class Driver:
    """The driver's context on one device; every method raises `UserError` where the driver fails."""

    def __init__(self, library: Any) -> None:
        self._cuda = library
        self._context = c_void_p()
        device = c_int()
        self._do("cuInit", c_uint(0))
        self._do("cuDeviceGet", byref(device), c_int(0))
        self._do("cuDevicePrimaryCtxRetain", byref(self._context), device)

    def enter(self) -> None:
        """Make the context current in the calling thread; call it first in each thread."""
        self._do("cuCtxSetCurrent", self._context)

    def load(self, cubin: bytes, launch: Launch) -> c_void_p:
        """Load `cubin` and return the kernel's function."""
        module, function = c_void_p(), c_void_p()
        self._do("cuModuleLoadData", byref(module), c_char_p(cubin), launch=launch)
        self._do("cuModuleGetFunction", byref(function), module, c_char_p(launch.function.encode()))
        self._do("cuFuncSetAttribute", function, c_int(_SHARED_BYTES), c_int(launch.shared_bytes))
        return function

    def allocate(self, size: int) -> int:
        """Allocate `size` bytes on the device, at least one, and return their address."""
        address = c_uint64()
        self._do("cuMemAlloc_v2", byref(address), c_size_t(max(size, 1)))
        return address.value

    def free(self, address: int) -> None:
        """Free memory of `allocate`."""
        self._do("cuMemFree_v2", c_uint64(address))

    def upload(self, address: int, array: Array) -> None:
        """Copy a C-contiguous array to the device."""
        if array.nbytes:
            self._do(
                "cuMemcpyHtoD_v2", c_uint64(address), c_void_p(raw_address(array)), c_size_t(array.nbytes)
            )

    def download(self, array: Array, address: int) -> None:
        """Copy from the device to all of a C-contiguous array."""
        if array.nbytes:
            self._do(
                "cuMemcpyDtoH_v2", c_void_p(raw_address(array)), c_uint64(address), c_size_t(array.nbytes)
            )

    def timer(self) -> Timer:
        """Return the events before and after a launch; `release` frees them."""
        events = (c_void_p(), c_void_p())
        for event in events:
            self._do("cuEventCreate", byref(event), c_uint(0))
        return events

    def release(self, timer: Timer) -> None:
        """Free the events of `timer`."""
        for event in timer:
            self._do("cuEventDestroy_v2", event)

    def run(self, function: c_void_p, launch: Launch, words: Sequence[int], timer: Timer) -> int:
        """Launch a kernel with arguments of 64 bits, all of its blocks at once, and wait for its end.

        Return the nanoseconds that it took on the device.
        """
        held = [c_uint64(word & (1 << 64) - 1) for word in words]
        addresses = (c_void_p * len(held))(*(ctypes.addressof(word) for word in held))
        grid = (c_uint(launch.blocks), c_uint(1), c_uint(1), c_uint(launch.threads), c_uint(1), c_uint(1))
        shared, stream, took = c_uint(launch.shared_bytes), c_void_p(), c_float()
        self._do("cuEventRecord", timer[0], stream)
        self._do("cuLaunchCooperativeKernel", function, *grid, shared, stream, addresses, launch=launch)
        self._do("cuEventRecord", timer[1], stream)
        self._do("cuEventSynchronize", timer[1])
        self._do("cuEventElapsedTime", byref(took), *timer)
        return round(took.value * 1e6)

    def _do(self, name: str, *arguments: object, launch: Launch | None = None) -> None:
        code = int(getattr(self._cuda, name)(*arguments))
        if code:
            raise self._refusal(name, code, launch)

    def _refusal(self, name: str, code: int, launch: Launch | None) -> UserError:
        text = c_char_p()
        self._cuda.cuGetErrorString(c_int(code), byref(text))
        because = f"{name} says {code}: {(text.value or b'unknown error').decode()}"
        if code == _NO_DEVICE:
            fix = "call it on a machine with a GPU, or compile for this one: target='cpu'"
            return UserError("no GPU to run a kernel on", because=because, fix=fix)
        if launch is not None and code == _NO_BINARY:
            fix = 'compile it for this GPU\'s architecture: target="cuda -arch=sm_..."'
            return UserError(f"the kernel was compiled for {launch.architecture}", because=because, fix=fix)
        if launch is not None and code == _TOO_LARGE:
            fix = f'compile it for as many: target="cuda -arch={launch.architecture} -multiprocessors=..."'
            what = f"this GPU has fewer multiprocessors than the kernel's {launch.blocks} blocks"
            return UserError(what, because=because, fix=fix)
        return UserError("the GPU cannot run the kernel", because=because)
