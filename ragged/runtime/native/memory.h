// Python's numbers and NumPy's arrays as calls need them. All with the GIL held; who returns false or null has set an
// exception, but for `address_of`.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lease.h"

namespace ragged {

// Find what is used of numpy, and make a type. Call it once, before the others.
bool prepare_memory();

bool number_of(PyObject* value, std::int64_t& number);

// Add up a tuple of sizes in bytes.
bool sum_of(PyObject* sizes, std::size_t& sum);

// Where an array's elements stand, if it lends them as they are: of this format, C-contiguous, and aligned to their
// size. Returns whether it does, and sets no exception.
bool address_of(PyObject* array, const char* format, std::int64_t& address);

// A new array of numpy's, uninitialised, that begins at a cache line; `item` is what an element takes, in bytes. The memory
// of a large one comes from `blocks`, and goes back there when the last array that refers to it is gone.
PyObject* new_array(PyObject* shape, PyObject* dtype, std::int64_t item, const std::shared_ptr<Blocks>& blocks,
                    std::int64_t& address);

bool append_pair(PyObject* list, std::int64_t first, std::int64_t second);

}  // namespace ragged
