// The classes of nodes that a plan tells apart within one batch.
#pragma once

#include "rows.h"

namespace cortex {

using Ints = std::vector<std::int32_t>;

// The class of each row: the first of its kind with all conditions true, else the last. Empty without classes.
Ints classes_of(const PlanSpec& plan, const Rows& rows);

// For each class but the last: how many nodes of each of so many batches are of it.
std::vector<Ints> class_lengths(const PlanSpec& plan, const Rows& rows, const Ints& classes, std::size_t batches);

}  // namespace cortex
