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
  double default_float = 0.0;
  bool has_range = false;
  std::int64_t low = 0, high = 0;

  bool required(bool leaf) const { return leaf ? at_leaves : at_inner; }
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
  std::vector<std::size_t> carried;  // the payloads of which the carriers are listed
  int word = -1;  // the index of the payload `word`, if the plan has it
};

// Refuse an inner node with too many or too few children, or without one that the kernel reads. `slots` are
// its children in order, a missing one below zero, the last never missing.
void check_arity(const PlanSpec& plan, const std::int32_t* slots, std::size_t count, const Spot& spot,
                 nb::handle key);

}  // namespace cortex
