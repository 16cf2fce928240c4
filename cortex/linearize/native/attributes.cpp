#include "attributes.h"

#include <structmember.h>

namespace cortex {

AttributeReader::AttributeReader(PyTypeObject* type, const std::vector<nb::object>& names) : type_(type) {
  plain_ = find_all(type, names);
  if (!plain_) names_ = {};
  version_ = type->tp_version_tag;  // looking a name up gives a class its version, while there are any
}

bool AttributeReader::find_all(PyTypeObject* type, const std::vector<nb::object>& names) {
  if (type->tp_getattro != PyObject_GenericGetAttr) return false;
  names_ = shared_names(type);
  bool has_dict = type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
  if (names_.keys == nullptr && has_dict) return false;
  if (names_.keys != nullptr) known_ = *names_.count;
  for (const nb::object& name : names) {
    slots_.push_back({name.ptr()});
    if (!find(type, names_, slots_.back())) return false;
  }
  return type->tp_version_tag != 0;
}

bool AttributeReader::find(PyTypeObject* type, const SharedNames& names, Slot& slot) {
  PyObject* found = _PyType_Lookup(type, slot.name);  // borrowed, and no error
  if (names.keys != nullptr) slot.index = index_of(names, slot.name);
  if (found == nullptr) return true;
  if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
    auto* member = reinterpret_cast<PyMemberDescrObject*>(found);
    slot.offset = member->d_member->offset;
    return member->d_member->type == T_OBJECT_EX && member->d_member->flags == 0 &&
           PyType_IsSubtype(type, PyDescr_TYPE(found));
  }
  slot.of_class = found;
  PyTypeObject* kind = Py_TYPE(found);
  // A class made by Python code may become a descriptor's later.
  return kind->tp_descr_get == nullptr && kind->tp_descr_set == nullptr &&
         !PyType_HasFeature(kind, Py_TPFLAGS_HEAPTYPE);
}

bool AttributeReader::fits_by_dict(PyObject* object) {
  PyObject* dict = instance_dict(object);
  return dict == nullptr || is_plain_dict(dict);
}

Attribute AttributeReader::from_dict(PyObject* object, const Slot& slot) const {
  PyObject* dict = instance_dict(object);
  PyObject* value = dict == nullptr ? nullptr : value_in_dict(dict, names_, slot.name, slot.index, slot.place);
  return {value != nullptr ? value : slot.of_class, false};
}

void AttributeReaders::renew(AttributeReader& reader, PyTypeObject* type, const std::vector<nb::object>& names) { reader = AttributeReader(type, names); }

}  // namespace cortex
