#include "slotted.h"

#include <structmember.h>

#include <stdexcept>

namespace cortex {

SlottedClass::SlottedClass(nb::object type, std::initializer_list<const char*> slots) : type_(std::move(type)) {
  for (const char* name : slots) {
    nb::object found = type_.attr("__dict__")[name];
    auto* member = reinterpret_cast<PyMemberDescrObject*>(found.ptr());
    if (!Py_IS_TYPE(found.ptr(), &PyMemberDescr_Type) || member->d_member->type != T_OBJECT_EX) {
      throw std::invalid_argument("a class of slots is expected");
    }
    offsets_.push_back(member->d_member->offset);
  }
}

nb::object SlottedClass::make(std::initializer_list<nb::handle> values) const {
  if (values.size() != offsets_.size()) throw std::invalid_argument("a value for each slot is expected");
  auto* type = reinterpret_cast<PyTypeObject*>(type_.ptr());
  nb::object made = nb::steal(type->tp_alloc(type, 0));
  if (!made.is_valid()) throw nb::python_error();
  auto offset = offsets_.begin();
  for (nb::handle value : values) {
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made.ptr()) + *offset++) = value.inc_ref().ptr();
  }
  return made;
}

}  // namespace cortex
