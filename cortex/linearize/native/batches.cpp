#include "batches.h"

#include <algorithm>

namespace cortex {

namespace {

// The batches of the nodes of one height: a part of each of its quarters. So the worker that computes the first nodes of
// one height computes the first ones of the next.
class Division {
 public:
  Division(std::int32_t first, std::int32_t nodes, std::int32_t widest)
      : first_(first), nodes_(nodes), quarters_(widest < nodes && widest >= 4 ? 4 : 1),
        part_(std::min(widest, std::max(nodes, 1)) / quarters_), left_of_quarter_(quarter_end(0)), left_of_part_(part_),
        batch_(first) {}

  std::int32_t parts() const { return (quarter_end(0) + part_ - 1) / part_; }
  // The batch of the next node, by row.
  std::int32_t next() {
    if (left_of_quarter_ == 0) {
      left_of_quarter_ = quarter_end(quarter_ + 1) - quarter_end(quarter_);
      ++quarter_;
      left_of_part_ = part_;
      batch_ = first_;
    } else if (left_of_part_ == 0) {
      left_of_part_ = part_;
      ++batch_;
    }
    --left_of_quarter_, --left_of_part_;
    return batch_;
  }

 private:
  // Where a quarter ends: the first ones are the longer ones.
  std::int32_t quarter_end(std::int32_t quarter) const {
    std::int32_t longer = std::min(quarter + 1, nodes_ % quarters_);
    return nodes_ / quarters_ * (quarter + 1) + longer;
  }

  std::int32_t first_, nodes_, quarters_, part_;
  std::int32_t quarter_ = 0, left_of_quarter_, left_of_part_, batch_;  // of the next node
};

}  // namespace

Batches::Batches(const Rows& rows) : length(rows.of_height.begin(), rows.of_height.end()) {
  if (length.empty()) length.push_back(0);
  length[0] = static_cast<std::int32_t>(rows.count() - rows.inner.size());
  begin.resize(length.size());
  auto end = static_cast<std::int32_t>(rows.count());
  for (std::size_t b = 0; b < length.size(); ++b) begin[b] = end -= length[b];
}

std::int32_t Batches::widest() const {
  return length.size() > 1 ? *std::max_element(length.begin() + 1, length.end()) : 0;
}

std::int32_t Batches::widest_edges(const std::int32_t* children) const {
  std::int32_t most = 0;
  for (std::size_t b = 1; b < begin.size(); ++b) {
    most = std::max(most, children[begin[b] + length[b]] - children[begin[b]]);
  }
  return most;
}

void divide_wide_heights(std::int32_t widest, Rows& rows) {
  auto fits = [=](std::int32_t nodes) { return nodes <= widest; };
  if (std::all_of(rows.of_height.begin(), rows.of_height.end(), fits)) return;
  std::vector<Division> divisions(1, Division(0, 0, widest));  // of each height; leaves are not divided
  std::int32_t batches = 1;
  for (std::size_t height = 1; height < rows.of_height.size(); ++height) {
    divisions.emplace_back(batches, rows.of_height[height], widest);
    batches += divisions.back().parts();
  }
  Ints lengths(static_cast<std::size_t>(batches), 0);
  for (std::int32_t row : rows.inner) {
    std::int32_t& of_row = rows.heights[static_cast<std::size_t>(row)];
    of_row = divisions[static_cast<std::size_t>(of_row)].next();
    ++lengths[static_cast<std::size_t>(of_row)];
  }
  rows.of_height.clear();
  std::copy(lengths.begin(), lengths.end(), rows.of_height.append(lengths.size()));
}

}  // namespace cortex
