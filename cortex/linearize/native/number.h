// Numbering by falling height, and the arrays of cortex.linearize.result.Linearized.
#pragma once

#include "arrays.h"
#include "rows.h"

namespace cortex {

// The names of the payloads that may be borrowed from the caller, and an owner of the plan.
struct Borrowing {
  nb::handle names;
  nb::object owner;
};

// The fields of Linearized after its plan, in their order. The rows are consumed.
nb::tuple number(const PlanSpec& plan, Rows& rows, Arrays arrays, const Borrowing& borrowing);

}  // namespace cortex
