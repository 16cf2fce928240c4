// Fast path for payloads that are read without running Python code: none, a number, an array or a tensor.
#pragma once

#include <cmath>
#include <cstring>

#include "rows.h"
#include "tensors.h"

namespace cortex {

// The value of an int of few digits; false for others.
inline bool read_small(PyObject* value, std::int64_t& to) {
#if PY_VERSION_HEX < 0x030C0000
  Py_ssize_t digits = Py_SIZE(value);  // below zero for numbers below zero
  if (digits < -1 || digits > 1) return false;
  to = digits == 0 ? 0 : digits * static_cast<std::int64_t>(reinterpret_cast<PyLongObject*>(value)->ob_digit[0]);
  return true;
#else
  auto* number = reinterpret_cast<PyLongObject*>(value);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  to = PyUnstable_Long_CompactValue(number);
  return true;
#endif
}

template <class T>
void append_value(T value, Column& column) {
  std::memcpy(column.take(sizeof value), &value, sizeof value);
}

inline bool append_float(const PayloadSpec& payload, double number, Column& column) {
  if (payload.plain == PayloadSpec::Plain::Float64) {
    append_value(number, column);
    return true;
  }
  auto narrow = static_cast<float>(number);
  if (std::isinf(narrow) && !std::isinf(number)) return false;
  append_value(narrow, column);
  return true;
}

inline bool append_int(const PayloadSpec& payload, std::int64_t number, bool leaf, Column& column) {
  if (number < payload.plain_low || number >= payload.plain_high) {
    if (number != payload.default_int || payload.required(leaf)) return false;  // it says that it carries nothing
  }
  if (payload.plain == PayloadSpec::Plain::Int32) {
    append_value(static_cast<std::int32_t>(number), column);
  } else {
    append_value(number, column);
  }
  return true;
}

// Append what a node carries where it is plain and nothing is wrong with it; return whether it was appended. `rows.reserve_row()`
// was called for the node.
inline bool append_plain(const PayloadSpec& payload, PyObject* value, bool leaf, Column& column) {
  using Plain = PayloadSpec::Plain;
  if (value == nullptr || value == Py_None) {
    if (payload.required(leaf)) return false;
    column.append_default(value != nullptr);
    return true;
  }
  if (payload.plain == Plain::None) return column.borrow_vector(value);
  bool is_float = payload.plain >= Plain::Float32;
  if (PyFloat_CheckExact(value)) return is_float && append_float(payload, PyFloat_AS_DOUBLE(value), column);
  std::int64_t number;
  if (!PyLong_CheckExact(value)) [[unlikely]] return append_scalar_in_memory(payload, value, leaf, column);
  return !is_float && read_small(value, number) && append_int(payload, number, leaf, column);
}

}  // namespace cortex
