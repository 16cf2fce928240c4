#include "common.h"

namespace cortex {

void raise_fault(const char* name, nb::tuple arguments) {
  nb::object make = nb::module_::import_("cortex.linearize.faults").attr(name);
  nb::object error = nb::steal(PyObject_CallObject(make.ptr(), arguments.ptr()));
  if (error.is_valid()) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

nb::object make_place(std::size_t structure, std::int64_t row, nb::object where) {
  nb::object known = row < 0 ? nb::object(nb::none()) : nb::object(nb::int_(row));
  return nb::module_::import_("cortex.linearize.faults").attr("Place")(structure, known, where);
}

nb::object interned(const char* text) {
  nb::object name = nb::steal(PyUnicode_InternFromString(text));
  if (!name.is_valid()) throw nb::python_error();
  return name;
}

}  // namespace cortex
