// Where the nodes of a batch are kept in a plan that is recycled: each batch in the first free rows that are enough for
// it.
#pragma once

#include "arrays.h"
#include "rows.h"

namespace cortex {

using Ints = std::vector<std::int32_t>;

// By row: the last batch that a node is needed in, of so many: the one after its own or a parent's; `batches` for roots.
Ints last_needed(const Rows& rows, std::size_t batches);

struct Storage {
  std::int32_t rows = 0;
  nb::object begin;    // the first row of each batch
  nb::object of_node;  // the row of each id
};

// `begin` and `length` are the ids of each batch, `ids` those of the rows, `last` is as above.
Storage store(const Ints& begin, const Ints& length, const Ints& last, const std::int32_t* ids, Arrays& arrays);

}  // namespace cortex
