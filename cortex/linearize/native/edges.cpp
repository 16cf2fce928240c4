#include "edges.h"

#include <algorithm>

namespace cortex {

namespace {

// All inner nodes have the same number of children, and none is missing.
bool is_regular(const Rows& rows) {
  return !rows.has_holes && (rows.inner.empty() || rows.least_width == rows.most_width);
}

void begin_regular(std::int32_t* begin, std::size_t nodes, std::size_t inner, std::size_t width) {
  for (std::size_t n = 0; n < inner; ++n) begin[n] = static_cast<std::int32_t>(n * width);
  std::fill(begin + inner, begin + nodes + 1, static_cast<std::int32_t>(inner * width));
}

// With `kWidth` known the loop over children is no loop.
template <std::size_t kWidth>
void fill_regular(const Rows& rows, const std::int32_t* ids, std::int32_t* child) {
  std::size_t width = kWidth == 0 ? rows.most_width : kWidth;
  const std::int32_t* slot = rows.slots.data();
  for (std::int32_t row : rows.inner) {
    std::int32_t* to = child + static_cast<std::size_t>(ids[row]) * width;
    for (std::size_t j = 0; j < width; ++j) to[j] = ids[*slot++];
  }
}

void position_regular(std::size_t inner, std::size_t width, const std::int32_t* child, std::size_t position,
                      std::int32_t* to) {
  if (position >= width) {
    std::fill_n(to, inner, -1);
  } else {
    for (std::size_t n = 0; n < inner; ++n) to[n] = child[n * width + position];
  }
}

bool is_given(std::int32_t kid) { return kid >= 0; }

void begin_any(const Rows& rows, const std::int32_t* ids, std::int32_t* begin) {
  const std::int32_t* slots = rows.slots.data();
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    begin[ids[rows.inner[k]]] =
        static_cast<std::int32_t>(std::count_if(slots + rows.slot_begin[k], slots + rows.slot_begin[k + 1], is_given));
  }
  std::int32_t edges = 0;
  for (std::size_t n = 0; n < rows.inner.size(); ++n) edges += std::exchange(begin[n], edges);
  std::fill(begin + rows.inner.size(), begin + rows.count() + 1, edges);
}

void fill_any(const Rows& rows, const std::int32_t* ids, const std::int32_t* begin, std::int32_t* child) {
  const std::int32_t* slots = rows.slots.data();
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int32_t* to = child + begin[ids[rows.inner[k]]];
    for (std::int32_t s = rows.slot_begin[k]; s < rows.slot_begin[k + 1]; ++s) {
      if (is_given(slots[s])) *to++ = ids[slots[s]];
    }
  }
}

void position_any(const Rows& rows, const std::int32_t* ids, std::int64_t position, std::int32_t* to) {
  const std::int32_t* slots = rows.slots.data();
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int64_t slot = rows.slot_begin[k] + position;
    std::int32_t kid = slot < rows.slot_begin[k + 1] ? slots[slot] : -1;
    to[ids[rows.inner[k]]] = is_given(kid) ? ids[kid] : -1;
  }
}

}  // namespace

Edges number_edges(const PlanSpec& plan, const Rows& rows, const std::int32_t* ids, Arrays& arrays) {
  const GrowingArray<std::int32_t>& slots = rows.slots;
  std::size_t count = rows.has_holes ? static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), is_given))
                                     : slots.size();
  std::size_t inner = rows.inner.size(), width = rows.most_width;
  bool regular = is_regular(rows);
  std::int32_t *begin = nullptr, *child = nullptr, *to = nullptr;
  Edges edges{arrays.ints(rows.count() + 1, begin), arrays.ints(count, child), count, begin, {}};
  if (!regular) {
    begin_any(rows, ids, begin);
    fill_any(rows, ids, begin, child);
  } else {
    begin_regular(begin, rows.count(), inner, width);
    width == 2 ? fill_regular<2>(rows, ids, child) : fill_regular<0>(rows, ids, child);
  }
  for (std::int64_t position : plan.positions) {
    nb::object array = arrays.ints(inner, to);
    if (regular) {
      position_regular(inner, width, child, static_cast<std::size_t>(position), to);
    } else {
      position_any(rows, ids, position, to);
    }
    edges.positions[nb::int_(position)] = array;
  }
  return edges;
}

}  // namespace cortex
