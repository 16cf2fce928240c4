#include "column.h"

#include <cstring>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL CORTEX_ARRAY_API
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

namespace cortex {

namespace {

PyArrayObject* as_numpy(PyObject* array) { return reinterpret_cast<PyArrayObject*>(array); }

template <class T>
void scatter_scalars(const std::int32_t* ids, std::size_t rows, const char* from, void* to) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<T*>(to) + ids[row], from + row * sizeof(T), sizeof(T));
  }
}

}  // namespace

void Column::clear() {
  values_.clear();
  lent_.clear();
  lends_ = may_lend_;
  if (lenders_.empty()) return;
  // An array's end may run Python code, which must find nothing half-emptied.
  Room<Lender> lenders = std::move(lenders_);
  for (const Lender& lender : lenders) Py_DECREF(lender.array);
}

void Column::add_lender(nb::handle array) {
  PyArrayObject* numpy = as_numpy(array.ptr());
  lenders_.push({array.inc_ref().ptr(), PyArray_DATA(numpy), static_cast<std::size_t>(PyArray_NBYTES(numpy))});
}

// An array keeps its memory unless it is told to resize without a count of who refers to it. A finalizer may, which the
// interpreter runs when it likes.
void Column::check_lenders() const {
  for (const Lender& lender : lenders_) {
    PyArrayObject* numpy = as_numpy(lender.array);
    bool same = PyArray_DATA(numpy) == lender.data && static_cast<std::size_t>(PyArray_NBYTES(numpy)) == lender.bytes;
    if (!same) fault("resized", payload_->payload);
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

}  // namespace cortex
