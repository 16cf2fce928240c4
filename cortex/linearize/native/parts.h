// Which structures are whose, of those who share a batch out.
#pragma once

#include "arrays.h"
#include "batches.h"

namespace cortex {

// The part of each structure, and the first id of each part in each batch and where the last one ends.
struct Parts {
  // One part, or `sharing` parts that have about as many nodes each, if there are.
  Parts(const Rows& rows, std::size_t sharing);

  // Give rows their ids: batch by batch, and in each part by part.
  void sort(const Rows& rows, const Batches& batches, std::int32_t* ids);
  // The first ids, (batches, count + 1), and the part of each node.
  std::pair<nb::object, nb::object> arrays(const Rows& rows, const Batches& batches, Arrays& arrays) const;

  std::size_t count = 1;

 private:
  Ints of_structure_;
  std::vector<Ints> first_;  // of each part, in each batch
};

}  // namespace cortex
