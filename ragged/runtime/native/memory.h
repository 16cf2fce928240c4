// Python's numbers and NumPy's arrays. All need the GIL; all but `address_of` set an exception where they return false or
// null.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lease.h"

namespace ragged {

// Look up numpy's functions and create the lease type. Call it once, before the others.
bool prepare_memory();

bool number_of(PyObject* value, std::int64_t& number);

// Add up a tuple of sizes in bytes.
bool sum_of(PyObject* sizes, std::size_t& sum);

// The address of an array's elements, if it exports a C-contiguous buffer of this format, aligned to the element size.
// Returns whether it does, and sets no exception.
bool address_of(PyObject* array, const char* format, std::int64_t& address);

// A new NumPy array, uninitialised, aligned to a cache line; `item` is the bytes of an element. A large array uses a block
// of `blocks`, returned there when the last array that refers to it is deleted.
PyObject* new_array(PyObject* shape, PyObject* dtype, std::int64_t item, const std::shared_ptr<Blocks>& blocks,
                    std::int64_t& address);

// The address of an array that an output is written to: C-contiguous, writable, with elements of `item` bytes.
bool output_address(PyObject* array, std::int64_t item, std::int64_t& address);

bool append_pair(PyObject* list, std::int64_t first, std::int64_t second);

}  // namespace ragged
