// What all files of the linearizer share: owning references, attribute look-ups, and raising faults.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cortex {

namespace nb = nanobind;

// Where a node is, worked out only when a fault is to be reported: an object of cortex.linearize.faults.Place.
struct Location {
  virtual nb::object place() const = 0;

 protected:
  ~Location() = default;
};

// Raise the DataError that cortex.linearize.faults.<name>(arguments...) returns.
[[noreturn]] void raise_fault(const char* name, nb::tuple arguments);

template <class... Arguments>
[[noreturn]] void fault(const char* name, Arguments&&... arguments) {
  raise_fault(name, nb::make_tuple(std::forward<Arguments>(arguments)...));
}

// faults.Place(structure, row, where); a row below zero is not known.
nb::object make_place(std::size_t structure, std::int64_t row, nb::object where);

// A place that is a whole structure.
struct WholeStructure final : Location {
  explicit WholeStructure(std::size_t structure) : structure(structure) {}
  nb::object place() const override { return make_place(structure, -1, nb::str("")); }
  std::size_t structure;
};

// Return the attribute, or nullptr where there is none: no AttributeError is made, which would cost more than
// all else that is done for a node.
inline PyObject* lookup(PyObject* object, PyObject* name) {
  PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  int status = PyObject_GetOptionalAttr(object, name, &found);
#else
  int status = _PyObject_LookupAttr(object, name, &found);
#endif
  if (status < 0) throw nb::python_error();
  return found;
}

inline nb::object find(nb::handle object, nb::handle name) { return nb::steal(lookup(object.ptr(), name.ptr())); }

nb::object interned(const char* text);

}  // namespace cortex
