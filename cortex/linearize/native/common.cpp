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

OwnedObjects::~OwnedObjects() {
  // An object's end may run Python code, which must find no half-emptied vector.
  std::vector<PyObject*> objects = std::move(objects_);
  for (PyObject* object : objects) Py_DECREF(object);
}

nb::object OwnedObjects::release_as_list() {
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(objects_.size())));
  if (!list.is_valid()) throw nb::python_error();
  Py_ssize_t row = 0;
  for (PyObject* object : objects_) PyList_SET_ITEM(list.ptr(), row++, object);
  objects_.clear();
  return list;
}

}  // namespace cortex
