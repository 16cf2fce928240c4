#include "rows.h"

#include <algorithm>

namespace cortex {

void Column::grow(std::size_t bytes) {
  std::size_t capacity = std::max({capacity_ * 2, size_ + bytes, std::size_t{1024}});
  void* moved = std::realloc(data_, capacity);
  if (moved == nullptr) throw std::bad_alloc();
  data_ = static_cast<char*>(moved);
  capacity_ = capacity;
}

Rows::Rows(const PlanSpec& plan, std::int64_t limit) : columns(plan.payloads.size()), limit_(limit) {
  for (std::vector<std::int32_t>* ints : {&heights, &slot_begin, &slots}) ints->reserve(256);
  slot_begin.push_back(0);
  root_begin.push_back(0);
  row_begin.push_back(0);
}

std::int32_t Rows::finish(const std::int32_t* children, std::size_t width, nb::object key) {
  auto row = static_cast<std::int64_t>(count());
  if (row >= limit_) fault("too_large", "nodes", limit_);
  if (static_cast<std::int64_t>(slots.size() + width) > limit_) fault("too_large", "edges", limit_);
  std::int32_t height = 0;
  for (std::size_t i = 0; i < width; ++i) {
    std::int32_t child = children[i];
    slots.push_back(child);
    if (child < 0) {
      has_holes = true;
    } else {
      height = std::max(height, heights[static_cast<std::size_t>(child)] + 1);
    }
  }
  slot_begin.push_back(static_cast<std::int32_t>(slots.size()));
  heights.push_back(height);
  keys.push(std::move(key));
  return static_cast<std::int32_t>(row);
}

void Rows::end_structure() {
  row_begin.push_back(static_cast<std::int32_t>(count()));
  root_begin.push_back(static_cast<std::int32_t>(roots.size()));
}

}  // namespace cortex
