#include "keys.h"

#include <cstring>
#include <numeric>

namespace cortex {

void Keys::push_numbers(const std::int32_t* numbers, std::size_t count) {
  if (count > 0) std::memcpy(numbers_.append(count), numbers, count * sizeof(std::int32_t));
  if (!objects_.empty()) make_objects();
}

void Keys::push_range(std::size_t count) {
  std::int32_t* to = numbers_.append(count);
  std::iota(to, to + count, 0);
  if (!objects_.empty()) make_objects();
}

void Keys::make_objects() {
  for (std::int32_t number : numbers_) {
    nb::object object = nb::int_(number);
    objects_.push(object.ptr());
    object.release();
  }
  numbers_.clear();
}

nb::object Keys::release(Arrays& arrays) {
  if (!numbers_.empty()) return arrays.copy(numbers_);  // whoever forgets the batch forgets these
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
  if (objects_.empty()) return;
  // An object's end may run Python code, which must find nothing half-emptied.
  GrowingArray<PyObject*> objects = std::move(objects_);
  for (PyObject* object : objects) Py_DECREF(object);
}

}  // namespace cortex
