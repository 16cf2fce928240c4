// Numbering by falling height, and the arrays of cortex.linearize.result.Linearized.
#pragma once

#include "arrays.h"
#include "rows.h"

namespace cortex {

// The payloads that may stay where the caller has them, by name, and who keeps the plan.
struct Lending {
  nb::handle names;
  nb::object keeper;
};

// The fields of Linearized after its plan, in their order. The rows are consumed.
nb::tuple number(const PlanSpec& plan, Rows& rows, Arrays arrays, const Lending& lending);

}  // namespace cortex
