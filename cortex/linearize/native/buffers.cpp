#include "buffers.h"

#include <cstring>
#include <stdexcept>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL CORTEX_ARRAY_API
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

namespace cortex {

namespace {

// The kind of a struct-format string: one letter, native byte order ("<" is, on the machines that we run on).
char kind_of(const char* format) {
  if (format == nullptr) return 'u';
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == '\0' || format[1] != '\0') return '?';
  if (std::strchr("bhilqn", *format) != nullptr) return 'i';
  if (std::strchr("BHILQN", *format) != nullptr) return 'u';
  return std::strchr("efd", *format) != nullptr ? 'f' : '?';
}

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }

}  // namespace

ArrayView::ArrayView(nb::object array, bool briefly) : array_(std::move(array)) {
  if (briefly && look_at_numbers()) return;
  if (PyObject_GetBuffer(array_.ptr(), &buffer_, PyBUF_FULL_RO) == 0) {
    held_ = true;
    kind_ = kind_of(buffer_.format);
  } else {
    PyErr_Clear();
  }
}

ArrayView::~ArrayView() {
  if (held_ && buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
}

// NumPy's arrays of plain numbers are read without their buffer: NumPy describes it anew for each export.
bool ArrayView::look_at_numbers() {
  if (!PyArray_Check(array_.ptr())) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(array_.ptr());
  const int type = PyArray_TYPE(array);
  const bool is_plain = type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_HALF || PyTypeNum_ISINTEGER(type);
  if (!is_plain || !PyArray_ISNOTSWAPPED(array)) return false;
  kind_ = PyTypeNum_ISFLOAT(type) ? 'f' : PyTypeNum_ISUNSIGNED(type) ? 'u' : 'i';
  buffer_.obj = nullptr;
  buffer_.buf = PyArray_DATA(array);
  buffer_.itemsize = PyArray_ITEMSIZE(array);
  buffer_.ndim = PyArray_NDIM(array);
  buffer_.shape = PyArray_DIMS(array);
  buffer_.strides = PyArray_STRIDES(array);
  held_ = true;
  return true;
}

bool ArrayView::has_shape(int first, const std::vector<Py_ssize_t>& shape) const {
  if (ndim() - first != static_cast<int>(shape.size())) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (buffer_.shape[first + static_cast<int>(i)] != shape[i]) return false;
  }
  return true;
}

bool ArrayView::has_contiguous_entries(int first) const {
  if (!PyArray_Check(array_.ptr())) return false;
  // A subclass may export another buffer, which lives no longer than this view.
  if (PyArray_DATA(reinterpret_cast<PyArrayObject*>(array_.ptr())) != buffer_.buf) return false;
  Py_ssize_t stride = buffer_.itemsize;
  for (int dimension = buffer_.ndim; dimension-- > first; stride *= buffer_.shape[dimension]) {
    if (buffer_.shape[dimension] != 1 && buffer_.strides[dimension] != stride) return false;
  }
  return true;
}

void ArrayView::copy_floats(Py_ssize_t index, bool whole, char* to) const {
  auto width = static_cast<std::size_t>(buffer_.itemsize);
  const char* at = whole ? static_cast<const char*>(buffer_.buf) : entry(index);
  int first = whole ? 0 : 1;
  if (buffer_.ndim == first + 1 && buffer_.strides[first] == buffer_.itemsize) {
    std::memcpy(to, at, width * static_cast<std::size_t>(buffer_.shape[first]));
    return;
  }
  each(at, first, [&](const char* element) {
    std::memcpy(to, element, width);
    to += width;
  });
}

std::pair<std::int64_t, bool> ArrayView::integer(const char* at) const {
  switch (buffer_.itemsize) {
    case 1:
      return {kind_ == 'i' ? load<std::int8_t>(at) : load<std::uint8_t>(at), false};
    case 2:
      return {kind_ == 'i' ? load<std::int16_t>(at) : load<std::uint16_t>(at), false};
    case 4:
      return {kind_ == 'i' ? std::int64_t{load<std::int32_t>(at)} : std::int64_t{load<std::uint32_t>(at)}, false};
    default: {
      auto value = load<std::int64_t>(at);
      return {value, kind_ == 'u' && value < 0};
    }
  }
}

const std::int32_t* ArrayView::int32s() const {
  if (!held_ || kind_ != 'i' || buffer_.itemsize != 4 || buffer_.ndim != 1 ||
      (buffer_.shape[0] > 1 && buffer_.strides[0] != 4)) {
    throw std::invalid_argument("a Forest's topology is contiguous int32");
  }
  return static_cast<const std::int32_t*>(buffer_.buf);
}

nb::object python_int(std::int64_t value, bool too_large) {
  return nb::steal(too_large ? PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(value))
                             : PyLong_FromLongLong(value));
}

PyObject* numpy_type(const char* name) { return numpy(name).release().ptr(); }

bool is_ndarray(nb::handle value) {
  static PyObject* const type = numpy_type("ndarray");
  return PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

bool is_masked(nb::handle value) {
  if (!PyArray_Check(value.ptr()) || PyArray_CheckExact(value.ptr())) return false;
  static PyObject* const type = nb::object(nb::module_::import_("numpy.ma").attr("MaskedArray")).release().ptr();
  return PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

bool is_numpy_integer(nb::handle value) {
  static PyObject* const type = numpy_type("integer");
  return PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

bool is_array_like(nb::handle value) {
  if (PyObject_CheckBuffer(value.ptr()) != 0) return true;
  return find(value.type(), nb::str("__array__")).is_valid();
}

nb::object as_array(nb::handle value) {
  nb::object requires_grad = find(value, nb::str("requires_grad"));
  if (requires_grad.is_valid() && requires_grad.ptr() == Py_True) return numpy("asarray")(value.attr("detach")());
  return numpy("asarray")(value);
}

}  // namespace cortex
