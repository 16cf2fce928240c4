// The arrays of children, by the numbers of nodes.
#pragma once

#include "arrays.h"
#include "rows.h"

namespace cortex {

struct Edges {
  nb::object begin, child;
  std::int32_t* children;
  bool regular;  // all inner nodes have the same number of children, and none is missing
};

std::size_t count_edges(const Rows& rows);

// `ids` are the numbers of the rows; `count` is what `count_edges` says.
Edges number_edges(Block& block, const Rows& rows, const std::int32_t* ids, std::size_t count);

// The dict of the arrays child_j that the plan asks for.
nb::object number_positions(Block& block, const PlanSpec& plan, const Rows& rows, const std::int32_t* ids,
                            const Edges& edges);

}  // namespace cortex
