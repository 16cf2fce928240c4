#include "classes.h"

#include <algorithm>
#include <cstring>

namespace cortex {

namespace {

std::int64_t integer_at(const PayloadSpec& payload, const Column& column, std::size_t row) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  if (payload.dtype == DType::Int64) {
    std::memcpy(&wide, column.scalars() + row * sizeof wide, sizeof wide);
    return wide;
  }
  std::memcpy(&narrow, column.scalars() + row * sizeof narrow, sizeof narrow);
  return narrow;
}

// How many children the k-th inner node has, missing ones not counted.
std::int32_t width_of(const Rows& rows, std::size_t k) {
  const std::int32_t* slot = rows.slots.data();
  return static_cast<std::int32_t>(std::count_if(slot + rows.slot_begin[k], slot + rows.slot_begin[k + 1],
                                                 [](std::int32_t kid) { return kid >= 0; }));
}

}  // namespace

Ints classes_of(const PlanSpec& plan, const Rows& rows) {
  if (plan.classes.empty()) return {};
  Ints classes(rows.count(), 0);
  std::size_t inner = 0;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    bool leaf = rows.is_leaf(row);
    std::int32_t width = leaf ? 0 : width_of(rows, inner++);
    auto holds = [&](const ComparisonSpec& condition) {
      if (condition.payload < 0) return condition.holds(width);
      auto asked = static_cast<std::size_t>(condition.payload);
      return condition.holds(integer_at(plan.payloads[asked], rows.columns[asked], row));
    };
    for (std::size_t c = 0; c < plan.classes.size(); ++c) {
      const ClassSpec& each = plan.classes[c];
      if (each.leaf != leaf) continue;
      classes[row] = static_cast<std::int32_t>(c);  // the last of its kind, unless one before it takes the row
      if (std::all_of(each.conditions.begin(), each.conditions.end(), holds)) break;
    }
  }
  return classes;
}

std::vector<Ints> class_lengths(const PlanSpec& plan, const Rows& rows, const Ints& classes, std::size_t batches) {
  std::vector<Ints> lengths(plan.classes.empty() ? 0 : plan.classes.size() - 1, Ints(batches, 0));
  for (std::size_t row = 0; row < classes.size(); ++row) {
    auto own = static_cast<std::size_t>(classes[row]);
    if (own < lengths.size()) ++lengths[own][static_cast<std::size_t>(rows.heights[row])];
  }
  return lengths;
}

}  // namespace cortex
