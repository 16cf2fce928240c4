#include "slotted.h"

#include <structmember.h>

#include <stdexcept>

namespace cortex {

SlottedClass::SlottedClass(nb::object type, const nb::object& slots) : type_(std::move(type)) {
  for (nb::handle name : slots) {
    nb::object found = type_.attr("__dict__")[name];
    auto* member = reinterpret_cast<PyMemberDescrObject*>(found.ptr());
    if (!Py_IS_TYPE(found.ptr(), &PyMemberDescr_Type) || member->d_member->type != T_OBJECT_EX) {
      throw std::invalid_argument("a class of slots is expected");
    }
    offsets_.push_back(member->d_member->offset);
  }
}

nb::object SlottedClass::make(nb::handle first, const nb::tuple& rest) const {
  if (rest.size() + 1 != offsets_.size()) throw std::invalid_argument("a value for each slot is expected");
  auto* type = reinterpret_cast<PyTypeObject*>(type_.ptr());
  nb::object made = nb::steal(type->tp_alloc(type, 0));
  if (!made.is_valid()) throw nb::python_error();
  auto put = [&](std::size_t slot, nb::handle value) {
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made.ptr()) + offsets_[slot]) = value.inc_ref().ptr();
  };
  put(0, first);
  for (std::size_t slot = 1; slot < offsets_.size(); ++slot) put(slot, rest[slot - 1]);
  return made;
}

}  // namespace cortex
