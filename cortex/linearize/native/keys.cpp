#include "keys.h"

#include <cstring>
#include <numeric>

namespace cortex {

void Keys::push_range(std::int32_t first, std::size_t count) {
  std::int32_t* to = append_numbers(count);
  std::iota(to, to + count, first);
  if (!are_numbers()) make_objects();
}

// They are few where objects follow, or were there before.
void Keys::make_objects() {
  for (std::int32_t number : numbers_) {
    nb::object object = nb::int_(number);
    objects_.push(object.ptr());
    object.release();
  }
  numbers_.clear();
}

nb::object Keys::release_as_list() {
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(objects_.size())));
  if (!list.is_valid()) throw nb::python_error();
  if (!objects_.empty()) {
    std::memcpy(PySequence_Fast_ITEMS(list.ptr()), objects_.data(), objects_.size() * sizeof(PyObject*));
  }
  objects_.clear();
  return list;
}

void Keys::clear() {
  numbers_.clear();
  // An object's end may run Python code, which must find nothing half-emptied.
  Room<PyObject*> objects = std::move(objects_);
  for (PyObject* object : objects) Py_DECREF(object);
}

}  // namespace cortex
