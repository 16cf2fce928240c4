// Numbering by falling height, and the arrays of cortex.linearize.result.Linearized.
#pragma once

#include "rows.h"
#include "slotted.h"

namespace cortex {

// The classes of what comes out.
struct Results {
  Results();
  SlottedClass linearized, numbers;
};

// A Linearized of these rows, whose keys are consumed.
nb::object number(const Results& results, const PlanSpec& plan, Rows& rows);

}  // namespace cortex
