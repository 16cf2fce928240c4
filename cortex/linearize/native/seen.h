// The objects that were met in the structure that is being read, by address.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "growing_array.h"

namespace cortex {

// Open addressing. An entry of an earlier structure counts as empty, so that a new one needs no clearing: no
// entry is ever removed within a structure, and a chain of entries may therefore end at a stale one.
class Seen {
 public:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;  // no index

  void begin_structure() {
    if (entries_.empty()) entries_.resize(256);
    if (next_serial_ > kMostSerials) {
      std::fill(entries_.begin(), entries_.end(), Entry());
      next_serial_ = 0;
    }
    first_serial_ = next_serial_;
    live_ = 0;
    rows_.clear();
  }

  // Return the object's index in this structure, and whether it was met before.
  std::pair<std::uint32_t, bool> meet(PyObject* object) {
    std::size_t at = slot(object);
    if (is_live(entries_[at])) return {entries_[at].serial - first_serial_, true};
    entries_[at] = {object, next_serial_};
    rows_.push(-1);
    if (++live_ * 2 > entries_.size()) grow();
    return {next_serial_++ - first_serial_, false};
  }

  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

  // The row of an object that was met: below zero until it is finished.
  std::int32_t row(std::uint32_t index) const { return rows_[index]; }
  void set_row(std::uint32_t index, std::int32_t row) { rows_[index] = row; }

 private:
  // A structure has fewer objects than this, so that none of its serials is one over.
  static constexpr std::uint32_t kMostSerials = 1u << 31;

  struct Entry {
    PyObject* object = nullptr;
    std::uint32_t serial = 0;
  };

  bool is_live(const Entry& entry) const { return entry.object != nullptr && entry.serial >= first_serial_; }

  std::size_t slot(PyObject* object) const {
    // Objects lie 16 bytes apart at the least; the product spreads what is left over the high bits.
    std::uint64_t hash = (reinterpret_cast<std::uintptr_t>(object) >> 4) * 0x9E3779B97F4A7C15u;
    std::size_t mask = entries_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash >> 32) & mask;
    while (is_live(entries_[at]) && entries_[at].object != object) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (is_live(entry)) entries_[slot(entry.object)] = entry;
    }
  }

  std::vector<Entry> entries_;
  GrowingArray<std::int32_t> rows_;
  std::size_t live_ = 0;
  std::uint32_t first_serial_ = 0;
  std::uint32_t next_serial_ = 0;
};

}  // namespace cortex
