#include "slotted.h"

#include <structmember.h>

#include <stdexcept>
#include <string>

namespace cortex {

SlottedClass::SlottedClass(nb::object type, std::initializer_list<const char*> slots) : type_(std::move(type)) {
  for (const char* slot : slots) {
    nb::object found = type_.attr("__dict__")[slot];
    auto* member = reinterpret_cast<PyMemberDescrObject*>(found.ptr());
    if (!Py_IS_TYPE(found.ptr(), &PyMemberDescr_Type) || member->d_member->type != T_OBJECT_EX) {
      throw std::logic_error(std::string("no slot is called ") + slot);
    }
    offsets_.push_back(member->d_member->offset);
  }
}

nb::object SlottedClass::make(nb::object* values, std::size_t count) const {
  if (count != offsets_.size()) throw std::logic_error("a value for each slot");
  auto* type = reinterpret_cast<PyTypeObject*>(type_.ptr());
  nb::object made = nb::steal(type->tp_alloc(type, 0));
  if (!made.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < count; ++i) {
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made.ptr()) + offsets_[i]) = values[i].release().ptr();
  }
  return made;
}

}  // namespace cortex
