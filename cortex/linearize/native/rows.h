// The nodes of a batch in the order in which readers finish them: post-order rows, structure after structure.
#pragma once

#include <cstdlib>
#include <new>

#include "plan.h"

namespace cortex {

// The values of one payload, row after row.
class Column {
 public:
  Column() = default;
  Column(Column&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_), capacity_(other.capacity_) {}
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { std::free(data_); }

  // Return room for so many more bytes, which are not initialised.
  char* append(std::size_t bytes) {
    if (size_ + bytes > capacity_) grow(bytes);
    char* room = data_ + size_;
    size_ += bytes;
    return room;
  }
  const char* data() const { return data_; }

 private:
  void grow(std::size_t bytes);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

class Rows {
 public:
  Rows(const PlanSpec& plan, std::int64_t limit);

  std::size_t count() const { return heights.size(); }
  std::size_t structures() const { return row_begin.size() - 1; }
  // The row that the next finished node has within its structure.
  std::int64_t next_row() const { return static_cast<std::int64_t>(count()) - row_begin.back(); }

  // Finish a node: its children's rows in order, a missing one below zero, and what the caller knows it by.
  // Returns its row in the batch. Its payloads are appended to `columns` before.
  std::int32_t finish(const std::int32_t* children, std::size_t width, nb::object key);
  void add_root(std::int32_t row) { roots.push_back(row); }
  void end_structure();

  std::vector<std::int32_t> heights;
  std::vector<std::int32_t> slot_begin;  // of each row, and the end
  std::vector<std::int32_t> slots;       // rows of children; below zero where one is missing
  std::vector<std::int32_t> roots;
  std::vector<std::int32_t> root_begin;
  std::vector<std::int32_t> row_begin;
  std::vector<Column> columns;
  OwnedObjects keys;
  bool has_holes = false;

 private:
  std::int64_t limit_;
};

}  // namespace cortex
