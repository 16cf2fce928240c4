// The only file that sees CPython's own headers.
#define Py_BUILD_CORE_MODULE 1
#include "instances.h"

#if CORTEX_KNOWS_INSTANCES

#include <internal/pycore_dict.h>

namespace cortex {

SharedNames shared_names(PyTypeObject* type) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT) || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return {};
  const PyDictKeysObject* keys = reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
  if (keys == nullptr || keys->dk_kind != DICT_KEYS_SPLIT) return {};
  return {keys, &keys->dk_nentries};
}

Py_ssize_t index_of(const SharedNames& names, PyObject* name) {
  auto* keys = static_cast<const PyDictKeysObject*>(names.keys);
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i) {
    // Who writes to a __dict__ may bring an equal string that is another object.
    PyObject* known = DK_UNICODE_ENTRIES(keys)[i].me_key;
    if (known == name || (known != nullptr && PyUnicode_Compare(known, name) == 0)) return i;
  }
  return -1;
}

bool is_plain_dict(PyObject* dict) {
  return PyDict_CheckExact(dict) && reinterpret_cast<PyDictObject*>(dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL;
}

}  // namespace cortex

#endif
