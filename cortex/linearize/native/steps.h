// The steps of a plan that is unrolled.
#pragma once

#include "rows.h"

namespace cortex {

using Ints = std::vector<std::int32_t>;

// The top nodes of each step (the parent is in a later step); for each node its height, and the position among the tops
// of the one that it is or descends from in its step, -1 for leaves.
struct Steps {
  Ints top_begin, top, height, group;
};

// `ids` are the numbers of the rows.
Steps number_steps(const PlanSpec& plan, const Rows& rows, const std::int32_t* ids);

}  // namespace cortex
