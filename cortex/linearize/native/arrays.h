// The arrays of a result. Large ones reuse the memory of earlier results that were freed, for its
// pages are mapped already.
#pragma once

#include <memory>

#include "blocks.h"
#include "plan.h"

namespace cortex {

void load_numpy();  // once, before arrays are made or looked at

// For each array that results have, in the order in which they are made: memory that it may take.
using Pools = std::vector<std::shared_ptr<ragged::Blocks>>;

// Makes the arrays of one result.
class Arrays {
 public:
  explicit Arrays(Pools& pools) : pools_(pools) {}

  // A new array, not initialised, and its memory.
  std::pair<nb::object, void*> make(const std::vector<Py_ssize_t>& shape, DType dtype);
  // The next array is a read-only view of memory that `owner` keeps alive.
  nb::object borrow(const void* memory, Py_ssize_t elements, DType dtype, nb::object owner);
  nb::object ints(std::size_t length, std::int32_t*& data);
  nb::object copy(const std::int32_t* values, std::size_t count);
  template <class Ints>
  nb::object copy(const Ints& values) {
    return copy(values.data(), values.size());
  }

 private:
  const std::shared_ptr<ragged::Blocks>& next_pool();

  Pools& pools_;
  std::size_t next_ = 0;
};

}  // namespace cortex
