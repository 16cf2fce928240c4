"""The packages of the compiler: `ragged`, and the front ends that are built on it and register themselves."""

from __future__ import annotations

import os

_packages = ["ragged"]


def register_front_end(package: str) -> None:
    """Register a front end's top-level package: source locations skip its frames, and it names settings.

    With "cortex" the environment variable `CORTEX_CACHE_DIR` is read like `RAGGED_CACHE_DIR`.
    """
    if package not in _packages:
        _packages.append(package)


def is_internal(module: str) -> bool:
    """Return whether a module, by its full name, is part of the compiler or of a front end."""
    return module.partition(".")[0] in _packages


def setting(name: str) -> str | None:
    """Return the environment variable of that name, of the front end registered last that has it; None if unset."""
    values = (os.environ.get(f"{package.upper()}_{name}") for package in reversed(_packages))
    return next((value for value in values if value is not None), None)


def application() -> str:
    """Return the package registered last: it names the cache's folder."""
    return _packages[-1]
