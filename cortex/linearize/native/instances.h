// Where CPython keeps the attributes of an instance. Known for 3.11 to 3.14, where its own headers are there to be
// included; elsewhere no instance has known ones, and attributes that are no slots are read as the language defines it.
#pragma once

#include <Python.h>

#include <cstdint>

#ifndef CORTEX_KNOWS_INSTANCES  // a build with 0 reads all attributes as the language defines it
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION) && \
    !defined(Py_GIL_DISABLED) && __has_include(<internal/pycore_dict.h>)
#define CORTEX_KNOWS_INSTANCES 1
#else
#define CORTEX_KNOWS_INSTANCES 0
#endif
#endif

namespace cortex {

// The names that the instances of a class share. An instance has an array of values, one for each, null where
// it lacks it; or else a dict.
struct SharedNames {
  const void* keys = nullptr;           // null: the instances of this class have no such array
  const Py_ssize_t* count = nullptr;    // they only ever become more
};

#if CORTEX_KNOWS_INSTANCES

SharedNames shared_names(PyTypeObject* type);

// The index of a name, or -1.
Py_ssize_t index_of(const SharedNames& names, PyObject* name);

// Whether looking up a string in the dict runs no Python code: all its keys are strings.
bool is_plain_dict(PyObject* dict);

// What such a dict holds by an interned name, borrowed; nullptr where there is nothing. A dict that shares the names of its
// class has it at `index`, as the instance would; of one with names of its own `place` says where it was in the last one,
// which is looked at first: instances are mostly filled in one order.
PyObject* value_in_dict(PyObject* dict, const SharedNames& names, PyObject* name, Py_ssize_t index, Py_ssize_t& place);

// The dict of an instance that has no values; may be nullptr.
inline PyObject* instance_dict(PyObject* object) { return reinterpret_cast<PyObject**>(object)[-3]; }
// The values of an instance, or nullptr where it has a dict, if anything.
inline PyObject** instance_values(PyObject* object) {
#if PY_VERSION_HEX >= 0x030D0000  // after the object: capacity, size, embedded, valid; then the values, which a dict may share
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_INLINE_VALUES)) return nullptr;
  auto* values = reinterpret_cast<std::uint8_t*>(object) + Py_TYPE(object)->tp_basicsize;
  return values[3] != 0 && instance_dict(object) == nullptr ? reinterpret_cast<PyObject**>(values + sizeof(PyObject*)) : nullptr;
#elif PY_VERSION_HEX >= 0x030C0000  // one word for both: of values it is odd, one byte before them
  auto word = reinterpret_cast<std::uintptr_t*>(object)[-3];
  return (word & 1) != 0 ? reinterpret_cast<PyObject**>(word + 1) : nullptr;
#else
  return reinterpret_cast<PyObject***>(object)[-4];
#endif
}

#else

inline SharedNames shared_names(PyTypeObject*) { return {}; }
inline Py_ssize_t index_of(const SharedNames&, PyObject*) { return -1; }
inline bool is_plain_dict(PyObject*) { return false; }
inline PyObject* value_in_dict(PyObject*, const SharedNames&, PyObject*, Py_ssize_t, Py_ssize_t&) { return nullptr; }
inline PyObject** instance_values(PyObject*) { return nullptr; }
inline PyObject* instance_dict(PyObject*) { return nullptr; }

#endif

}  // namespace cortex
