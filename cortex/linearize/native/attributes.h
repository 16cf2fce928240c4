// Reads the attributes that a linearizer asks for, by slot of what the object's class is known to do.
//
// A class is plain where reading these attributes runs no Python code: they are slots, values of the
// instance, or plain values of the class. There the value is taken from where it lies. Everything else
// (properties, __getattr__, descriptors, odd dicts) is for `lookup`, which does what the language says.
#pragma once

#include "common.h"
#include "instances.h"

namespace cortex {

// An attribute, borrowed from the object or its class; nullptr where there is none.
struct Attribute {
  PyObject* value;
  bool own;  // a slot or value of the instance, which nothing but the instance holds
};

// Where the instances of one class have each of the attributes, for as long as the class stays as it is.
class AttributeReader {
 public:
  AttributeReader() = default;
  AttributeReader(PyTypeObject* type, const std::vector<nb::object>& names);

  bool is_of(PyTypeObject* type) const {
    return type == type_ && type->tp_version_tag == version_ && (names_.count == nullptr || *names_.count == known_);
  }

  // Whether the attributes of this instance can be read.
  bool fit(PyObject* object) const {
    if (!plain_) return false;
    return names_.keys == nullptr || instance_values(object) != nullptr || fits_by_dict(object);
  }

  // Return the i-th attribute of an instance that fits.
  Attribute read(std::size_t i, PyObject* object) const {
    const Slot& slot = slots_[i];
    if (slot.offset != 0) return {*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + slot.offset), true};
    if (names_.keys == nullptr) return {slot.of_class, false};
    PyObject** values = instance_values(object);
    if (values == nullptr) [[unlikely]] return from_dict(object, slot);
    PyObject* value = slot.index >= 0 ? values[slot.index] : nullptr;
    return value != nullptr ? Attribute{value, true} : Attribute{slot.of_class, false};
  }

 private:
  struct Slot {
    PyObject* name;                // interned, kept by the linearizer
    Py_ssize_t offset = 0;         // of a slot in the instance
    Py_ssize_t index = -1;         // among the instance's values
    PyObject* of_class = nullptr;  // borrowed: what stands where the instance has none
    mutable Py_ssize_t place = 0;  // in the last instance's dict
  };

  bool find_all(PyTypeObject* type, const std::vector<nb::object>& names);
  static bool find(PyTypeObject* type, const SharedNames& names, Slot& slot);
  static bool fits_by_dict(PyObject* object);
  Attribute from_dict(PyObject* object, const Slot& slot) const;

  PyTypeObject* type_ = nullptr;  // only compared: another class at this address has another version
  unsigned int version_ = 0;
  bool plain_ = false;
  SharedNames names_;
  Py_ssize_t known_ = 0;
  std::vector<Slot> slots_;
};

// The reader of the classes met last, for one list of names.
class AttributeReaders {
 public:
  // Return how to read this object, or nullptr where only `lookup` does. Valid until any Python code has run.
  const AttributeReader* plain(PyObject* object, const std::vector<nb::object>& names) {
    PyTypeObject* type = Py_TYPE(object);
    AttributeReader& reader = slots_[(reinterpret_cast<std::uintptr_t>(type) >> 5) % kCount];
    if (!reader.is_of(type)) [[unlikely]] renew(reader, type, names);
    return reader.fit(object) ? &reader : nullptr;
  }

 private:
  static void renew(AttributeReader& reader, PyTypeObject* type, const std::vector<nb::object>& names);

  static constexpr std::size_t kCount = 16;
  AttributeReader slots_[kCount];
};

}  // namespace cortex
