// Which nodes are computed together.
#pragma once

#include <cstdint>
#include <vector>

#include "rows.h"

namespace cortex {

using Ints = std::vector<std::int32_t>;

// How many nodes each batch has; the first id of each.
struct Batches {
  explicit Batches(const Rows& rows);

  // The most nodes of a batch after the leaves'.
  std::int32_t widest() const;
  // The most edges that lead out of the nodes of one batch: those of node n are from children[n] to children[n + 1].
  std::int32_t widest_edges(const std::int32_t* children) const;

  Ints length, begin;
};

// Make several batches of each height that has more inner nodes than `widest`, by row. From here on `rows.heights` are
// the numbers of batches.
void divide_wide_heights(std::int32_t widest, Rows& rows);

}  // namespace cortex
