#include "ordered.h"

namespace cortex {

namespace {

template <class T>
T* filled(GrowingArray<T>& array, std::size_t count, T value) {
  T* data = array.append(count);
  std::fill_n(data, count, value);
  return data;
}

}  // namespace

bool OrderedTrees::append(Rows& rows, std::vector<std::int32_t>& sources) {
  auto nodes = static_cast<std::size_t>(given_.nodes);
  auto edges = static_cast<std::size_t>(given_.begin[nodes]);
  if (plan_.is_dag || !rows.fits(nodes, edges) || !find_inner()) return false;
  bool up = inner_.empty() || given_.child[0] > inner_[0];  // children have higher numbers
  if (up ? !measure<true>() : !measure<false>()) return false;
  if (!find_roots()) return false;
  up ? place<true>() : place<false>();
  write(rows, sources);
  return true;
}

bool OrderedTrees::find_inner() {
  std::int32_t* inner = inner_.append(static_cast<std::size_t>(given_.nodes) + 1);
  std::size_t count = 0;
  std::int32_t least = given_.nodes, most = 0;
  for (std::int32_t node = 0; node < given_.nodes; ++node) {
    std::int32_t width = given_.begin[node + 1] - given_.begin[node];
    inner[count] = node;
    count += width > 0;
    least = std::min(least, width > 0 ? width : least);
    most = std::max(most, width);
  }
  inner_.shorten(count);
  least_width_ = static_cast<std::size_t>(least);
  most_width_ = static_cast<std::size_t>(most);
  return count == 0 || (least >= plan_.min_children && (plan_.most_children < 0 || most <= plan_.most_children));
}

// Children first: find sizes and heights, and refuse children of other structures, of two parents, and the wrong way.
template <bool kUp>
bool OrderedTrees::measure() {
  auto nodes = static_cast<std::size_t>(given_.nodes);
  std::int32_t* size = filled(size_, nodes, 1);
  std::int32_t* height = filled(height_, nodes, 0);
  char* has_parent = filled(has_parent_, nodes, '\0');
  std::size_t count = inner_.size();
  const std::vector<std::int32_t>& ranges = given_.ranges;
  std::size_t range = kUp && !ranges.empty() ? ranges.size() - 1 : 0;  // the one after, or before, all
  std::int32_t low = kUp && !ranges.empty() ? given_.nodes : 0, high = kUp || ranges.empty() ? given_.nodes : 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t node = inner_[kUp ? count - 1 - i : i];
    if constexpr (kUp) {
      for (; node < low; low = ranges[range]) high = ranges[range--];
    } else {
      for (; node >= high; high = ranges[range]) low = ranges[range++];
    }
    std::int32_t nodes_below = 0, highest = 0;
    for (std::int32_t edge = given_.begin[node]; edge < given_.begin[node + 1]; ++edge) {
      std::int32_t child = given_.child[edge];
      bool fits = kUp ? child > node && child < high : child >= low && child < node;
      if (!fits || has_parent[child] != 0) return false;
      has_parent[child] = 1;
      nodes_below += size[child];
      highest = std::max(highest, height[child]);
    }
    size[node] += nodes_below;
    height[node] = highest + 1;
  }
  return true;
}

// A node of a cycle has a parent too, but numbers along edges leave no cycles.
bool OrderedTrees::find_roots() {
  for (std::int32_t node = 0; node < given_.nodes; ++node) {
    if (has_parent_[static_cast<std::size_t>(node)] == 0) roots_.push(node);
  }
  const std::vector<std::int32_t>& ranges = given_.ranges;
  if (ranges.empty()) return true;
  if (roots_.size() + 1 != ranges.size()) return false;
  for (std::size_t s = 0; s < roots_.size(); ++s) {
    if (roots_[s] < ranges[s] || roots_[s] >= ranges[s + 1]) return false;
  }
  return true;
}

// Parents first: a node's row is after those of its subtree, which lie side by side.
template <bool kUp>
void OrderedTrees::place() {
  std::int32_t* row = row_.append(static_cast<std::size_t>(given_.nodes));
  std::int32_t next = 0;
  for (std::int32_t root : roots_) {
    row[root] = next;
    next += size_[static_cast<std::size_t>(root)];
  }
  std::size_t count = inner_.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t node = inner_[kUp ? i : count - 1 - i];
    std::int32_t first = row[node];
    for (std::int32_t edge = given_.begin[node]; edge < given_.begin[node + 1]; ++edge) {
      std::int32_t child = given_.child[edge];
      row[child] = first;
      first += size_[static_cast<std::size_t>(child)];
    }
    row[node] = first;
  }
}

void OrderedTrees::write(Rows& rows, std::vector<std::int32_t>& sources) const {
  auto nodes = static_cast<std::size_t>(given_.nodes);
  auto base = static_cast<std::int32_t>(rows.count());
  sources.resize(nodes);
  std::int32_t* heights = rows.heights.append(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    heights[row_[node]] = height_[node];
    sources[static_cast<std::size_t>(row_[node])] = static_cast<std::int32_t>(node);
  }
  rows.inner.reserve(inner_.size() + 1);
  std::int32_t* inner = rows.inner.take(inner_.size());
  for (std::size_t row = 0, count = 0; row < nodes; ++row) {
    inner[count] = static_cast<std::int32_t>(row);
    count += heights[row] > 0;
  }
  std::int32_t* slot = rows.slots.append(static_cast<std::size_t>(given_.begin[nodes]));
  std::int32_t* slot_begin = rows.slot_begin.append(inner_.size());
  const std::int32_t* first = rows.slots.data();
  for (std::size_t k = 0; k < inner_.size(); ++k) {
    rows.add_height(heights[inner[k]]);
    std::int32_t node = sources[static_cast<std::size_t>(inner[k])];
    inner[k] += base;
    for (std::int32_t edge = given_.begin[node]; edge < given_.begin[node + 1]; ++edge) {
      *slot++ = base + row_[static_cast<std::size_t>(given_.child[edge])];
    }
    *slot_begin++ = static_cast<std::int32_t>(slot - first);
  }
  if (!inner_.empty()) {
    rows.add_width(least_width_);
    rows.add_width(most_width_);
  }
  for (std::int32_t root : roots_) {
    rows.add_root(base + row_[static_cast<std::size_t>(root)]);
    rows.end_structure(static_cast<std::size_t>(rows.roots.back()) + 1);
  }
}

}  // namespace cortex
