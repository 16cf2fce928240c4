#include "payloads.h"
#include "readers.h"
#include "tensors.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace cortex {

namespace {

bool is_numpy_floating(nb::handle value) {
  static PyObject* const type = numpy_type("floating");
  return PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

bool is_numpy_number(nb::handle value) { return is_numpy_integer(value) || is_numpy_floating(value); }

// Whether a scalar that is no int says itself that it is a bool.
bool has_bool_dtype(nb::handle value) {
  nb::object dtype = find(value, nb::str("dtype"));
  if (!dtype.is_valid()) return false;
  return nb::cast<bool>(nb::str(dtype).attr("endswith")("bool"));
}

// Whether an array or a tensor has dimensions, also where it has one element alone.
bool has_dimensions(nb::handle value) {
  nb::object dimensions = find(value, nb::str("ndim"));
  return dimensions.is_valid() && PyLong_Check(dimensions.ptr()) && !dimensions.equal(nb::int_(0));
}

void append_python_integer(const PayloadSpec& payload, PyObject* value, bool required, const Location& location,
                           char* to) {
  nb::object index = nb::borrow(value);
  if (!PyLong_CheckExact(value)) {
    if (is_masked(value)) fault("masked", location.place(), payload.name);
    if (PyBool_Check(value) || (!is_numpy_integer(value) && (has_bool_dtype(value) || has_dimensions(value)))) {
      fault("no_integer", location.place(), payload.payload, index);
    }
    PyObject* number = PyNumber_Index(value);
    if (number == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
      PyErr_Clear();
      fault("no_integer", location.place(), payload.payload, index);
    }
    index = nb::steal(number);
  }
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) fault("overflow", location.place(), payload.payload, index);
  append_integer(payload, number, false, required, location, to);
}

void append_python_number(const PayloadSpec& payload, PyObject* value, const Location& location, char* to) {
  double number;
  if (PyFloat_Check(value)) {
    number = PyFloat_AS_DOUBLE(value);
  } else {
    bool is_number = PyLong_Check(value) || is_numpy_number(value);
    if (PyBool_Check(value) || !is_number) fault("no_number", location.place(), payload.payload, nb::handle(value));
    nb::object converted = nb::steal(PyNumber_Float(value));
    if (!converted.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw nb::python_error();
      PyErr_Clear();
      fault("overflow", location.place(), payload.payload, nb::handle(value));
    }
    number = PyFloat_AS_DOUBLE(converted.ptr());
  }
  if (payload.dtype == DType::Float64) {
    std::memcpy(to, &number, sizeof number);
    return;
  }
  auto narrow = static_cast<float>(number);
  if (std::isinf(narrow) && !std::isinf(number)) {
    fault("overflow", location.place(), payload.payload, nb::handle(value));
  }
  std::memcpy(to, &narrow, sizeof narrow);
}

// A list or tuple of floats, in one dimension; false, with some of it written, where it holds anything else.
template <class T>
bool copy_floats(const PayloadSpec& payload, PyObject* value, char* to) {
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(value);
  if (payload.shape.size() != 1 || length != payload.shape[0]) return false;
  PyObject** items = PySequence_Fast_ITEMS(value);
  bool overflows = false;
  for (Py_ssize_t i = 0; i < length; ++i) {  // no code runs
    double number;
    if (PyFloat_CheckExact(items[i])) {
      number = PyFloat_AS_DOUBLE(items[i]);
    } else if (!read_numpy_float(items[i], number)) {
      return false;
    }
    const auto narrow = static_cast<T>(number);
    overflows |= std::isinf(narrow) & !std::isinf(number);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof narrow, &narrow, sizeof narrow);
  }
  return !overflows;
}

// Nested lists and tuples; the depth is that of the payload's shape.
void append_nested(const PayloadSpec& payload, PyObject* value, std::size_t depth, bool required,
                   const Location& location, char*& to) {
  if (depth == payload.shape.size()) {
    if (is_int(payload.dtype)) {
      append_python_integer(payload, value, required, location, to);
    } else {
      append_python_number(payload, value, location, to);
    }
    to += bytes_of(payload.dtype);
    return;
  }
  if (!PyList_Check(value) && !PyTuple_Check(value)) {
    fault("no_array", location.place(), payload.payload, nb::handle(value));
  }
  // A tuple of its elements, for reading an element may run code that changes the list.
  nb::object elements = nb::steal(PySequence_Tuple(value));
  if (!elements.is_valid()) throw nb::python_error();
  Py_ssize_t length = PyTuple_GET_SIZE(elements.ptr());
  if (length != payload.shape[depth]) {
    fault("wrong_length", location.place(), payload.payload, nb::handle(value), depth);
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    append_nested(payload, PyTuple_GET_ITEM(elements.ptr(), i), depth + 1, required, location, to);
  }
}

nb::object read_array(const PayloadSpec& payload, PyObject* value, const Location& location) {
  if (is_ndarray(value)) return nb::borrow(value);
  try {
    return as_array(value);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    nb::object raised = nb::borrow(error.value());
    fault("no_conversion", location.place(), payload.payload, nb::handle(value), raised);
  }
}

void append_array(const PayloadSpec& payload, PyObject* value, bool required, const Location& location, char* to) {
  ArrayView view(read_array(payload, value, location), true);
  check_array(payload, view, 0, location);
  if (!is_int(payload.dtype)) {
    view.copy_floats(0, true, to);
    return;
  }
  view.each_integer(0, true, [&](std::int64_t number, bool too_large) {
    append_integer(payload, number, too_large, required, location, to);
    to += bytes_of(payload.dtype);
  });
}

}  // namespace

void append_integer(const PayloadSpec& payload, std::int64_t value, bool too_large, bool required,
                    const Location& location, char* to) {
  using Limits = std::numeric_limits<std::int32_t>;
  bool narrow = payload.dtype == DType::Int32;
  if (too_large || (narrow && (value < Limits::min() || value > Limits::max()))) {
    fault("overflow", location.place(), payload.payload, python_int(value, too_large));
  }
  if (payload.has_range && (value < payload.low || value >= payload.high) &&
      (required || value != payload.default_int)) {
    fault("out_of_range", location.place(), payload.payload, value);
  }
  auto narrowed = static_cast<std::int32_t>(value);
  if (narrow) {
    std::memcpy(to, &narrowed, sizeof narrowed);
  } else {
    std::memcpy(to, &value, sizeof value);
  }
}

void check_array(const PayloadSpec& payload, const ArrayView& view, int first, const Location& location) {
  if (is_masked(view.array())) fault("masked", location.place(), payload.name);
  bool fits;
  if (is_int(payload.dtype)) {
    fits = view.kind() == 'i' || view.kind() == 'u';
  } else {
    fits = view.kind() == 'f' && view.itemsize() == bytes_of(payload.dtype);
  }
  if (!fits) fault("wrong_dtype", location.place(), payload.payload, view.array());
  if (view.has_shape(first, payload.shape)) return;
  nb::object shape = view.array().attr("shape");
  nb::object entry = nb::steal(PyTuple_GetSlice(shape.ptr(), first, PyTuple_GET_SIZE(shape.ptr())));
  fault("wrong_shape", location.place(), payload.payload, entry, view.array());
}

void append_payload(const PayloadSpec& payload, PyObject* value, bool leaf, nb::handle key, const Location& location,
                    Rows& rows, std::size_t index) {
  Column& column = rows.columns[index];
  bool required = payload.required(leaf);
  if (value == nullptr || value == Py_None) {
    if (required) fault("missing", location.place(), payload.payload, key);
    column.append_default(value != nullptr);
    return;
  }
  if (column.borrow_vector(value)) return;
  rows.stop_borrowing();
  char* to = column.append();
  if (payload.shape.empty()) {
    if (is_int(payload.dtype)) {
      append_python_integer(payload, value, required, location, to);
    } else if (is_array_like(value) && !is_numpy_number(value)) {
      append_array(payload, value, required, location, to);
    } else {
      append_python_number(payload, value, location, to);
    }
  } else if (PyList_Check(value) || PyTuple_Check(value)) {
    if (payload.dtype == DType::Float32 && copy_floats<float>(payload, value, to)) return;
    if (payload.dtype == DType::Float64 && copy_floats<double>(payload, value, to)) return;
    append_nested(payload, value, 0, required, location, to);
  } else if (is_array_like(value)) {
    append_array(payload, value, required, location, to);
  } else {
    fault("no_array", location.place(), payload.payload, nb::handle(value));
  }
}

void check_carried(const PlanSpec& plan, const Rows& rows, const AttributeNames& names) {
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    if (rows.count() == 0 || rows.columns[i].unnamed() < rows.count()) continue;
    fault("carried_nowhere", plan.payloads[i].payload, rows.keys.first(), names.payload(i));
  }
}

void append_word(const PlanSpec& plan, PyObject* word, bool leaf, nb::handle key, const Location& location, Rows& rows) {
  rows.reserve_row();
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    PyObject* value = static_cast<int>(i) == plan.word ? word : nullptr;
    if (append_plain(plan.payloads[i], value, leaf, rows.columns[i])) continue;
    append_payload(plan.payloads[i], value, leaf, key, location, rows, i);
  }
}

}  // namespace cortex
