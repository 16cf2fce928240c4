#include "number.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "batches.h"
#include "buffers.h"
#include "classes.h"
#include "edges.h"
#include "steps.h"
#include "storage.h"

namespace cortex {

namespace {

// The id of each row: a counting sort, stable, so that within a batch rows keep their order.
void sort_by_batch(const Rows& rows, const Batches& batches, std::int32_t* ids) {
  std::int32_t leaf = batches.begin[0];
  std::int32_t* id = ids;
  for (std::int32_t batch : rows.heights) {  // right for leaves; those of inner nodes are written over
    *id++ = leaf;
    leaf += batch == 0;
  }
  Ints next = batches.begin;
  for (std::int32_t row : rows.inner) {
    ids[row] = next[static_cast<std::size_t>(rows.heights[static_cast<std::size_t>(row)])]++;
  }
}

// For each class: its first id in each batch.
std::vector<Ints> firsts_of_classes(const Batches& batches, const std::vector<Ints>& lengths) {
  std::vector<Ints> firsts(lengths.size() + 1, batches.begin);
  for (std::size_t c = 0; c < lengths.size(); ++c) {
    for (std::size_t b = 0; b < batches.begin.size(); ++b) firsts[c + 1][b] = firsts[c][b] + lengths[c][b];
  }
  return firsts;
}

// The same with the classes of a batch one after the other.
void sort_by_class(const Rows& rows, const Batches& batches, const Ints& classes, const std::vector<Ints>& lengths,
                   std::int32_t* ids) {
  std::vector<Ints> next = firsts_of_classes(batches, lengths);
  for (std::size_t row = 0; row < classes.size(); ++row) {
    ids[row] = next[static_cast<std::size_t>(classes[row])][static_cast<std::size_t>(rows.heights[row])]++;
  }
}

// Of ids so sorted, sort those of each class and batch by when they are needed last: the first half, by falling batch,
// and the other half by rising. So what is needed no more is in the middle, where workers find rows that were their own.
void sort_by_use(const Rows& rows, const Batches& batches, const Ints& classes, const std::vector<Ints>& lengths,
                 const Ints& last, std::int32_t* ids) {
  std::size_t count = last.size(), parts = batches.begin.size() * (lengths.size() + 1);
  auto part_of = [&](std::size_t row) {
    std::size_t of_class = classes.empty() ? 0 : static_cast<std::size_t>(classes[row]);
    return of_class * batches.begin.size() + static_cast<std::size_t>(rows.heights[row]);
  };
  Ints next[2];  // of each class and batch, the next id of the first half and of the other one
  for (const Ints& firsts : firsts_of_classes(batches, lengths)) {
    next[0].insert(next[0].end(), firsts.begin(), firsts.end());
  }
  next[1] = next[0];
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t after = part + batches.begin.size(), b = part % batches.begin.size();
    std::int32_t end = after < parts ? next[0][after] : batches.begin[b] + batches.length[b];
    next[1][part] += (end - next[0][part] + 1) / 2;
  }
  Ints keys(count), begin(2 * batches.begin.size() + 3, 0), order(count);
  for (std::size_t row = 0; row < count; ++row) {
    keys[row] = 2 * last[row] + (ids[row] >= next[1][part_of(row)]);
    ++begin[static_cast<std::size_t>(keys[row]) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  Ints end(begin.begin(), begin.end() - 1);  // so far
  for (std::size_t row = 0; row < count; ++row) {
    order[static_cast<std::size_t>(end[static_cast<std::size_t>(keys[row])]++)] = static_cast<std::int32_t>(row);
  }
  auto place = [&](std::size_t until, std::size_t half) {
    for (std::int32_t o = begin[2 * until + half]; o < begin[2 * until + half + 1]; ++o) {
      auto row = static_cast<std::size_t>(order[static_cast<std::size_t>(o)]);
      ids[row] = next[half][part_of(row)]++;
    }
  };
  for (std::size_t until = batches.begin.size() + 1; until-- > 0;) place(until, 0);
  for (std::size_t until = 0; until <= batches.begin.size(); ++until) place(until, 1);
}

// Payloads by name, and where in them each node's value begins, of those that are vectors of floats.
struct Payloads {
  nb::dict arrays, begin;
};

// Fill in where the values of nodes begin; returns the memory that they are in, if they stay where they are.
nb::object place_values(const PayloadSpec& payload, Column& column, const std::int32_t* ids, std::size_t count,
                        const Borrowing& borrowing, std::int64_t* begin, Arrays& arrays) {
  const int may_stay = PySequence_Contains(borrowing.names.ptr(), payload.name.ptr());
  if (may_stay < 0) throw nb::python_error();
  if (may_stay != 0) {
    if (auto place = column.borrowed_memory(ids, count, begin, borrowing.owner)) {
      return arrays.borrow(place->memory, place->elements, payload.dtype, std::move(place->owner));
    }
  }
  for (std::size_t n = 0; n < count; ++n) begin[n] = static_cast<std::int64_t>(n * payload.size);
  return {};
}

Payloads number_payloads(const PlanSpec& plan, Rows& rows, const std::int32_t* ids, Arrays& arrays,
                         const Borrowing& borrowing) {
  Payloads payloads;
  std::size_t count = rows.count();
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    const PayloadSpec& payload = plan.payloads[i];
    if (!payload.shape.empty() && !is_int(payload.dtype)) {
      auto [begin, places] = arrays.make({static_cast<Py_ssize_t>(count)}, DType::Int64);
      payloads.begin[payload.name] = begin;
      nb::object there = place_values(payload, rows.columns[i], ids, count, borrowing,
                                      static_cast<std::int64_t*>(places), arrays);
      if (there.is_valid()) {
        payloads.arrays[payload.name] = there;
        continue;
      }
    }
    std::vector<Py_ssize_t> shape{static_cast<Py_ssize_t>(count)};
    shape.insert(shape.end(), payload.shape.begin(), payload.shape.end());
    auto [array, data] = arrays.make(shape, payload.dtype);
    rows.columns[i].scatter(ids, count, data);
    payloads.arrays[payload.name] = array;
  }
  return payloads;
}

// For each payload that the plan lists: the nodes that carry it, by rising id, how many of them are inner, and for each
// node its place among them from 1 up, or 0.
nb::dict number_carriers(const PlanSpec& plan, const nb::dict& payloads, std::size_t nodes, std::size_t inner,
                         Arrays& arrays) {
  nb::dict carriers;
  for (std::size_t i : plan.carried) {
    const PayloadSpec& payload = plan.payloads[i];
    ArrayView values{nb::borrow(payloads[payload.name])};
    Ints found;
    found.reserve(nodes);
    std::int32_t id = 0, of_inner = 0, *places = nullptr;
    nb::object by_node = arrays.ints(nodes, places);
    values.each_integer(0, true, [&](std::int64_t value, bool) {
      if (value >= 0) found.push_back(id);
      places[id] = value >= 0 ? static_cast<std::int32_t>(found.size()) : 0;
      if (static_cast<std::size_t>(++id) == inner) of_inner = static_cast<std::int32_t>(found.size());
    });
    carriers[payload.name] = nb::make_tuple(arrays.copy(found), of_inner, by_node);
  }
  return carriers;
}

nb::object number_roots(const Rows& rows, const std::int32_t* ids, Arrays& arrays) {
  std::int32_t* roots = nullptr;
  nb::object array = arrays.ints(rows.roots.size(), roots);
  for (std::int32_t root : rows.roots) *roots++ = ids[root];
  return array;
}

nb::tuple copy_all(const std::vector<Ints>& all, Arrays& arrays) {
  nb::list copies;
  for (const Ints& each : all) copies.append(arrays.copy(each));
  return nb::tuple(copies);
}

}  // namespace

nb::tuple number(const PlanSpec& plan, Rows& rows, Arrays arrays, const Borrowing& borrowing) {
  if (plan.widest > 0) divide_wide_heights(plan.widest, rows);
  Batches batches(rows);
  Ints classes = classes_of(plan, rows);
  std::vector<Ints> lengths = class_lengths(plan, rows, classes, batches.begin.size());
  std::int32_t* ids = nullptr;
  nb::object by_row = arrays.ints(rows.count(), ids);
  Ints last = plan.recycled ? last_needed(rows, batches.begin.size()) : Ints();
  if (classes.empty()) {
    sort_by_batch(rows, batches, ids);
  } else {
    sort_by_class(rows, batches, classes, lengths, ids);
  }
  if (plan.recycled) sort_by_use(rows, batches, classes, lengths, last, ids);
  std::size_t inner = rows.inner.size();
  Edges edges = number_edges(plan, rows, ids, arrays);
  Payloads payloads = number_payloads(plan, rows, ids, arrays, borrowing);
  nb::dict carriers = number_carriers(plan, payloads.arrays, rows.count(), inner, arrays);
  Steps steps = number_steps(plan, rows, ids);
  Storage storage = plan.recycled ? store(batches.begin, batches.length, last, ids, arrays)
                                  : Storage{0, arrays.copy(Ints()), arrays.copy(Ints())};
  return nb::make_tuple(rows.structures(), rows.count(), inner, edges.count, batches.length.size(), batches.widest(),
                        batches.widest_edges(edges.first), arrays.copy(batches.begin), arrays.copy(batches.length),
                        edges.begin, edges.child, edges.positions, payloads.arrays, payloads.begin, carriers,
                        steps.top_begin.size() - 1, steps.top.size(), arrays.copy(steps.top_begin), arrays.copy(steps.top),
                        arrays.copy(steps.height), arrays.copy(steps.group), copy_all(lengths, arrays), storage.rows,
                        storage.begin, storage.of_node, number_roots(rows, ids, arrays), arrays.copy(rows.root_begin),
                        by_row, arrays.copy(rows.row_begin), rows.keys.release(arrays));
}

}  // namespace cortex
