// Python objects that export a block through the buffer protocol and return it to its free list when they are deleted:
// arrays of a call reuse the memory of arrays of earlier calls.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "blocks.h"

namespace ragged {

// Bytes from which an array uses a block: for large arrays malloc may map new pages each time.
constexpr std::int64_t kLarge = 64 * 1024;

// Create the type; call it once, before `new_lease`. Both need the GIL and set an exception where they return false or
// null.
bool prepare_leases();

// A buffer of `bytes` bytes in a block of `blocks`, uninitialised, and its address, a multiple of a cache line. The
// object shares ownership of `blocks`.
PyObject* new_lease(std::int64_t bytes, const std::shared_ptr<Blocks>& blocks, std::int64_t& address);

}  // namespace ragged
