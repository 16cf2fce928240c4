// The values of one payload, row after row.
#pragma once

#include <cstring>
#include <optional>

#include "plan.h"
#include "growing_array.h"

namespace cortex {

// A vector in a NumPy array or a tensor is borrowed: its address is kept, and it is copied once, to the place of its node's id. That is
// valid as long as no Python code runs, which could write to the array or give it other memory. Before any code runs, the
// reader calls `stop_borrowing`, which copies all vectors, and later ones are copied at once.
class Column {
 public:
  explicit Column(const PayloadSpec& payload)
      : payload_(&payload), can_borrow_(!payload.shape.empty() && !is_int(payload.dtype)), borrows_(can_borrow_) {}
  Column(Column&&) = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { clear(); }

  // Forget the values, and keep the memory.
  void clear();
  std::size_t bytes() const { return values_.bytes() + borrowed_.bytes() + vectors_.bytes() + owners_.bytes(); }
  std::size_t used() const { return values_.used() + borrowed_.used() + vectors_.used() + owners_.used(); }

  // Return the memory of `rows` more rows' values.
  char* append(std::size_t rows = 1) {
    stop_borrowing();
    return values_.append(rows * payload_->bytes);
  }
  // Reserve memory for `rows` rows in all, of scalars; `take` returns the next of it.
  void reserve(std::size_t rows) {
    if (!borrows_) values_.reserve(rows * payload_->bytes - values_.size());
  }
  char* take(std::size_t bytes) { return values_.take(bytes); }
  const char* scalars() const { return values_.data(); }

  // What a node has that carries nothing; `named` if it says so itself, with None.
  void append_default(bool named) {
    unnamed_ += !named;
    if (borrows_) return borrow(payload_->default_bytes.data());
    if (payload_->bytes == 4) {  // a copy of known length is no call
      std::memcpy(values_.append(4), payload_->default_bytes.data(), 4);
    } else if (payload_->bytes > 0) {
      std::memcpy(values_.append(payload_->bytes), payload_->default_bytes.data(), payload_->bytes);
    }
  }

  // The rows of nodes that do not have the payload, not even as None.
  std::size_t unnamed() const { return unnamed_; }

  bool can_borrow() const { return can_borrow_; }
  bool borrows() const { return borrows_; }
  // Borrow a row that is a NumPy array or a tensor of the payload's dtype and shape; false for any other object.
  bool borrow_vector(PyObject* value);
  // Keep an array alive before its entries are borrowed.
  void add_owner(nb::handle array);
  void borrow(const char* value) { borrow(value, nullptr); }
  void stop_borrowing() {
    if (borrows_) [[unlikely]] copy_borrowed();
  }

  // Copy the value of row i, of so many, to the `ids[i]`-th place.
  void scatter(const std::int32_t* ids, std::size_t rows, void* to) const;

  // Borrowed memory of `elements` elements, which `owner` keeps alive.
  struct Memory {
    const void* memory;
    Py_ssize_t elements;
    nb::object owner;
  };
  // Return the memory that holds all values, if all are borrowed and aligned to their elements. The value of row i begins
  // `begin[ids[i]]` elements after its start. `owner` keeps the default value alive.
  std::optional<Memory> borrowed_memory(const std::int32_t* ids, std::size_t rows, std::int64_t* begin, nb::handle owner);

 private:
  // `vector` is the array that is the row, if one is, and a new reference to it.
  void borrow(const char* value, PyObject* vector) {
    borrowed_.push(value);
    vectors_.push(vector);
  }
  void copy_borrowed();
  nb::object take_owners(nb::handle owner);

  const PayloadSpec* payload_;
  bool can_borrow_, borrows_;
  std::size_t unnamed_ = 0;
  GrowingArray<char> values_;         // empty as long as it borrows
  GrowingArray<const char*> borrowed_;    // where each row's value is
  GrowingArray<PyObject*> vectors_;   // the array that is the row, which we hold, or nullptr
  GrowingArray<PyObject*> owners_;   // arrays of several rows, which we hold
};

}  // namespace cortex
