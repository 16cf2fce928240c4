#include "storage.h"

#include <algorithm>
#include <numeric>

namespace cortex {

namespace {

// So many ranges of free rows are remembered: what there is to search for each batch.
constexpr std::size_t kMostRanges = 512;

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
    auto found = std::find_if(ranges_.begin(), ranges_.end(), [=](Range range) { return range.length() >= length; });
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

  // Ranges that are free from now on, in any order. Of many the longest are remembered.
  void give_back(std::vector<Range>& freed) {
    auto earlier = [](Range one, Range other) { return one.begin < other.begin; };
    std::sort(freed.begin(), freed.end(), earlier);
    std::size_t before = ranges_.size();
    ranges_.insert(ranges_.end(), freed.begin(), freed.end());
    std::inplace_merge(ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(before), ranges_.end(), earlier);
    std::size_t count = 0;
    for (Range range : ranges_) {
      if (count > 0 && ranges_[count - 1].end == range.begin) {
        ranges_[count - 1].end = range.end;
      } else {
        ranges_[count++] = range;
      }
    }
    ranges_.resize(count);
    if (count > kMostRanges) forget_short_ones();
  }

 private:
  void forget_short_ones() {
    auto longer = [](Range one, Range other) {
      return one.length() != other.length() ? one.length() > other.length() : one.begin < other.begin;
    };
    std::nth_element(ranges_.begin(), ranges_.begin() + kMostRanges, ranges_.end(), longer);
    ranges_.resize(kMostRanges);
    std::sort(ranges_.begin(), ranges_.end(), [](Range one, Range other) { return one.begin < other.begin; });
  }

  std::vector<Range> ranges_;  // rising, and none begins where another ends
  std::int32_t end_ = 0;
};

// Rows that are needed last in the same batch, and the next ones of which that is so.
struct Freed {
  Range range;
  std::int32_t next;
};

}  // namespace

Ints last_needed(const Rows& rows, std::size_t batches) {
  Ints last(rows.count());
  std::transform(rows.heights.begin(), rows.heights.end(), last.begin(), [](std::int32_t batch) { return batch + 1; });
  for (std::size_t k = 0; k < rows.inner.size(); ++k) {
    std::int32_t batch = rows.heights[static_cast<std::size_t>(rows.inner[k])];
    for (std::int32_t s = rows.slot_begin[k]; s < rows.slot_begin[k + 1]; ++s) {
      std::int32_t kid = rows.slots[static_cast<std::size_t>(s)];
      if (kid >= 0) last[static_cast<std::size_t>(kid)] = std::max(last[static_cast<std::size_t>(kid)], batch);
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
  std::vector<Range> now;
  Ints newest(begin.size() + 1, -1);  // of what is needed last in each batch
  for (std::size_t b = 0; b < begin.size(); ++b) {
    now.clear();
    for (std::int32_t f = b > 0 ? newest[b - 1] : -1; f >= 0; f = freed[static_cast<std::size_t>(f)].next) {
      now.push_back(freed[static_cast<std::size_t>(f)].range);
    }
    if (!now.empty()) gaps.give_back(now);
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
