#include "column.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tensors.h"

namespace cortex {

namespace {

template <class T>
void scatter_scalars(const std::int32_t* ids, std::size_t rows, const char* from, void* to) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<T*>(to) + ids[row], from + row * sizeof(T), sizeof(T));
  }
}

void release(const GrowingArray<PyObject*>& vectors, const GrowingArray<PyObject*>& owners) {
  for (PyObject* vector : vectors) Py_XDECREF(vector);
  for (PyObject* lender : owners) Py_DECREF(lender);
}

}  // namespace

void Column::clear() {
  values_.clear();
  unnamed_ = 0;
  borrows_ = can_borrow_;
  borrowed_.clear();
  if (vectors_.empty() && owners_.empty()) return;
  // An array's end may run Python code, which must find nothing half-emptied.
  GrowingArray<PyObject*> vectors = std::move(vectors_), owners = std::move(owners_);
  release(vectors, owners);
}

bool Column::borrow_vector(PyObject* value) {
  Numbers numbers;
  if (!borrows_ || !find_numbers(value, numbers) || !numbers.is_whole(payload_->dtype, payload_->shape)) return false;
  borrow(numbers.data, Py_NewRef(value));
  return true;
}

void Column::add_owner(nb::handle array) {
  owners_.push(array.inc_ref().ptr());
}

void Column::copy_borrowed() {
  borrows_ = false;
  for (const char* value : borrowed_) std::memcpy(values_.append(payload_->bytes), value, payload_->bytes);
}

void Column::scatter(const std::int32_t* ids, std::size_t rows, void* to) const {
  const std::size_t bytes = payload_->bytes;
  auto place = [&](std::size_t row) { return static_cast<char*>(to) + static_cast<std::size_t>(ids[row]) * bytes; };
  if (borrows_) {
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(place(row), borrowed_[row], bytes);
  } else if (bytes == 4) {
    scatter_scalars<std::int32_t>(ids, rows, values_.data(), to);
  } else if (bytes == 8) {
    scatter_scalars<std::int64_t>(ids, rows, values_.data(), to);
  } else if (bytes > 0) {
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(place(row), values_.data() + row * bytes, bytes);
  }
}

// What we held is the capsule's from here on.
nb::object Column::take_owners(nb::handle owner) {
  struct Held {
    ~Held() { release(vectors, owners); }
    GrowingArray<PyObject*> vectors, owners;
    nb::object owner;
  };
  auto held = std::make_unique<Held>();
  held->owner = nb::borrow(owner);
  nb::capsule capsule(held.get(), [](void* all) noexcept { delete static_cast<Held*>(all); });
  Held& all = *held.release();
  all.vectors = std::move(vectors_);
  all.owners = std::move(owners_);
  return capsule;
}

std::optional<Column::Memory> Column::borrowed_memory(const std::int32_t* ids, std::size_t rows, std::int64_t* begin,
                                           nb::handle owner) {
  if (!borrows_ || rows == 0) return std::nullopt;
  const std::uintptr_t width = bytes_of(payload_->dtype);
  const int bits = std::countr_zero(width);  // to divide by a number that is known only here takes longer than all else
  auto address = [&](std::size_t row) { return reinterpret_cast<std::uintptr_t>(borrowed_[row]); };
  std::uintptr_t low = address(0), high = low, odd = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    low = std::min(low, address(row));
    high = std::max(high, address(row));
    odd |= address(row) & (width - 1);
  }
  if (odd != 0) return std::nullopt;
  for (std::size_t row = 0; row < rows; ++row) {
    begin[ids[row]] = static_cast<std::int64_t>((address(row) - low) >> bits);
  }
  const std::uintptr_t elements = ((high - low) >> bits) + payload_->size;
  return Memory{reinterpret_cast<const void*>(low), static_cast<Py_ssize_t>(elements), take_owners(owner)};
}

}  // namespace cortex
