// The values of one payload, row after row.
#pragma once

#include <cstring>
#include <optional>

#include "plan.h"
#include "room.h"

namespace cortex {

// A vector that stands in an array of NumPy's is lent: only where it is, is written down, and it is copied once, to where
// its node is numbered. That is as good as a copy for as long as no code of anyone's runs, which could write there, or give
// the array other memory; who is about to run some calls `lend_no_more`, and all is copied at once, then and from then on.
class Column {
 public:
  explicit Column(const PayloadSpec& payload)
      : payload_(&payload), may_lend_(!payload.shape.empty() && !is_int(payload.dtype)), lends_(may_lend_) {}
  Column(Column&&) = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { clear(); }

  // Forget the values, and keep the room.
  void clear();
  std::size_t bytes() const { return values_.bytes() + lent_.bytes() + vectors_.bytes() + lenders_.bytes(); }
  std::size_t used() const { return values_.used() + lent_.used() + vectors_.used() + lenders_.used(); }

  // Return room for the values of so many more rows.
  char* append(std::size_t rows = 1) {
    lend_no_more();
    return values_.append(rows * payload_->bytes);
  }
  // See to it that there is room for so many rows in all, and the same in that room; of scalars.
  void reserve(std::size_t rows) {
    if (!lends_) values_.reserve(rows * payload_->bytes - values_.size());
  }
  char* take(std::size_t bytes) { return values_.take(bytes); }
  const char* scalars() const { return values_.data(); }

  // What a node has that carries nothing.
  void append_default() {
    if (lends_) return lend(payload_->default_bytes.data());
    if (payload_->bytes == 4) {  // a copy of known length is no call
      std::memcpy(values_.append(4), payload_->default_bytes.data(), 4);
    } else if (payload_->bytes > 0) {
      std::memcpy(values_.append(payload_->bytes), payload_->default_bytes.data(), payload_->bytes);
    }
  }

  bool may_lend() const { return may_lend_; }
  bool lends() const { return lends_; }
  // Append a row that is an array of NumPy's as the payload has to be, by where it is; false for any other object.
  bool lend_vector(PyObject* value);
  // Keep an array of NumPy's that lends rows; then append such a row.
  void add_lender(nb::handle array);
  void lend(const char* value) { lend(value, nullptr); }
  void lend_no_more() {
    if (lends_) [[unlikely]] copy_lent();
  }

  // Copy the value of row i, of so many, to the `ids[i]`-th place.
  void scatter(const std::int32_t* ids, std::size_t rows, void* to) const;

  // Where values are that nobody has copied: memory of so many elements, and who keeps it.
  struct Place {
    const void* memory;
    Py_ssize_t elements;
    nb::object keepers;
  };
  // Leave the values where they are, if all of them are lent and stand at multiples of their elements' size. Of row i, of
  // so many, the `ids[i]`-th place of `begin` says how many elements of the memory come before its value. `keeper` keeps
  // what nodes have that carry nothing.
  std::optional<Place> leave(const std::int32_t* ids, std::size_t rows, std::int64_t* begin, nb::handle keeper);

 private:
  // `vector` is the array that is the row, if one is, and a new reference to it.
  void lend(const char* value, PyObject* vector) {
    lent_.push(value);
    vectors_.push(vector);
  }
  void copy_lent();
  nb::object take_lenders(nb::handle keeper);

  const PayloadSpec* payload_;
  bool may_lend_, lends_;
  Room<char> values_;         // empty as long as it lends
  Room<const char*> lent_;    // where each row's value is
  Room<PyObject*> vectors_;   // the array that is the row, which we hold, or nullptr
  Room<PyObject*> lenders_;   // arrays of several rows, which we hold
};

}  // namespace cortex
