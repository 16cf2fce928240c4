#include "number.h"

#include <algorithm>
#include <cstring>

#include "buffers.h"

namespace cortex {

namespace {

using Ints = std::vector<std::int32_t>;

// How many nodes each height has; the first id of each.
struct Batches {
  explicit Batches(const Ints& heights) : length(1, 0) {
    for (std::int32_t height : heights) {
      auto h = static_cast<std::size_t>(height);
      if (h >= length.size()) length.resize(h + 1, 0);
      ++length[h];
    }
    begin.resize(length.size());
    auto end = static_cast<std::int32_t>(heights.size());
    for (std::size_t b = 0; b < length.size(); ++b) begin[b] = end -= length[b];
  }
  Ints length, begin;
};

// The id of each row: a counting sort, stable, so that within a height rows keep their order.
Ints ids_of(const Ints& heights, const Batches& batches) {
  Ints next = batches.begin;
  Ints ids(heights.size());
  for (std::size_t row = 0; row < heights.size(); ++row) {
    ids[row] = next[static_cast<std::size_t>(heights[row])]++;
  }
  return ids;
}

struct Edges {
  nb::object begin, child;
  std::int32_t count;
};

Edges number_edges(const Rows& rows, const Ints& ids) {
  std::size_t nodes = rows.count();
  std::int32_t* begin = nullptr;
  std::int32_t* child = nullptr;
  nb::object begin_array = new_ints(nodes + 1, begin);
  auto count_of = [&](std::size_t row) {
    const std::int32_t* slot = rows.slots.data();
    std::int32_t width = rows.slot_begin[row + 1] - rows.slot_begin[row];
    if (!rows.has_holes) return width;
    return static_cast<std::int32_t>(std::count_if(slot + rows.slot_begin[row], slot + rows.slot_begin[row + 1],
                                                   [](std::int32_t kid) { return kid >= 0; }));
  };
  for (std::size_t row = 0; row < nodes; ++row) begin[ids[row]] = count_of(row);
  std::int32_t edges = 0;
  for (std::size_t n = 0; n <= nodes; ++n) {
    std::int32_t width = n < nodes ? begin[n] : 0;
    begin[n] = edges;
    edges += width;
  }
  nb::object child_array = new_ints(static_cast<std::size_t>(edges), child);
  for (std::size_t row = 0; row < nodes; ++row) {
    std::int32_t* to = child + begin[ids[row]];
    for (std::int32_t s = rows.slot_begin[row]; s < rows.slot_begin[row + 1]; ++s) {
      std::int32_t kid = rows.slots[static_cast<std::size_t>(s)];
      if (kid >= 0) *to++ = ids[static_cast<std::size_t>(kid)];
    }
  }
  return {std::move(begin_array), std::move(child_array), edges};
}

nb::dict number_positions(const PlanSpec& plan, const Rows& rows, const Ints& ids, std::int32_t inner) {
  nb::dict positions;
  for (std::int64_t position : plan.positions) {
    std::int32_t* data = nullptr;
    nb::object array = new_ints(static_cast<std::size_t>(inner), data);
    for (std::size_t row = 0; row < rows.count(); ++row) {
      if (ids[row] >= inner) continue;
      std::int64_t slot = rows.slot_begin[row] + position;
      bool given = slot < rows.slot_begin[row + 1] && rows.slots[static_cast<std::size_t>(slot)] >= 0;
      data[ids[row]] = given ? ids[static_cast<std::size_t>(rows.slots[static_cast<std::size_t>(slot)])] : -1;
    }
    positions[nb::int_(position)] = array;
  }
  return positions;
}

template <class T>
void scatter(const Ints& ids, const char* from, void* to) {
  for (std::size_t row = 0; row < ids.size(); ++row) {
    std::memcpy(static_cast<T*>(to) + ids[row], from + row * sizeof(T), sizeof(T));
  }
}

nb::dict number_payloads(const PlanSpec& plan, const Rows& rows, const Ints& ids) {
  nb::dict payloads;
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    const PayloadSpec& payload = plan.payloads[i];
    nb::list shape;
    shape.append(ids.size());
    for (Py_ssize_t extent : payload.shape) shape.append(extent);
    auto [array, data] = new_array(nb::tuple(shape), payload.dtype);
    const char* from = rows.columns[i].data();
    if (payload.bytes == 4) {
      scatter<std::int32_t>(ids, from, data);
    } else if (payload.bytes == 8) {
      scatter<std::int64_t>(ids, from, data);
    } else if (payload.bytes > 0) {
      for (std::size_t row = 0; row < ids.size(); ++row) {
        std::memcpy(static_cast<char*>(data) + static_cast<std::size_t>(ids[row]) * payload.bytes,
                    from + row * payload.bytes, payload.bytes);
      }
    }
    payloads[payload.name] = array;
  }
  return payloads;
}

// For each payload that the plan lists: the nodes that carry it, by rising id, and how many of them are inner.
nb::dict number_carriers(const PlanSpec& plan, const nb::dict& payloads, std::size_t nodes, std::int32_t inner) {
  nb::dict carriers;
  for (std::size_t i : plan.carried) {
    const PayloadSpec& payload = plan.payloads[i];
    ArrayView values{nb::borrow(payloads[payload.name])};
    Ints found;
    found.reserve(nodes);
    std::int32_t id = 0, of_inner = 0;
    values.each_integer(0, true, [&](std::int64_t value, bool) {
      if (value >= 0) found.push_back(id);
      if (++id == inner) of_inner = static_cast<std::int32_t>(found.size());
    });
    carriers[payload.name] = nb::make_tuple(copy_ints(found), of_inner);
  }
  return carriers;
}

// The steps of a plan that is unrolled: the id after each, and the nodes in each whose parent is not in it.
struct Steps {
  Ints end, top_begin, top;
};

Steps number_steps(const PlanSpec& plan, const Rows& rows, const Ints& ids, const Batches& batches) {
  Steps steps{{}, {0}, {}};
  if (plan.unrolled == 0) return steps;
  std::int32_t heights = plan.unrolled + 1;
  auto step_of = [&](std::size_t row) { return rows.heights[row] == 0 ? -1 : (rows.heights[row] - 1) / heights; };
  for (std::size_t b = 1; b < batches.length.size(); b += static_cast<std::size_t>(heights)) {
    steps.end.push_back(batches.begin[b] + batches.length[b]);
  }
  Ints step_of_top(rows.count());  // by id; -1 where the node is no top
  for (std::size_t row = 0; row < rows.count(); ++row) step_of_top[static_cast<std::size_t>(ids[row])] = step_of(row);
  for (std::size_t row = 0; row < rows.count(); ++row) {
    for (std::int32_t s = rows.slot_begin[row]; s < rows.slot_begin[row + 1]; ++s) {
      std::int32_t kid = rows.slots[static_cast<std::size_t>(s)];
      if (kid >= 0 && step_of(static_cast<std::size_t>(kid)) == step_of(row)) {
        step_of_top[static_cast<std::size_t>(ids[static_cast<std::size_t>(kid)])] = -1;
      }
    }
  }
  steps.top_begin.resize(steps.end.size() + 1, 0);
  for (std::int32_t step : step_of_top) {
    if (step >= 0) ++steps.top_begin[static_cast<std::size_t>(step) + 1];
  }
  for (std::size_t s = 0; s < steps.end.size(); ++s) steps.top_begin[s + 1] += steps.top_begin[s];
  Ints next = steps.top_begin;
  steps.top.resize(static_cast<std::size_t>(steps.top_begin.back()));
  for (std::size_t id = 0; id < step_of_top.size(); ++id) {
    if (step_of_top[id] < 0) continue;
    steps.top[static_cast<std::size_t>(next[static_cast<std::size_t>(step_of_top[id])]++)] =
        static_cast<std::int32_t>(id);
  }
  return steps;
}

}  // namespace

nb::tuple number(const PlanSpec& plan, Rows& rows) {
  Batches batches(rows.heights);
  Ints ids = ids_of(rows.heights, batches);
  std::int32_t inner = batches.begin[0];
  Edges edges = number_edges(rows, ids);
  Ints roots = rows.roots;
  for (std::int32_t& root : roots) root = ids[static_cast<std::size_t>(root)];
  nb::dict payloads = number_payloads(plan, rows, ids);
  Steps steps = number_steps(plan, rows, ids, batches);
  return nb::make_tuple(rows.structures(), rows.count(), inner, edges.count, batches.length.size(),
                        copy_ints(batches.begin), copy_ints(batches.length), edges.begin, edges.child,
                        number_positions(plan, rows, ids, inner), payloads,
                        number_carriers(plan, payloads, rows.count(), inner), steps.end.size(), steps.top.size(),
                        copy_ints(steps.end), copy_ints(steps.top_begin), copy_ints(steps.top), copy_ints(roots),
                        copy_ints(rows.root_begin), copy_ints(ids), copy_ints(rows.row_begin),
                        rows.keys.release_as_list());
}

}  // namespace cortex
