// The plan of cortex.ilir.plan in the form that the readers use.
#pragma once

#include "common.h"

namespace cortex {

enum class DType { Int32, Int64, Float32, Float64 };

inline bool is_int(DType dtype) { return dtype == DType::Int32 || dtype == DType::Int64; }
inline std::size_t bytes_of(DType dtype) {
  return dtype == DType::Int32 || dtype == DType::Float32 ? 4 : 8;
}

struct PayloadSpec {
  explicit PayloadSpec(nb::handle payload);

  nb::object payload;  // the Payload itself, for messages
  nb::object name;     // interned
  DType dtype;
  std::vector<Py_ssize_t> shape;
  std::size_t size = 1;   // elements at a node
  std::size_t bytes = 0;  // of these elements
  bool at_leaves, at_inner;
  std::int64_t default_int = 0;
  std::vector<char> default_bytes;  // what a node has that carries nothing
  bool has_range = false;
  std::int64_t low = 0, high = 0;

  // What `append_plain` takes: a scalar int from plain_low to below plain_high, or a scalar float.
  enum class Plain { None, Int32, Int64, Float32, Float64 } plain = Plain::None;
  std::int64_t plain_low = 0, plain_high = 0;

  bool required(bool leaf) const { return leaf ? at_leaves : at_inner; }
};

// A comparison of the payload of that index, or of the number of children where it is below zero.
struct ComparisonSpec {
  bool holds(std::int64_t found) const;

  int payload;
  enum class Op { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual } op;
  std::int64_t value;
};

struct ClassSpec {
  bool leaf;
  std::vector<ComparisonSpec> conditions;
};

struct PlanSpec {
  explicit PlanSpec(nb::handle plan);

  nb::object plan;
  bool is_dag;
  std::int64_t min_children;
  std::int64_t most_children;  // below zero: any number
  std::vector<std::int64_t> positions;
  std::vector<PayloadSpec> payloads;
  std::int32_t unrolled;             // steps are of one height more; none where it is zero
  std::vector<ClassSpec> classes;
  bool recycled;        // nodes have rows of storage
  std::int32_t widest = 0;  // batches of inner nodes have no more of them; any number where it is zero
  int word = -1;  // the index of the payload `word`, if the plan has it
};

// Refuse what `check_arity` does; returns for what it does not.
void check_odd_arity(const PlanSpec& plan, const std::int32_t* slots, std::size_t count, const Location& location,
                     const nb::object& key);

// Refuse an inner node with too many or too few children, or without one that the kernel reads. `slots` are
// its children in order, a missing one below zero, the last never missing. `key` is an object or a number.
template <class Key>
inline void check_arity(const PlanSpec& plan, const std::int32_t* slots, std::size_t count, const Location& location,
                        const Key& key) {
  auto width = static_cast<std::int64_t>(count);
  bool plain = width == 0 || (width >= plan.min_children && (plan.most_children < 0 || width <= plan.most_children));
  for (std::size_t i = 0; i < count; ++i) plain &= slots[i] >= 0;
  if (!plain) [[unlikely]] check_odd_arity(plan, slots, count, location, nb::cast(key));
}

}  // namespace cortex
