// NumPy arrays as the readers see them.
#pragma once

#include "plan.h"

namespace cortex {

// An array's memory, held while it is read. An array without a buffer (dates, objects) has kind '?'.
class ArrayView {
 public:
  // With `briefly` the view is valid until Python code runs, which may change the array's shape.
  explicit ArrayView(nb::object array, bool briefly = false);
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;
  ~ArrayView();

  const nb::object& array() const { return array_; }
  char kind() const { return kind_; }  // 'i', 'u', 'f' as in NumPy, in native byte order; or '?'
  int ndim() const { return held_ ? buffer_.ndim : -1; }
  std::size_t itemsize() const { return static_cast<std::size_t>(buffer_.itemsize); }
  Py_ssize_t extent(int dimension) const { return buffer_.shape[dimension]; }
  bool has_shape(int first, const std::vector<Py_ssize_t>& shape) const;
  // Whether it is a NumPy array in which each index of the first dimensions is contiguous.
  bool has_contiguous_entries(int first) const;

  // Copy the elements of entry `index` of the first dimension (with `whole`, of the array) to floats of the
  // same width.
  void copy_floats(Py_ssize_t index, bool whole, char* to) const;
  // Call use(value, is_too_large) for each integer there; is_too_large is one that only uint64 holds.
  template <class Use>
  void each_integer(Py_ssize_t index, bool whole, Use use) const;

  const std::int32_t* int32s() const;  // of a contiguous 1-D array; throws otherwise

  const char* first() const { return static_cast<const char*>(buffer_.buf); }
  Py_ssize_t stride() const { return buffer_.strides[0]; }
  const char* entry(Py_ssize_t index) const {
    return static_cast<const char*>(buffer_.buf) + index * buffer_.strides[0];
  }

 private:
  template <class Use>
  void each(const char* at, int dimension, const Use& use) const {
    if (dimension == buffer_.ndim) {
      use(at);
      return;
    }
    for (Py_ssize_t i = 0; i < buffer_.shape[dimension]; ++i) {
      each(at + i * buffer_.strides[dimension], dimension + 1, use);
    }
  }
  std::pair<std::int64_t, bool> integer(const char* at) const;
  bool look_at_numbers();

  nb::object array_;
  Py_buffer buffer_;
  bool held_ = false;
  char kind_ = '?';
};

template <class Use>
void ArrayView::each_integer(Py_ssize_t index, bool whole, Use use) const {
  const char* at = whole ? static_cast<const char*>(buffer_.buf) : entry(index);
  each(at, whole ? 0 : 1, [&](const char* element) {
    auto [value, too_large] = integer(element);
    use(value, too_large);
  });
}

// The value that an element had, as a Python int, for a message.
nb::object python_int(std::int64_t value, bool too_large);

PyObject* numpy_type(const char* name);  // it lives as long as the interpreter: NumPy is never unloaded
bool is_ndarray(nb::handle value);
bool is_masked(nb::handle value);  // whether it is NumPy's array with a mask, which nothing here would read
bool is_numpy_integer(nb::handle value);
bool is_array_like(nb::handle value);  // by `__array__` or the buffer protocol
nb::object as_array(nb::handle value);  // numpy.asarray, of a tensor that requires a gradient of its values

}  // namespace cortex
