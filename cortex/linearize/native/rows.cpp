#include "rows.h"

#include <limits>

namespace cortex {

Rows::Rows(const PlanSpec& plan, std::int64_t limit) 
    : columns(plan.payloads.begin(), plan.payloads.end()), limit_(limit) {
  clear();
}

namespace {

constexpr GrowingArray<std::int32_t> Rows::*kArrays[] = {&Rows::heights,    &Rows::of_height, &Rows::inner, &Rows::slots,
                                                &Rows::slot_begin, &Rows::roots, &Rows::root_begin, &Rows::row_begin};

}  // namespace

void Rows::clear() {
  for (auto array : kArrays) (this->*array).clear();
  for (GrowingArray<std::int32_t>* begin : {&slot_begin, &root_begin, &row_begin}) begin->push(0);
  for (Column& column : columns) column.clear();
  least_width = std::numeric_limits<std::size_t>::max();
  most_width = 0;
  has_holes = false;
  gc_pause_.reset();
  keys.clear();
  reserved_ = 0;
}

void Rows::grow() {
  require(1);
  std::size_t rows = std::min(count() + std::max<std::size_t>(count(), 256), static_cast<std::size_t>(limit_));
  heights.reserve(rows - count());
  keys.reserve(rows - count());
  for (Column& column : columns) column.reserve(rows);
  reserved_ = rows;
}

std::size_t Rows::bytes() const {
  std::size_t bytes = keys.bytes();
  for (auto array : kArrays) bytes += (this->*array).bytes();
  for (const Column& column : columns) bytes += column.bytes();
  return bytes;
}

std::size_t Rows::used() const {
  std::size_t bytes = keys.used();
  for (auto array : kArrays) bytes += (this->*array).used();
  for (const Column& column : columns) bytes += column.used();
  return bytes;
}

void Rows::end_structure(std::size_t end) {
  reserved_ = 0;
  row_begin.push(static_cast<std::int32_t>(end));
  root_begin.push(static_cast<std::int32_t>(roots.size()));
}

}  // namespace cortex
