#include "steps.h"

namespace cortex {

namespace {

// By row: the parent of an inner node where it is in the same step, else -1.
Ints parents_in_step(const Rows& rows, std::int32_t heights) {
  Ints parent(rows.count(), -1);
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int32_t row = rows.inner[k];
    std::int32_t step = (rows.heights[static_cast<std::size_t>(row)] - 1) / heights;
    for (std::int32_t s = rows.slot_begin[k]; s < rows.slot_begin[k + 1]; ++s) {
      std::int32_t kid = rows.slots[static_cast<std::size_t>(s)];
      if (kid < 0 || rows.is_leaf(static_cast<std::size_t>(kid))) continue;
      std::int32_t below = (rows.heights[static_cast<std::size_t>(kid)] - 1) / heights;
      if (below == step) parent[static_cast<std::size_t>(kid)] = row;
    }
  }
  return parent;
}

}  // namespace

Steps number_steps(const PlanSpec& plan, const Rows& rows, const std::int32_t* ids) {
  if (plan.unrolled == 0) return {Ints(1, 0), {}, {}, {}};
  Steps steps;
  std::int32_t heights = plan.unrolled + 1;
  auto step_of = [&](std::size_t row) { return static_cast<std::size_t>((rows.heights[row] - 1) / heights); };
  std::size_t of_inner = rows.of_height.empty() ? 0 : rows.of_height.size() - 1;
  auto unrolled = static_cast<std::size_t>(plan.unrolled);
  steps.top_begin = Ints((of_inner + unrolled) / (unrolled + 1) + 1, 0);
  steps.height.resize(rows.count());
  steps.group.resize(rows.count(), -1);
  Ints parent = parents_in_step(rows, heights);
  for (std::size_t row = 0; row < rows.count(); ++row) {
    steps.height[static_cast<std::size_t>(ids[row])] = rows.heights[row];
  }
  for (std::int32_t inner : rows.inner) {
    auto row = static_cast<std::size_t>(inner);
    if (parent[row] < 0) ++steps.top_begin[step_of(row) + 1];
  }
  for (std::size_t s = 0; s + 1 < steps.top_begin.size(); ++s) steps.top_begin[s + 1] += steps.top_begin[s];
  Ints next = steps.top_begin;
  steps.top.resize(static_cast<std::size_t>(steps.top_begin.back()));
  // By rising id: within a step, and each parent before its children.
  Ints row_of(rows.inner.size());
  for (std::int32_t row : rows.inner) row_of[static_cast<std::size_t>(ids[row])] = row;
  for (std::size_t id = 0; id < row_of.size(); ++id) {
    auto row = static_cast<std::size_t>(row_of[id]);
    if (parent[row] >= 0) {
      steps.group[id] = steps.group[static_cast<std::size_t>(ids[parent[row]])];
      continue;
    }
    steps.group[id] = next[step_of(row)]++;
    steps.top[static_cast<std::size_t>(steps.group[id])] = static_cast<std::int32_t>(id);
  }
  return steps;
}

}  // namespace cortex
