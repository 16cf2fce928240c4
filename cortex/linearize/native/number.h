// Numbering by falling height, and the arrays of cortex.linearize.result.Linearized.
#pragma once

#include "arrays.h"
#include "requests.h"
#include "rows.h"

namespace cortex {

// The names of the payloads that may be borrowed from the caller, and an owner of the plan.
struct Borrowing {
  nb::handle names;
  nb::object owner;
};

// The fields of Linearized beside its plan.
struct Numbered {
  std::size_t structures;
  nb::dict arrays, payloads;  // by name
  nb::object root_begin, rows, row_begin, row_keys;
};

// Number the rows, which are consumed, and make the arrays that are requested.
Numbered number(const PlanSpec& plan, const std::vector<Request>& requests, Rows& rows, Arrays arrays,
                const Borrowing& borrowing);

}  // namespace cortex
