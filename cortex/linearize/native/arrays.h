// NumPy arrays to give away, made by NumPy's own C interface.
#pragma once

#include "plan.h"

namespace cortex {

void load_numpy();  // once, before anything else of this file

// A new array of its own memory, not initialised.
nb::object new_array(const std::vector<Py_ssize_t>& shape, DType dtype, void*& data);

// The elements of an array of just this dtype and shape, one after the other in memory; nullptr for anything else.
const void* array_data(PyObject* value, DType dtype, const std::vector<Py_ssize_t>& shape);

// One piece of memory that several arrays share; it lives as long as any of them.
class Block {
 public:
  // `bytes` is the sum of `rounded` over all arrays that will be taken.
  explicit Block(std::size_t bytes);

  // Each array begins at a cache line, as kernels like it.
  static std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
  static std::size_t rounded_ints(std::size_t count) { return rounded(count * sizeof(std::int32_t)); }

  nb::object take(std::size_t count, DType dtype, void*& data);
  nb::object take_ints(std::size_t count, std::int32_t*& data) {
    void* memory = nullptr;
    nb::object array = take(count, DType::Int32, memory);
    data = static_cast<std::int32_t*>(memory);
    return array;
  }

 private:
  static constexpr std::size_t kLine = 64;

  nb::object whole_;
  char* next_ = nullptr;
  std::size_t left_;
};

}  // namespace cortex
