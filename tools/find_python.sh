#!/usr/bin/env bash
# Print a Python that can build and run this project; where there is none, say what is missing and how to get it.
# PYTHON=/path/to/python chooses one; with --newer it is one after 3.11. Exit status 1 where anything is missing.
set -euo pipefail

missing=()
oldest=11
names=(python3 python3.13 python3.12 python3.11 python3.14 python)
if [ "${1:-}" = --newer ]; then
    oldest=12
    names=(python3.13 python3.12 python3.14 python3)
    if command -v pyenv >/dev/null; then  # the versions that it has installed, whichever it has on the PATH
        for version in $(pyenv versions --bare | grep "^3" | sort --version-sort --reverse); do
            names+=("$(pyenv prefix "$version")/bin/python")
        done
    fi
fi

need() {
    missing+=("$1"$'\n'"    $2")
}

# Free-threaded builds, which have a "t" among the flags of their ABI, are not supported.
is_new_enough() {
    command -v "$1" >/dev/null &&
        "$1" -c "import sys; sys.exit(sys.version_info < (3, $oldest) or 't' in sys.abiflags)" 2>/dev/null
}

find_python() {
    local name
    if [ -n "${PYTHON:-}" ]; then names=("$PYTHON"); fi
    for name in "${names[@]}"; do
        if is_new_enough "$name"; then
            command -v "$name"
            return
        fi
    done
}

check_python() {
    if ! "$1" -c 'import ensurepip, venv' 2>/dev/null; then
        need "the modules venv and ensurepip of $1" "Debian, Ubuntu: apt install python3-venv"
    fi
    local include
    include=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    if [ ! -f "$include/Python.h" ]; then
        need "Python.h (looked in $include)" "Debian, Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel"
    fi
}

check_compiler() {
    local compiler=${CXX:-g++}
    if ! command -v "$compiler" >/dev/null; then
        need "a C++ compiler ($compiler)" "Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; or set CXX"
    elif ! echo '#include <optional>' | "$compiler" -std=c++17 -fsyntax-only -x c++ - 2>/dev/null; then
        need "a C++ compiler with C++17 ($compiler has not)" "install g++ 9 or newer, or set CXX"
    fi
}

python=$(find_python)
if [ -n "$python" ]; then
    check_python "$python"
else
    need "Python 3.$oldest or newer${PYTHON:+ (PYTHON=$PYTHON is not)}" \
        "Debian 12, Ubuntu 24.04: apt install python3 python3-venv python3-dev; or https://www.python.org; or set PYTHON"
fi
check_compiler

if [ ${#missing[@]} -gt 0 ]; then
    echo "cortex cannot be built here. What is missing, and how to get it:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    exit 1
fi
echo "$python"
