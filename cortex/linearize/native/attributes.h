// Reads the attributes that a plan asks for, by way of what the object's class is known to do.
//
// A class is plain where reading these attributes runs no code of anyone's: they are slots, values of the
// instance, or plain values of the class. There the value is taken from where it lies. Everything else
// (properties, __getattr__, descriptors, odd dicts) is for `lookup`, which does what the language says.
#pragma once

#include "common.h"
#include "instances.h"

namespace cortex {

// Where the instances of one class have each of the attributes, for as long as the class stays as it is.
class Ways {
 public:
  Ways() = default;
  Ways(PyTypeObject* type, const std::vector<nb::object>& names);

  bool is_of(PyTypeObject* type) const {
    return type == type_ && type->tp_version_tag == version_ && (names_.count == nullptr || *names_.count == known_);
  }

  // Whether the attributes of this instance can be read.
  bool fit(PyObject* object) const {
    if (!plain_) return false;
    if (names_.keys == nullptr || instance_values(object) != nullptr) return true;
    PyObject* dict = instance_dict(object);
    return dict == nullptr || is_plain_dict(dict);
  }

  // Return the i-th attribute, borrowed from the object or its class, or nullptr where there is none.
  PyObject* read(std::size_t i, PyObject* object) const {
    const Way& way = ways_[i];
    if (way.offset != 0) return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + way.offset);
    if (names_.keys == nullptr) return way.of_class;
    PyObject** values = instance_values(object);
    PyObject* value = nullptr;
    if (values == nullptr) {
      value = from_dict(object, way.name);
    } else if (way.index >= 0) {
      value = values[way.index];
    }
    return value != nullptr ? value : way.of_class;
  }

 private:
  struct Way {
    PyObject* name;                 // interned, kept by the linearizer
    Py_ssize_t offset = 0;          // of a slot in the instance
    Py_ssize_t index = -1;          // among the instance's values
    PyObject* of_class = nullptr;   // borrowed: what stands where the instance has none
  };

  bool find_all(PyTypeObject* type, const std::vector<nb::object>& names);
  static bool find(PyTypeObject* type, const SharedNames& names, Way& way);
  static PyObject* from_dict(PyObject* object, PyObject* name);

  PyTypeObject* type_ = nullptr;  // only compared: another class at this address has another version
  unsigned int version_ = 0;
  bool plain_ = false;
  SharedNames names_;
  Py_ssize_t known_ = 0;
  std::vector<Way> ways_;
};

// The ways of the classes met last.
class Classes {
 public:
  // Return how to read this object, or nullptr where only `lookup` does. Valid until any Python code has run.
  const Ways* plain(PyObject* object, const std::vector<nb::object>& names) {
    PyTypeObject* type = Py_TYPE(object);
    Ways& ways = ways_[(reinterpret_cast<std::uintptr_t>(type) >> 5) % kCount];
    if (!ways.is_of(type)) [[unlikely]] ways = Ways(type, names);
    return ways.fit(object) ? &ways : nullptr;
  }

 private:
  static constexpr std::size_t kCount = 16;
  Ways ways_[kCount];
};

// The attributes that a linearizer reads: those of children, then a payload each.
struct Attributes {
  const std::vector<nb::object>& names;  // interned
  std::size_t first_payload;
  Classes& classes;
};

}  // namespace cortex
