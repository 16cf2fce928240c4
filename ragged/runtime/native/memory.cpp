#include "memory.h"

#include <cstring>

namespace ragged {

namespace {

constexpr std::int64_t kLine = 64;

// numpy's functions, never released.
PyObject* empty = nullptr;
PyObject* uint8 = nullptr;
PyObject* ndarray = nullptr;

// numpy.empty(bytes, numpy.uint8)
PyObject* new_bytes(std::int64_t bytes) {
  PyObject* count = PyLong_FromLongLong(bytes);
  if (count == nullptr) return nullptr;
  PyObject* arguments[] = {count, uint8};
  PyObject* array = PyObject_Vectorcall(empty, arguments, 2, nullptr);
  Py_DECREF(count);
  return array;
}

// numpy.ndarray(shape, dtype, memory, offset)
PyObject* new_view(PyObject* shape, PyObject* dtype, PyObject* memory, std::int64_t offset) {
  PyObject* skipped = PyLong_FromLongLong(offset);
  if (skipped == nullptr) return nullptr;
  PyObject* arguments[] = {shape, dtype, memory, skipped};
  PyObject* array = PyObject_Vectorcall(ndarray, arguments, 4, nullptr);
  Py_DECREF(skipped);
  return array;
}

bool bytes_of(PyObject* shape, std::int64_t& bytes) {
  if (!PyTuple_CheckExact(shape)) {
    PyErr_SetString(PyExc_TypeError, "a shape is a tuple");
    return false;
  }
  for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape); ++d) {
    std::int64_t extent = 0;
    if (!number_of(PyTuple_GET_ITEM(shape, d), extent)) return false;
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) {
      PyErr_SetString(PyExc_MemoryError, "an output is larger than any memory");
      return false;
    }
  }
  return true;
}

}  // namespace

bool prepare_memory() {
  PyObject* numpy = PyImport_ImportModule("numpy");
  if (numpy == nullptr) return false;
  empty = PyObject_GetAttrString(numpy, "empty");
  uint8 = PyObject_GetAttrString(numpy, "uint8");
  ndarray = PyObject_GetAttrString(numpy, "ndarray");
  Py_DECREF(numpy);
  return empty != nullptr && uint8 != nullptr && ndarray != nullptr && prepare_leases();
}

bool number_of(PyObject* value, std::int64_t& number) {
  number = PyLong_AsLongLong(value);
  return number != -1 || PyErr_Occurred() == nullptr;
}

bool sum_of(PyObject* sizes, std::size_t& sum) {
  if (!PyTuple_CheckExact(sizes)) {
    PyErr_SetString(PyExc_TypeError, "sizes are a tuple");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) {
    std::int64_t size = 0;
    if (!number_of(PyTuple_GET_ITEM(sizes, i), size)) return false;
    if (size < 0 || __builtin_add_overflow(sum, static_cast<std::size_t>(size), &sum)) {
      PyErr_SetString(PyExc_MemoryError, "a workspace is larger than any memory");
      return false;
    }
  }
  return true;
}

bool address_of(PyObject* array, const char* format, std::int64_t& address) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  address = reinterpret_cast<std::int64_t>(buffer.buf);
  const bool same = buffer.format != nullptr && std::strcmp(buffer.format, format) == 0;
  const bool usual = same && address % buffer.itemsize == 0;
  PyBuffer_Release(&buffer);
  return usual;
}

PyObject* new_array(PyObject* shape, PyObject* dtype, std::int64_t item, const std::shared_ptr<Blocks>& blocks,
                    std::int64_t& address) {
  std::int64_t bytes = item;
  if (!bytes_of(shape, bytes)) return nullptr;
  if (bytes >= kLarge) {
    PyObject* lease = new_lease(bytes, blocks, address);
    if (lease == nullptr) return nullptr;
    PyObject* array = new_view(shape, dtype, lease, 0);
    Py_DECREF(lease);
    return array;
  }
  blocks->note(static_cast<std::size_t>(bytes));
  PyObject* memory = new_bytes(bytes + kLine);
  if (memory == nullptr) return nullptr;
  Py_buffer buffer;
  if (PyObject_GetBuffer(memory, &buffer, PyBUF_SIMPLE) != 0) {
    Py_DECREF(memory);
    return nullptr;
  }
  const auto start = reinterpret_cast<std::int64_t>(buffer.buf);
  PyBuffer_Release(&buffer);
  address = (start + kLine - 1) / kLine * kLine;
  PyObject* array = new_view(shape, dtype, memory, address - start);
  Py_DECREF(memory);
  return array;
}

bool output_address(PyObject* array, std::int64_t item, std::int64_t& address) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0) return false;
  address = reinterpret_cast<std::int64_t>(buffer.buf);
  const bool fits = buffer.itemsize == item && address % item == 0;
  PyBuffer_Release(&buffer);
  if (!fits) PyErr_SetString(PyExc_BufferError, "an output's array has other elements, or is not aligned to them");
  return fits;
}

bool append_pair(PyObject* list, std::int64_t first, std::int64_t second) {
  PyObject* pair = Py_BuildValue("LL", static_cast<long long>(first), static_cast<long long>(second));
  const bool appended = pair != nullptr && PyList_Append(list, pair) == 0;
  Py_XDECREF(pair);
  return appended;
}

}  // namespace ragged
