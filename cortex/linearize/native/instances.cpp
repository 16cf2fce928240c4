// The only file that sees CPython's own headers.
#define Py_BUILD_CORE_MODULE 1
#include "instances.h"

#if CORTEX_KNOWS_INSTANCES

#include <cstddef>

#undef HAVE_STD_ATOMIC  // those of C, which C++ has under other names: the headers have a way without
#include <internal/pycore_dict.h>

namespace cortex {

#if PY_VERSION_HEX >= 0x030D0000
static_assert(offsetof(PyDictValues, valid) == 3 && offsetof(PyDictValues, values) == sizeof(PyObject*));
#endif

SharedNames shared_names(PyTypeObject* type) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return {};
  const PyDictKeysObject* keys = reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
  if (keys == nullptr || keys->dk_kind != DICT_KEYS_SPLIT) return {};
  return {keys, &keys->dk_nentries};
}

Py_ssize_t index_of(const SharedNames& names, PyObject* name) {
  auto* keys = const_cast<PyDictKeysObject*>(static_cast<const PyDictKeysObject*>(names.keys));  // 3.13 has no constant entries
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i) {
    // Code that writes to a __dict__ may use an equal string that is another object.
    PyObject* known = DK_UNICODE_ENTRIES(keys)[i].me_key;
    if (known == name || (known != nullptr && PyUnicode_Compare(known, name) == 0)) return i;
  }
  return -1;
}

bool is_plain_dict(PyObject* dict) {
  return PyDict_CheckExact(dict) && reinterpret_cast<PyDictObject*>(dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL;
}

PyObject* value_in_dict(PyObject* dict, const SharedNames& names, PyObject* name, Py_ssize_t index, Py_ssize_t& place) {
  auto* of = reinterpret_cast<PyDictObject*>(dict);
  PyDictKeysObject* keys = of->ma_keys;
  if (of->ma_values != nullptr && keys == names.keys) return index >= 0 ? of->ma_values->values[index] : nullptr;
  const bool has_places = of->ma_values == nullptr && keys->dk_kind == DICT_KEYS_UNICODE;
  auto is_at = [&](Py_ssize_t at) { return at < keys->dk_nentries && DK_UNICODE_ENTRIES(keys)[at].me_key == name; };
  if (has_places && is_at(place)) return DK_UNICODE_ENTRIES(keys)[place].me_value;
  PyObject* value = PyDict_GetItemWithError(dict, name);
  if (has_places && value != nullptr) {
    place = 0;
    while (place < keys->dk_nentries && !is_at(place)) ++place;
  }
  return value;
}

}  // namespace cortex

#endif
