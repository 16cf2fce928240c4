#include "edges.h"

namespace cortex {

namespace {

// With `kWidth` known the loop over children is no loop.
template <std::size_t kWidth>
void fill_regular(const Rows& rows, const std::int32_t* ids, std::size_t width, std::int32_t* child) {
  std::size_t stride = kWidth == 0 ? width : kWidth;
  const std::int32_t* slot = rows.slots.data();
  for (std::int32_t row : rows.inner) {
    std::int32_t* to = child + static_cast<std::size_t>(ids[row]) * stride;
    for (std::size_t j = 0; j < stride; ++j) to[j] = ids[*slot++];
  }
}

void begin_regular(std::int32_t* begin, std::size_t nodes, std::size_t inner, std::size_t width) {
  for (std::size_t n = 0; n < inner; ++n) begin[n] = static_cast<std::int32_t>(n * width);
  std::fill(begin + inner, begin + nodes + 1, static_cast<std::int32_t>(inner * width));
}

void begin_any(const Rows& rows, const std::int32_t* ids, std::int32_t* begin) {
  const std::int32_t* slots = rows.slots.data();
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    begin[ids[rows.inner[k]]] = static_cast<std::int32_t>(std::count_if(
        slots + rows.slot_begin[k], slots + rows.slot_begin[k + 1], [](std::int32_t kid) { return kid >= 0; }));
  }
  std::int32_t edges = 0;
  for (std::size_t n = 0; n < rows.inner.size(); ++n) edges += std::exchange(begin[n], edges);
  std::fill(begin + rows.inner.size(), begin + rows.count() + 1, edges);
}

void fill_any(const Rows& rows, const std::int32_t* ids, const std::int32_t* begin, std::int32_t* child) {
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int32_t* to = child + begin[ids[rows.inner[k]]];
    for (std::int32_t s = rows.slot_begin[k]; s < rows.slot_begin[k + 1]; ++s) {
      std::int32_t kid = rows.slots[static_cast<std::size_t>(s)];
      if (kid >= 0) *to++ = ids[kid];
    }
  }
}

void position_regular(const Rows& rows, const Edges& edges, std::int64_t position, std::int32_t* data) {
  std::size_t width = rows.most_width, inner = rows.inner.size();
  auto j = static_cast<std::size_t>(position);
  if (j >= width) {
    std::fill_n(data, inner, -1);
    return;
  }
  for (std::size_t n = 0; n < inner; ++n) data[n] = edges.children[n * width + j];
}

void position_any(const Rows& rows, const std::int32_t* ids, std::int64_t position, std::int32_t* data) {
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int64_t slot = rows.slot_begin[k] + position;
    std::int32_t kid = slot < rows.slot_begin[k + 1] ? rows.slots[static_cast<std::size_t>(slot)] : -1;
    data[ids[rows.inner[k]]] = kid < 0 ? -1 : ids[kid];
  }
}

}  // namespace

std::size_t count_edges(const Rows& rows) {
  if (!rows.has_holes) return rows.slots.size();
  return static_cast<std::size_t>(
      std::count_if(rows.slots.begin(), rows.slots.end(), [](std::int32_t kid) { return kid >= 0; }));
}

Edges number_edges(Block& block, const Rows& rows, const std::int32_t* ids, std::size_t count) {
  std::size_t width = rows.most_width;
  Edges edges{{}, {}, nullptr, !rows.has_holes && (rows.inner.empty() || rows.least_width == width)};
  std::int32_t* begin = nullptr;
  edges.begin = block.take_ints(rows.count() + 1, begin);
  edges.child = block.take_ints(count, edges.children);
  if (!edges.regular) {
    begin_any(rows, ids, begin);
    fill_any(rows, ids, begin, edges.children);
    return edges;
  }
  begin_regular(begin, rows.count(), rows.inner.size(), width);
  switch (width) {
    case 1: fill_regular<1>(rows, ids, width, edges.children); break;
    case 2: fill_regular<2>(rows, ids, width, edges.children); break;
    default: fill_regular<0>(rows, ids, width, edges.children); break;
  }
  return edges;
}

nb::object number_positions(Block& block, const PlanSpec& plan, const Rows& rows, const std::int32_t* ids,
                            const Edges& edges) {
  nb::dict positions;
  for (std::int64_t position : plan.positions) {
    std::int32_t* data = nullptr;
    nb::object array = block.take_ints(rows.inner.size(), data);
    if (edges.regular) {
      position_regular(rows, edges, position, data);
    } else {
      position_any(rows, ids, position, data);
    }
    positions[nb::int_(position)] = array;
  }
  return std::move(positions);
}

}  // namespace cortex
