// The nodes of a batch in the order in which readers finish them: post-order rows, structure after structure.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "column.h"
#include "keys.h"
#include "gc_pause.h"

namespace cortex {

class Rows {
 public:
  Rows(const PlanSpec& plan, std::int64_t limit);

  // Begin a batch.
  void begin() {
    if (std::any_of(columns.begin(), columns.end(), std::mem_fn(&Column::can_borrow))) gc_pause_.emplace();
  }
  // Forget it, and keep the memory.
  void clear();
  // Bytes that are reserved, and bytes that the batch uses.
  std::size_t bytes() const;
  std::size_t used() const;

  std::size_t count() const { return heights.size(); }
  std::size_t structures() const { return row_begin.size() - 1; }
  bool is_leaf(std::size_t row) const { return heights[row] == 0; }
  // The row that the next finished node has within its structure.
  std::int64_t next_row() const { return static_cast<std::int64_t>(count()) - row_begin.back(); }

  // Finish a node: its children's rows in order, a missing one below zero, the last not missing, and what the
  // caller knows it by. Returns its row in the batch. Its payloads are appended to `columns` before.
  std::int32_t finish(const std::int32_t* children, std::size_t width, nb::object key) {
    reserve_row();
    return take(children, width, std::move(key));
  }
  // The same without the key, which the caller appends.
  std::int32_t finish(const std::int32_t* children, std::size_t width) {
    require(1);
    heights.push(width == 0 ? 0 : add_inner(children, width));
    return static_cast<std::int32_t>(count()) - 1;
  }
  // The same where `reserve_row` was called for the node.
  std::int32_t take(const std::int32_t* children, std::size_t width, nb::object key) {
    *heights.take(1) = width == 0 ? 0 : add_inner(children, width);
    keys.take(std::move(key));
    return static_cast<std::int32_t>(count()) - 1;
  }
  // Reserve one more row in `heights`, `keys` and `columns`.
  void reserve_row() {
    if (count() >= reserved_) [[unlikely]] grow();
  }
  // Before any code runs that could change what nodes carry. Until then no garbage is collected, if columns can borrow.
  void stop_borrowing() {
    for (Column& column : columns) column.stop_borrowing();
    gc_pause_.reset();
  }
  void add_root(std::int32_t row) { roots.push(row); }
  void end_structure() { end_structure(count()); }
  void end_structure(std::size_t end);  // that it ends before this row

  // For readers that know all nodes of a member and append them to the arrays below without `finish`: whether nodes and
  // edges are within the limit.
  bool fits(std::size_t nodes, std::size_t edges) const {
    auto limit = static_cast<std::size_t>(limit_);
    return count() + nodes <= limit && slots.size() + edges <= limit;
  }
  // Refuse more nodes than a batch may have, before memory is taken for so many that are not finished.
  void require(std::size_t nodes) const {
    if (!fits(nodes, 0)) fault("too_large", "nodes", limit_);
  }
  void add_height(std::int32_t height) {
    auto h = static_cast<std::size_t>(height);
    while (h >= of_height.size()) of_height.push(0);
    ++of_height[h];
  }
  void add_width(std::size_t width) {
    least_width = std::min(least_width, width);
    most_width = std::max(most_width, width);
  }

  GrowingArray<std::int32_t> heights;
  GrowingArray<std::int32_t> of_height;   // how many inner nodes have each height
  GrowingArray<std::int32_t> inner;       // the rows of the inner nodes
  GrowingArray<std::int32_t> slot_begin;  // of each inner node, and the end
  GrowingArray<std::int32_t> slots;       // rows of children; below zero where one is missing
  std::size_t least_width, most_width;  // of inner nodes
  bool has_holes;
  GrowingArray<std::int32_t> roots;
  GrowingArray<std::int32_t> root_begin;
  GrowingArray<std::int32_t> row_begin;
  std::vector<Column> columns;
  Keys keys;

 private:
  // Return the height.
  std::int32_t add_inner(const std::int32_t* children, std::size_t width) {
    if (static_cast<std::int64_t>(slots.size() + width) > limit_) [[unlikely]] fault("too_large", "edges", limit_);
    inner.push(static_cast<std::int32_t>(count()));
    std::int32_t* slot = slots.append(width);
    std::int32_t height = 0;
    for (std::size_t i = 0; i < width; ++i) {
      std::int32_t child = slot[i] = children[i];
      if (child < 0) {
        has_holes = true;
      } else {
        height = std::max(height, heights[static_cast<std::size_t>(child)] + 1);
      }
    }
    slot_begin.push(static_cast<std::int32_t>(slots.size()));
    add_width(width);
    add_height(height);
    return height;
  }

  void grow();

  std::int64_t limit_;
  std::optional<GcPause> gc_pause_;
  std::size_t reserved_ = 0;  // rows in the capacity of all columns, as long as this structure is read
};

}  // namespace cortex
