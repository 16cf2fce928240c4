// Numbers that lie in memory, found without running Python code: NumPy's arrays, and tensors of libraries that offer DLPack's
// table of C functions on their class, as torch does (https://dmlc.github.io/dlpack/latest/c_api.html, DLPackExchangeAPI).
#pragma once

#include "column.h"

namespace cortex {

// The memory of an array or a tensor on the CPU, in native byte order: valid as long as the object lives and no code runs.
struct Numbers {
  const char* data;
  char kind;  // 'i', 'u' or 'f' as in NumPy
  std::size_t itemsize;
  int ndim;
  const Py_ssize_t* shape;
  const Py_ssize_t* strides;  // of `stride_bytes` bytes; nullptr: one element after another
  Py_ssize_t stride_bytes;

  // Whether they are floats of this type and shape, one after another.
  bool is_whole(DType dtype, const std::vector<Py_ssize_t>& expected) const;
};

// False where it is neither, holds other elements, or is on another device. A tensor of a subclass is neither: it may
// compute its elements.
bool find_numbers(PyObject* value, Numbers& to);

// The value of a NumPy scalar of float32 or float64; false where it is none.
bool read_numpy_float(PyObject* value, double& to);

// Append a scalar that is a NumPy scalar, or an array or a tensor without dimensions; false where it is none, or something is
// wrong with it. `rows.reserve_row()` was called for the node.
bool append_scalar_in_memory(const PayloadSpec& payload, PyObject* value, bool leaf, Column& column);

}  // namespace cortex
