// The arrays of children, by the numbers of nodes.
#pragma once

#include "arrays.h"
#include "rows.h"

namespace cortex {

struct Edges {
  nb::object begin, child;
  std::size_t count;
  const std::int32_t* first;  // the values of `begin`
  nb::dict positions;  // of the arrays child_j that the plan asks for
};

// `ids` are the numbers of the rows.
Edges number_edges(const PlanSpec& plan, const Rows& rows, const std::int32_t* ids, Arrays& arrays);

}  // namespace cortex
