#include "rows.h"

#include <limits>

namespace cortex {

void Rows::begin(const PlanSpec& plan, std::int64_t limit) {
  for (Ints* ints : {&heights, &lengths, &inner, &slot_begin, &slots, &roots, &root_begin, &row_begin}) {
    ints->clear();
  }
  lengths.push(0);
  for (Ints* begins : {&slot_begin, &root_begin, &row_begin}) begins->push(0);
  columns.resize(plan.payloads.size());
  for (Column& column : columns) column.clear();
  keys.clear();
  least_width = std::numeric_limits<std::size_t>::max();
  most_width = 0;
  has_holes = false;
  limit_ = static_cast<std::size_t>(limit);
}

std::size_t Rows::bytes() const {
  std::size_t sum = keys.bytes();
  for (const Ints* ints : {&heights, &lengths, &inner, &slot_begin, &slots, &roots, &root_begin, &row_begin}) {
    sum += ints->bytes();
  }
  for (const Column& column : columns) sum += column.bytes();
  return sum;
}

void Rows::refuse(bool nodes) const { fault("too_large", nodes ? "nodes" : "edges", limit_); }

}  // namespace cortex
