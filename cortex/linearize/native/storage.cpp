#include "storage.h"

#include <algorithm>
#include <numeric>

namespace cortex {

namespace {

struct Range {
  std::int32_t begin, end;
  std::int32_t length() const { return end - begin; }
};

// The rows below `end` that are free.
class Gaps {
 public:
  std::int32_t end() const { return end_; }

  // Take the middle of the first range that is long enough; if none is, rows from the end on, and what is free before it.
  std::int32_t take(std::int32_t length) {
    auto found = ranges_.end();
    if (length <= longest_) {
      found = std::find_if(ranges_.begin(), ranges_.end(), [=](Range range) { return range.length() >= length; });
      if (found == ranges_.end()) longest_ = length - 1;
    }
    if (found == ranges_.end()) {
      bool open = !ranges_.empty() && ranges_.back().end == end_;
      std::int32_t first = open ? ranges_.back().begin : end_;
      if (open) ranges_.pop_back();
      end_ = first + length;
      return first;
    }
    std::int32_t first = found->begin + (found->length() - length) / 2;
    Range before{found->begin, first}, after{first + length, found->end};
    if (before.length() == 0 && after.length() == 0) {
      ranges_.erase(found);
    } else {
      *found = before.length() == 0 ? after : before;
      if (before.length() > 0 && after.length() > 0) ranges_.insert(found + 1, after);
    }
    return first;
  }

  void give_back(Range freed) {
    auto after = std::lower_bound(ranges_.begin(), ranges_.end(), freed.begin,
                                  [](Range range, std::int32_t begin) { return range.begin < begin; });
    bool joins_next = after != ranges_.end() && after->begin == freed.end;
    if (after != ranges_.begin() && (after - 1)->end == freed.begin) {
      auto before = after - 1;
      before->end = joins_next ? after->end : freed.end;
      longest_ = std::max(longest_, before->length());
      if (joins_next) ranges_.erase(after);
      return;
    }
    if (joins_next) {
      after->begin = freed.begin;
      longest_ = std::max(longest_, after->length());
      return;
    }
    ranges_.insert(after, freed);
    longest_ = std::max(longest_, freed.length());
  }

 private:
  std::vector<Range> ranges_;  // rising, and none begins where another ends
  std::int32_t end_ = 0;
  std::int32_t longest_ = 0;  // no range is longer
};

// Rows that are needed last in the same batch, and the next ones of which that is so.
struct Freed {
  Range range;
  std::int32_t next;
};

}  // namespace

Ints last_needed(const Rows& rows, std::size_t batches) {
  Ints last(rows.count());
  std::transform(rows.heights.begin(), rows.heights.end(), last.begin(), [](std::int32_t height) { return height + 1; });
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int32_t height = rows.heights[static_cast<std::size_t>(rows.inner[k])];
    for (std::int32_t s = rows.slot_begin[k]; s < rows.slot_begin[k + 1]; ++s) {
      std::int32_t kid = rows.slots[static_cast<std::size_t>(s)];
      if (kid >= 0) last[static_cast<std::size_t>(kid)] = std::max(last[static_cast<std::size_t>(kid)], height);
    }
  }
  for (std::int32_t root : rows.roots) last[static_cast<std::size_t>(root)] = static_cast<std::int32_t>(batches);
  return last;
}

Storage store(const Ints& begin, const Ints& length, const Ints& last, const std::int32_t* ids, Arrays& arrays) {
  std::int32_t *firsts = nullptr, *of_node = nullptr;
  Storage storage{0, arrays.ints(begin.size(), firsts), arrays.ints(last.size(), of_node)};
  Ints by_id(last.size());
  for (std::size_t row = 0; row < last.size(); ++row) by_id[static_cast<std::size_t>(ids[row])] = last[row];
  Gaps gaps;
  std::vector<Freed> freed;
  freed.reserve(last.size());
  Ints newest(begin.size() + 1, -1);  // of what is needed last in each batch
  for (std::size_t b = 0; b < begin.size(); ++b) {
    if (b > 0) {
      for (std::int32_t f = newest[b - 1]; f >= 0; f = freed[static_cast<std::size_t>(f)].next) {
        gaps.give_back(freed[static_cast<std::size_t>(f)].range);
      }
    }
    std::int32_t first = firsts[b] = gaps.take(length[b]);
    std::iota(of_node + begin[b], of_node + begin[b] + length[b], first);
    for (std::int32_t i = 0, next = 0; i < length[b]; i = next) {
      auto until = static_cast<std::size_t>(by_id[static_cast<std::size_t>(begin[b] + i)]);
      next = i + 1;
      while (next < length[b] && by_id[static_cast<std::size_t>(begin[b] + next)] == static_cast<std::int32_t>(until)) ++next;
      freed.push_back({{first + i, first + next}, newest[until]});
      newest[until] = static_cast<std::int32_t>(freed.size()) - 1;
    }
  }
  storage.rows = gaps.end();
  return storage;
}

}  // namespace cortex
