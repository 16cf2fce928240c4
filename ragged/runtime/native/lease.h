// Python objects that lend the memory of a block and give it back to where it came from when nobody needs them any more.
// For arrays that are made for each call: their memory is that of arrays of earlier calls.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "blocks.h"

namespace ragged {

// Smaller arrays an allocator finds room for; for larger ones it may ask the system for pages, each time anew.
constexpr std::int64_t kLarge = 64 * 1024;

// Make the type. Call it once, before the other; like that one it is called with the GIL held, and who returns false or
// null has set an exception.
bool prepare_leases();

// An object that has the buffer protocol, over so many bytes of a block of `blocks`, and where they are: at a cache line,
// uninitialised. `blocks` are shared with it: it may outlive all others who have them.
PyObject* new_lease(std::int64_t bytes, const std::shared_ptr<Blocks>& blocks, std::int64_t& address);

}  // namespace ragged
