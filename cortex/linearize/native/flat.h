// Payloads that come as arrays over all nodes of a member of a batch.
#pragma once

#include "readers.h"

namespace cortex {

// The rows from `first_row` on belong to one member of the batch; all its structures are complete.
struct FlatMember {
  const Rows& rows;
  std::size_t first_row;
  std::size_t first_structure;
  const char* where;                         // names a node by its source, as in "step %d"
  const std::vector<std::int32_t>* sources;  // for each row its index in the arrays; nullptr: the same order

  std::int32_t source(std::size_t i) const {
    return sources == nullptr ? static_cast<std::int32_t>(i) : (*sources)[i];
  }
};

// Append one payload for all rows of a member. An invalid `array` is a payload that it does not carry.
void append_column(const PayloadSpec& payload, nb::object array, const FlatMember& member, Column& column);

}  // namespace cortex
