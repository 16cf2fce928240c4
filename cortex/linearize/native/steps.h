// The steps of a plan that is unrolled.
#pragma once

#include "rows.h"

namespace cortex {

using Ints = std::vector<std::int32_t>;

// The nodes in each step whose parent is not in it, and by id the height of each node and the place among these of the
// one that it is or is below of; -1 for leaves.
struct Steps {
  Ints top_begin, top, height, group;
};

// `ids` are the numbers of the rows.
Steps number_steps(const PlanSpec& plan, const Rows& rows, const std::int32_t* ids);

}  // namespace cortex
