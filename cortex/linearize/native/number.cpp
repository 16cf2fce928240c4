#include "number.h"

#include <cstring>

#include "arrays.h"
#include "edges.h"

namespace cortex {

namespace {

nb::object python_class(const char* module, const char* name) { return nb::module_::import_(module).attr(name); }

// Scalars are small, and share the block; a vector may outlive the rest by far, and has memory of its own.
bool in_block(const PayloadSpec& payload) { return payload.shape.empty(); }

std::size_t block_bytes(const PlanSpec& plan, const Rows& rows, std::size_t edges) {
  std::size_t nodes = rows.count();
  std::size_t sum = 2 * Block::rounded_ints(rows.lengths.size()) + Block::rounded_ints(nodes + 1) +
                    Block::rounded_ints(edges) + plan.positions.size() * Block::rounded_ints(rows.inner.size()) +
                    Block::rounded_ints(rows.roots.size()) + 2 * Block::rounded_ints(rows.row_begin.size()) +
                    Block::rounded_ints(nodes) + Block::rounded_ints(rows.keys.numbers().size());
  for (const PayloadSpec& payload : plan.payloads) {
    if (in_block(payload)) sum += Block::rounded(nodes * payload.bytes);
  }
  return sum;
}

nb::object copy_ints(Block& block, const Ints& values) {
  std::int32_t* data = nullptr;
  nb::object array = block.take_ints(values.size(), data);
  if (!values.empty()) std::memcpy(data, values.data(), values.size() * sizeof(std::int32_t));
  return array;
}

// The first id of each height: the highest heights first.
nb::object begin_batches(Block& block, const Rows& rows, std::int32_t*& begin) {
  nb::object array = block.take_ints(rows.lengths.size(), begin);
  auto end = static_cast<std::int32_t>(rows.count());
  for (std::size_t b = 0; b < rows.lengths.size(); ++b) begin[b] = end -= rows.lengths[b];
  return array;
}

// The id of each row: a counting sort, stable, so that within a height rows keep their order.
nb::object number_rows(Block& block, const Rows& rows, std::int32_t* next, std::int32_t*& ids) {
  nb::object array = block.take_ints(rows.count(), ids);
  for (std::size_t row = 0; row < rows.count(); ++row) ids[row] = next[rows.heights[row]]++;
  for (std::size_t b = 0; b < rows.lengths.size(); ++b) next[b] -= rows.lengths[b];
  return array;
}

template <class T>
void scatter(const std::int32_t* ids, std::size_t count, const char* from, void* to) {
  for (std::size_t row = 0; row < count; ++row) {
    std::memcpy(static_cast<T*>(to) + ids[row], from + row * sizeof(T), sizeof(T));
  }
}

void scatter_payload(const PayloadSpec& payload, const std::int32_t* ids, const Column& column, std::size_t count,
                     void* to) {
  if (payload.bytes == 4) return scatter<std::int32_t>(ids, count, column.data(), to);
  if (payload.bytes == 8) return scatter<std::int64_t>(ids, count, column.data(), to);
  if (payload.bytes == 0) return;
  for (std::size_t row = 0; row < count; ++row) {
    std::memcpy(static_cast<char*>(to) + static_cast<std::size_t>(ids[row]) * payload.bytes,
                column.data() + row * payload.bytes, payload.bytes);
  }
}

nb::object number_payloads(Block& block, const PlanSpec& plan, const Rows& rows, const std::int32_t* ids) {
  nb::dict payloads;
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    const PayloadSpec& payload = plan.payloads[i];
    void* data = nullptr;
    nb::object array;
    if (in_block(payload)) {
      array = block.take(rows.count(), payload.dtype, data);
    } else {
      std::vector<Py_ssize_t> shape = payload.shape;
      shape.insert(shape.begin(), static_cast<Py_ssize_t>(rows.count()));
      array = new_array(shape, payload.dtype, data);
    }
    scatter_payload(payload, ids, rows.columns[i], rows.count(), data);
    payloads[payload.name] = array;
  }
  return std::move(payloads);
}

nb::object number_roots(Block& block, const Rows& rows, const std::int32_t* ids) {
  std::int32_t* data = nullptr;
  nb::object array = block.take_ints(rows.roots.size(), data);
  for (std::size_t i = 0; i < rows.roots.size(); ++i) data[i] = ids[rows.roots[i]];
  return array;
}

nb::object take_keys(Block& block, const Results& results, Rows& rows) {
  if (!rows.keys.are_numbers()) return rows.keys.release_as_list();
  nb::object values[] = {copy_ints(block, rows.keys.numbers())};
  return results.numbers.make(values);
}

}  // namespace

Results::Results()
    : linearized(python_class("cortex.linearize.result", "Linearized"),
                 {"plan", "num_structures", "num_nodes", "num_inner", "num_edges", "num_batches", "batch_begin",
                  "batch_length", "child_begin", "child", "positions", "payloads", "roots", "root_begin", "rows",
                  "row_begin", "keys"}),
      numbers(python_class("cortex.linearize.keys", "Numbers"), {"_numbers"}) {}

nb::object number(const Results& results, const PlanSpec& plan, Rows& rows) {
  std::size_t edges = count_edges(rows);
  Block block(block_bytes(plan, rows, edges));
  std::int32_t *begin = nullptr, *ids = nullptr;
  nb::object batch_begin = begin_batches(block, rows, begin);
  nb::object row_ids = number_rows(block, rows, begin, ids);
  Edges numbered = number_edges(block, rows, ids, edges);
  nb::object positions = number_positions(block, plan, rows, ids, numbered);
  nb::object payloads = number_payloads(block, plan, rows, ids);
  nb::object fields[] = {plan.plan,
                         nb::int_(rows.structures()),
                         nb::int_(rows.count()),
                         nb::int_(rows.inner.size()),
                         nb::int_(edges),
                         nb::int_(rows.lengths.size()),
                         std::move(batch_begin),
                         copy_ints(block, rows.lengths),
                         std::move(numbered.begin),
                         std::move(numbered.child),
                         std::move(positions),
                         std::move(payloads),
                         number_roots(block, rows, ids),
                         copy_ints(block, rows.root_begin),
                         std::move(row_ids),
                         copy_ints(block, rows.row_begin),
                         take_keys(block, results, rows)};
  return results.linearized.make(fields);
}

}  // namespace cortex
