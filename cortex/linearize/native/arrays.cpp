#include "arrays.h"

#include <algorithm>
#include <stdexcept>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

namespace cortex {

namespace {

int number_of(DType dtype) {
  switch (dtype) {
    case DType::Int32: return NPY_INT32;
    case DType::Int64: return NPY_INT64;
    case DType::Float32: return NPY_FLOAT32;
    case DType::Float64: return NPY_FLOAT64;
  }
  throw std::logic_error("a dtype without a number");
}

nb::object checked(PyObject* array) {
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

void* data_of(nb::handle array) { return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())); }

}  // namespace

void load_numpy() {
  if (_import_array() < 0) throw nb::python_error();
}

nb::object new_array(const std::vector<Py_ssize_t>& shape, DType dtype, void*& data) {
  std::vector<npy_intp> extents(shape.begin(), shape.end());
  nb::object array = checked(PyArray_SimpleNew(static_cast<int>(extents.size()), extents.data(), number_of(dtype)));
  data = data_of(array);
  return array;
}

const void* array_data(PyObject* value, DType dtype, const std::vector<Py_ssize_t>& shape) {
  if (!PyArray_CheckExact(value)) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(value);
  bool same = PyArray_TYPE(array) == number_of(dtype) && PyArray_NDIM(array) == static_cast<int>(shape.size()) &&
              std::equal(shape.begin(), shape.end(), PyArray_DIMS(array)) && PyArray_ISCARRAY_RO(array);
  return same ? PyArray_DATA(array) : nullptr;
}

Block::Block(std::size_t bytes) : left_(bytes) {
  npy_intp extent = static_cast<npy_intp>(bytes + kLine);
  whole_ = checked(PyArray_SimpleNew(1, &extent, NPY_UINT8));
  auto address = reinterpret_cast<std::uintptr_t>(data_of(whole_));
  next_ = reinterpret_cast<char*>(rounded(address));
}

nb::object Block::take(std::size_t count, DType dtype, void*& data) {
  std::size_t bytes = rounded(count * bytes_of(dtype));
  if (bytes > left_) throw std::logic_error("a block is too small for its arrays");
  data = next_;
  next_ += bytes;
  left_ -= bytes;
  npy_intp extent = static_cast<npy_intp>(count);
  nb::object array = checked(PyArray_New(&PyArray_Type, 1, &extent, number_of(dtype), nullptr, data, 0,
                                         NPY_ARRAY_CARRAY, nullptr));
  nb::object owner = whole_;
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), owner.release().ptr()) < 0) {
    throw nb::python_error();
  }
  return array;
}

}  // namespace cortex
