// The nodes of a batch in the order in which readers finish them: post-order rows, structure after structure.
#pragma once

#include "keys.h"
#include "plan.h"

namespace cortex {

using Ints = Room<std::int32_t>;

// The values of one payload, row after row.
using Column = Room<char>;

class Rows {
 public:
  // Make them empty, for a batch of this plan. The memory stays.
  void begin(const PlanSpec& plan, std::int64_t limit);

  std::size_t count() const { return heights.size(); }
  std::size_t structures() const { return row_begin.size() - 1; }
  // The row that the next finished node has within its structure.
  std::int64_t next_row() const { return static_cast<std::int64_t>(count()) - row_begin.back(); }
  bool is_leaf(std::size_t row) const { return heights[row] == 0; }
  std::size_t bytes() const;

  Below below(const std::int32_t* children, std::size_t width) const {
    Below below{children, width, 0, false};
    for (std::size_t i = 0; i < width; ++i) {
      if (children[i] < 0) {
        below.holes = true;
      } else {
        below.height = std::max(below.height, heights[static_cast<std::size_t>(children[i])] + 1);
      }
    }
    return below;
  }

  // Finish a node and return its row in the batch. Its payloads are appended to `columns`, and what it is known
  // by to `keys`, by the caller.
  std::int32_t finish(const Below& below) {
    std::size_t row = count();
    check_room(1, below.width);
    heights.push(below.height);
    auto height = static_cast<std::size_t>(below.height);
    if (height == lengths.size()) lengths.push(0);
    ++lengths[height];
    if (below.width > 0) add_inner(row, below);
    return static_cast<std::int32_t>(row);
  }
  // Refuse so many more nodes and edges if they are too many for 32 bits.
  void check_room(std::size_t nodes, std::size_t edges) const {
    if (count() + nodes > limit_ || slots.size() + edges > limit_) [[unlikely]] refuse(count() + nodes > limit_);
  }
  void add_root(std::int32_t row) { roots.push(row); }
  void end_structure() {
    row_begin.push(static_cast<std::int32_t>(count()));
    root_begin.push(static_cast<std::int32_t>(roots.size()));
  }

  Ints heights;
  Ints lengths;     // the number of nodes of each height; there is always height 0
  Ints inner;       // the rows that have children,
  Ints slot_begin;  // where theirs begin, and the end,
  Ints slots;       // and the children's rows; below zero where one is missing
  std::size_t least_width = 0, most_width = 0;  // of inner nodes
  bool has_holes = false;
  Ints roots, root_begin, row_begin;
  std::vector<Column> columns;
  Keys keys;

 private:
  void add_inner(std::size_t row, const Below& below) {
    inner.push(static_cast<std::int32_t>(row));
    std::copy_n(below.rows, below.width, slots.append(below.width));
    slot_begin.push(static_cast<std::int32_t>(slots.size()));
    least_width = std::min(least_width, below.width);
    most_width = std::max(most_width, below.width);
    has_holes |= below.holes;
  }
  [[noreturn]] void refuse(bool nodes) const;

  std::size_t limit_ = 0;
};

}  // namespace cortex
