#include "number.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>

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

// A payload's array; of vectors of floats, also where in it each node's value begins.
struct NumberedPayload {
  nb::object array, begin;
  std::size_t elements;
};

// Fill in where the values of nodes begin, and make an array over the caller's memory, if that may be borrowed.
void borrow_values(const PayloadSpec& payload, Column& column, const std::int32_t* ids, std::size_t count,
                   const Borrowing& borrowing, std::int64_t* begin, Arrays& arrays, NumberedPayload& to) {
  const int may_stay = PySequence_Contains(borrowing.names.ptr(), payload.name.ptr());
  if (may_stay < 0) throw nb::python_error();
  if (may_stay != 0) {
    if (auto place = column.borrowed_memory(ids, count, begin, borrowing.owner)) {
      to.elements = static_cast<std::size_t>(place->elements);
      to.array = arrays.borrow(place->memory, place->elements, payload.dtype, std::move(place->owner));
      return;
    }
  }
  for (std::size_t n = 0; n < count; ++n) begin[n] = static_cast<std::int64_t>(n * payload.size);
}

std::vector<NumberedPayload> number_payloads(const PlanSpec& plan, Rows& rows, const std::int32_t* ids, Arrays& arrays,
                                             const Borrowing& borrowing) {
  std::vector<NumberedPayload> payloads;
  std::size_t count = rows.count();
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    const PayloadSpec& payload = plan.payloads[i];
    NumberedPayload& to = payloads.emplace_back(NumberedPayload{{}, {}, count * payload.size});
    if (!payload.shape.empty() && !is_int(payload.dtype)) {
      auto [begin, places] = arrays.make({static_cast<Py_ssize_t>(count)}, DType::Int64);
      to.begin = begin;
      borrow_values(payload, rows.columns[i], ids, count, borrowing, static_cast<std::int64_t*>(places), arrays, to);
      if (to.array.is_valid()) continue;
    }
    std::vector<Py_ssize_t> shape{static_cast<Py_ssize_t>(count)};
    shape.insert(shape.end(), payload.shape.begin(), payload.shape.end());
    auto [array, data] = arrays.make(shape, payload.dtype);
    rows.columns[i].scatter(ids, count, data);
    to.array = array;
  }
  return payloads;
}

// The nodes that carry an integer payload: their ids, how many of them are inner, and for each node its place among them
// from 1 up, or 0.
struct Carriers {
  Ints nodes;
  std::int32_t inner = 0;
  nb::object places;
};

Carriers number_carriers(const nb::object& values, std::size_t nodes, std::size_t inner, Arrays& arrays) {
  Carriers carriers;
  ArrayView view{nb::object(values)};
  carriers.nodes.reserve(nodes);
  std::int32_t id = 0, *places = nullptr;
  carriers.places = arrays.ints(nodes, places);
  view.each_integer(0, true, [&](std::int64_t value, bool) {
    if (value >= 0) carriers.nodes.push_back(id);
    places[id] = value >= 0 ? static_cast<std::int32_t>(carriers.nodes.size()) : 0;
    if (static_cast<std::size_t>(++id) == inner) carriers.inner = static_cast<std::int32_t>(carriers.nodes.size());
  });
  return carriers;
}

nb::object number_roots(const Rows& rows, const std::int32_t* ids, Arrays& arrays) {
  std::int32_t* roots = nullptr;
  nb::object array = arrays.ints(rows.roots.size(), roots);
  for (std::int32_t root : rows.roots) *roots++ = ids[root];
  return array;
}

// The structure of each node.
nb::object structure_of(const Rows& rows, const std::int32_t* ids, Arrays& arrays) {
  std::int32_t* structures = nullptr;
  nb::object array = arrays.ints(rows.count(), structures);
  for (std::size_t s = 0; s < rows.structures(); ++s) {
    for (std::int32_t row = rows.row_begin[s]; row < rows.row_begin[s + 1]; ++row) {
      structures[ids[row]] = static_cast<std::int32_t>(s);
    }
  }
  return array;
}

// All that requests are made of, once nodes have their ids.
struct Numbering {
  const Rows& rows;
  const Batches& batches;
  const std::vector<Ints>& class_lengths;
  const Edges& edges;
  const std::vector<NumberedPayload>& payloads;
  const Steps& steps;
  const Storage& storage;
  const std::int32_t* ids;
  const nb::object& members;  // the same as an array of Python's
  Arrays& arrays;
  std::vector<std::optional<Carriers>> carriers;  // of the payloads that were asked for so far

  const Carriers& carriers_of(std::size_t payload) {
    if (!carriers[payload]) {
      carriers[payload] = number_carriers(payloads[payload].array, rows.count(), rows.inner.size(), arrays);
    }
    return *carriers[payload];
  }

  nb::object make(const Request& request) {
    using K = IndexKind;
    switch (request.kind) {
      case K::NumNodes: return nb::int_(rows.count());
      case K::NumInner: return nb::int_(rows.inner.size());
      case K::NumEdges: return nb::int_(edges.count);
      case K::NumBatches: return nb::int_(batches.length.size());
      case K::NumRoots: return nb::int_(rows.roots.size());
      case K::WidestNodes: return nb::int_(batches.widest());
      case K::WidestEdges: return nb::int_(batches.widest_edges(edges.first));
      case K::BatchBegin: return arrays.copy(batches.begin);
      case K::BatchLength: return arrays.copy(batches.length);
      case K::ChildBegin: return edges.begin;
      case K::Child: return edges.child;
      case K::Roots: return number_roots(rows, ids, arrays);
      case K::Position: return nb::borrow(edges.positions[nb::int_(request.number)]);
      case K::NumCarriers: return nb::int_(carriers_of(request.payload).nodes.size());
      case K::NumInnerCarriers: return nb::int_(carriers_of(request.payload).inner);
      case K::Carrier: return arrays.copy(carriers_of(request.payload).nodes);
      case K::CarrierPlace: return carriers_of(request.payload).places;
      case K::NumSteps: return nb::int_(steps.top_begin.size() - 1);
      case K::NumTops: return nb::int_(steps.top.size());
      case K::TopBegin: return arrays.copy(steps.top_begin);
      case K::StepTop: return arrays.copy(steps.top);
      case K::Height: return arrays.copy(steps.height);
      case K::StepGroup: return arrays.copy(steps.group);
      case K::ClassLength: return arrays.copy(class_lengths[static_cast<std::size_t>(request.number)]);
      case K::StructureCount: return nb::int_(rows.structures());
      case K::MemberBegin: return arrays.copy(rows.row_begin);
      case K::Member: return members;
      case K::StructureOf: return structure_of(rows, ids, arrays);
      case K::StorageRows: return nb::int_(storage.rows);
      case K::StorageBegin: return storage.begin;
      case K::StorageRow: return storage.of_node;
      case K::PayloadBegin: return payloads[request.payload].begin;
      case K::PayloadSize: return nb::int_(payloads[request.payload].elements);
    }
    throw std::logic_error("an index array of no kind");
  }
};

}  // namespace

Numbered number(const PlanSpec& plan, const std::vector<Request>& requests, Rows& rows, Arrays arrays,
                const Borrowing& borrowing) {
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
  Edges edges = number_edges(plan, rows, ids, arrays);
  std::vector<NumberedPayload> payloads = number_payloads(plan, rows, ids, arrays, borrowing);
  Steps steps = number_steps(plan, rows, ids);
  Storage storage = plan.recycled ? store(batches.begin, batches.length, last, ids, arrays) : Storage{};
  Numbering numbering{rows, batches, lengths, edges, payloads, steps, storage, ids, by_row, arrays, {}};
  numbering.carriers.resize(payloads.size());
  Numbered numbered;
  numbered.structures = rows.structures();
  for (const Request& request : requests) numbered.arrays[request.name] = numbering.make(request);
  for (std::size_t i = 0; i < payloads.size(); ++i) numbered.payloads[plan.payloads[i].name] = payloads[i].array;
  numbered.root_begin = arrays.copy(rows.root_begin);
  numbered.rows = by_row;
  numbered.row_begin = arrays.copy(rows.row_begin);
  numbered.row_keys = rows.keys.release(arrays);
  return numbered;
}

}  // namespace cortex
