#include "parts.h"

#include <algorithm>
#include <numeric>

namespace cortex {

Parts::Parts(const Rows& rows, std::size_t sharing) {
  const std::size_t structures = rows.structures();
  if (sharing < 2 || std::min(structures, rows.count()) < sharing) return;
  auto nodes = [&](std::int32_t s) { return rows.row_begin[static_cast<std::size_t>(s) + 1] - rows.row_begin[static_cast<std::size_t>(s)]; };
  Ints order(structures);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return nodes(a) > nodes(b); });
  std::vector<std::int64_t> has(sharing, 0);
  of_structure_.resize(structures);
  for (std::int32_t s : order) {  // the largest first, each to who has the fewest nodes
    auto least = std::min_element(has.begin(), has.end());
    *least += nodes(s);
    of_structure_[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(least - has.begin());
  }
  const std::int64_t most = *std::max_element(has.begin(), has.end());
  if (10 * most * static_cast<std::int64_t>(sharing) <= 11 * static_cast<std::int64_t>(rows.count())) count = sharing;
}

void Parts::sort(const Rows& rows, const Batches& batches, std::int32_t* ids) {
  std::vector<Ints> next(count, Ints(batches.begin.size(), 0));
  auto each_row = [&](auto visit) {
    for (std::size_t s = 0; s < rows.structures(); ++s) {
      Ints& own = next[static_cast<std::size_t>(of_structure_[s])];
      const auto end = static_cast<std::size_t>(rows.row_begin[s + 1]);
      for (auto row = static_cast<std::size_t>(rows.row_begin[s]); row < end; ++row) {
        visit(row, own[static_cast<std::size_t>(rows.heights[row])]);
      }
    }
  };
  each_row([](std::size_t, std::int32_t& nodes) { ++nodes; });
  Ints begin = batches.begin;
  for (Ints& own : next) {
    for (std::size_t b = 0; b < begin.size(); ++b) begin[b] += std::exchange(own[b], begin[b]);
  }
  first_ = next;
  each_row([=](std::size_t row, std::int32_t& id) { ids[row] = id++; });
}

std::pair<nb::object, nb::object> Parts::arrays(const Rows& rows, const Batches& batches, Arrays& arrays) const {
  const std::size_t all = batches.begin.size();
  auto [begin, memory] = arrays.make({static_cast<Py_ssize_t>(all), static_cast<Py_ssize_t>(count) + 1}, DType::Int32);
  auto* cut = static_cast<std::int32_t*>(memory);
  std::int32_t* part = nullptr;
  nb::object by_node = arrays.ints(rows.count(), part);
  for (std::size_t b = 0; b < all; ++b) {
    const std::int32_t* here = cut;
    for (std::size_t p = 0; p < count; ++p) *cut++ = count == 1 ? batches.begin[b] : first_[p][b];
    *cut++ = batches.begin[b] + batches.length[b];
    for (std::size_t p = 0; p < count; ++p) std::fill(part + here[p], part + here[p + 1], static_cast<std::int32_t>(p));
  }
  return {begin, by_node};
}

}  // namespace cortex
