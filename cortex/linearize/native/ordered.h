// The rows of flat trees with nodes numbered in the order of their edges, without a walk.
#pragma once

#include "rows.h"

namespace cortex {

// Nodes and edges in compressed sparse rows. The offsets are checked: they begin with 0, do not decrease and end with
// the number of edges. The children are not checked.
struct Topology {
  const std::int32_t* begin;
  const std::int32_t* child;
  std::int32_t nodes;
  const std::vector<std::int32_t>& ranges;  // of the structures' nodes; empty: each root has a structure
};

// Trees in which all parents have lower numbers than their children, or all have higher ones, as they have in
// pre-order, post-order, or by level: sizes and heights of subtrees are one pass over the edges, places in the
// post-order another.
class OrderedTrees {
 public:
  OrderedTrees(const PlanSpec& plan, const Topology& topology) : plan_(plan), given_(topology) {}

  // Append all rows, and to `sources` the node of each. False, and nothing is appended, where the trees are not such
  // ones or there is anything to refuse: a walk finds out what.
  bool append(Rows& rows, std::vector<std::int32_t>& sources);

 private:
  bool find_inner();
  template <bool kUp>
  bool measure();
  bool find_roots();
  template <bool kUp>
  void place();
  void write(Rows& rows, std::vector<std::int32_t>& sources) const;

  const PlanSpec& plan_;
  Topology given_;
  std::size_t least_width_ = 0, most_width_ = 0;
  GrowingArray<std::int32_t> inner_, roots_;
  // By node: how many are in its subtree, its height, its row.
  GrowingArray<std::int32_t> size_, height_, row_;
  GrowingArray<char> has_parent_;
};

}  // namespace cortex
