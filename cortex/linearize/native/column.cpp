#include "column.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL CORTEX_ARRAY_API
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

namespace cortex {

namespace {

PyArrayObject* as_numpy(PyObject* array) { return reinterpret_cast<PyArrayObject*>(array); }

// The bytes of an array's elements: PyArray_NBYTES is a call into NumPy.
std::size_t bytes_in(PyArrayObject* array) {
  auto bytes = static_cast<std::size_t>(PyArray_ITEMSIZE(array));
  for (int dimension = 0; dimension < PyArray_NDIM(array); ++dimension) {
    bytes *= static_cast<std::size_t>(PyArray_DIM(array, dimension));
  }
  return bytes;
}

// Whether an array has elements of this type and shape, in native byte order and one after another.
bool is_whole(PyArrayObject* array, DType dtype, const std::vector<Py_ssize_t>& shape) {
  const int type = dtype == DType::Float32 ? NPY_FLOAT : NPY_DOUBLE;
  if (PyArray_TYPE(array) != type || !PyArray_ISNOTSWAPPED(array)) return false;
  if (PyArray_NDIM(array) != static_cast<int>(shape.size())) return false;
  Py_ssize_t stride = PyArray_ITEMSIZE(array);
  for (int dimension = PyArray_NDIM(array); dimension-- > 0;) {
    const Py_ssize_t extent = shape[static_cast<std::size_t>(dimension)];
    if (PyArray_DIM(array, dimension) != extent) return false;
    if (extent != 1 && PyArray_STRIDE(array, dimension) != stride) return false;
    stride *= extent;
  }
  return true;
}

template <class T>
void scatter_scalars(const std::int32_t* ids, std::size_t rows, const char* from, void* to) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<T*>(to) + ids[row], from + row * sizeof(T), sizeof(T));
  }
}

}  // namespace

void Column::clear() {
  values_.clear();
  lends_ = may_lend_;
  lent_.clear();
  if (vectors_.empty() && lenders_.empty()) return;
  // An array's end may run Python code, which must find nothing half-emptied.
  Room<PyObject*> vectors = std::move(vectors_);
  Room<Lender> lenders = std::move(lenders_);
  for (PyObject* vector : vectors) Py_XDECREF(vector);
  for (const Lender& lender : lenders) Py_DECREF(lender.array);
}

bool Column::lend_vector(PyObject* value) {
  if (!lends_ || !PyArray_Check(value) || !is_whole(as_numpy(value), payload_->dtype, payload_->shape)) return false;
  lend(static_cast<const char*>(PyArray_DATA(as_numpy(value))), Py_NewRef(value));
  return true;
}

void Column::add_lender(nb::handle array) {
  PyArrayObject* numpy = as_numpy(array.ptr());
  lenders_.push({array.inc_ref().ptr(), PyArray_DATA(numpy), bytes_in(numpy)});
}

// An array keeps its memory unless it is told to resize without a count of who refers to it. A finalizer may, which the
// interpreter runs when it likes.
void Column::check_lenders() const {
  auto check = [&](PyObject* array, const void* data, std::size_t bytes) {
    bool same = PyArray_DATA(as_numpy(array)) == data && bytes_in(as_numpy(array)) == bytes;
    if (!same) fault("resized", payload_->payload);
  };
  for (const Lender& lender : lenders_) check(lender.array, lender.data, lender.bytes);
  for (std::size_t row = 0; row < vectors_.size(); ++row) {
    if (vectors_[row] != nullptr) check(vectors_[row], lent_[row], payload_->bytes);
  }
}

void Column::copy_lent() {
  check_lenders();
  lends_ = false;
  for (const char* value : lent_) std::memcpy(values_.append(payload_->bytes), value, payload_->bytes);
}

void Column::scatter(const std::int32_t* ids, std::size_t rows, void* to) const {
  const std::size_t bytes = payload_->bytes;
  auto place = [&](std::size_t row) { return static_cast<char*>(to) + static_cast<std::size_t>(ids[row]) * bytes; };
  if (lends_) {
    check_lenders();
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(place(row), lent_[row], bytes);
  } else if (bytes == 4) {
    scatter_scalars<std::int32_t>(ids, rows, values_.data(), to);
  } else if (bytes == 8) {
    scatter_scalars<std::int64_t>(ids, rows, values_.data(), to);
  } else if (bytes > 0) {
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(place(row), values_.data() + row * bytes, bytes);
  }
}

// What we held is the list's from here on.
nb::list Column::take_lenders(nb::handle keeper) {
  auto is_held = [](PyObject* vector) { return vector != nullptr; };
  auto held = static_cast<std::size_t>(std::count_if(vectors_.begin(), vectors_.end(), is_held));
  nb::list keepers = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(held + lenders_.size() + 1)));
  if (!keepers.is_valid()) throw nb::python_error();
  PyObject** next = PySequence_Fast_ITEMS(keepers.ptr());
  *next++ = keeper.inc_ref().ptr();
  next = std::copy_if(vectors_.begin(), vectors_.end(), next, is_held);
  for (const Lender& lender : lenders_) *next++ = lender.array;
  vectors_.clear();
  lenders_.clear();
  return keepers;
}

std::optional<Column::Place> Column::leave(const std::int32_t* ids, std::size_t rows, std::int64_t* begin,
                                           nb::handle keeper) {
  if (!lends_ || rows == 0) return std::nullopt;
  check_lenders();
  const std::uintptr_t width = bytes_of(payload_->dtype);
  const int bits = std::countr_zero(width);  // to divide by a number that is known only here takes longer than all else
  auto address = [&](std::size_t row) { return reinterpret_cast<std::uintptr_t>(lent_[row]); };
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
  return Place{reinterpret_cast<const void*>(low), static_cast<Py_ssize_t>(elements), take_lenders(keeper)};
}

}  // namespace cortex
