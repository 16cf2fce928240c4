#include "arrays.h"

#include <cstring>

#include "lease.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL CORTEX_ARRAY_API
#include <numpy/arrayobject.h>

namespace cortex {

namespace {

// Free blocks that each pool keeps: a result is often made before the one before it is freed.
constexpr std::size_t kIdle = 2;

constexpr int kNumbers[] = {NPY_INT32, NPY_INT64, NPY_FLOAT32, NPY_FLOAT64};

}  // namespace

void load_numpy() {
  if (_import_array() < 0 || !ragged::prepare_leases()) throw nb::python_error();
}

std::pair<nb::object, void*> Arrays::make(const std::vector<Py_ssize_t>& shape, DType dtype) {
  const std::shared_ptr<ragged::Blocks>& pool = next_pool();
  auto bytes = static_cast<std::int64_t>(bytes_of(dtype));
  for (Py_ssize_t extent : shape) bytes *= extent;
  int ndim = static_cast<int>(shape.size()), number = kNumbers[static_cast<int>(dtype)];
  auto* extents = const_cast<npy_intp*>(shape.data());
  if (bytes < ragged::kLarge) {
    pool->note(static_cast<std::size_t>(bytes));
    nb::object array = nb::steal(PyArray_SimpleNew(ndim, extents, number));
    if (!array.is_valid()) throw nb::python_error();
    return {array, PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr()))};
  }
  std::int64_t address = 0;
  nb::object lease = nb::steal(ragged::new_lease(bytes, pool, address));
  if (!lease.is_valid()) throw nb::python_error();
  auto* data = reinterpret_cast<void*>(address);
  nb::object array = nb::steal(PyArray_SimpleNewFromData(ndim, extents, number, data));
  if (!array.is_valid()) throw nb::python_error();
  auto* base = reinterpret_cast<PyArrayObject*>(array.ptr());
  if (PyArray_SetBaseObject(base, lease.release().ptr()) < 0) throw nb::python_error();
  return {array, data};
}

nb::object Arrays::borrow(const void* memory, Py_ssize_t elements, DType dtype, nb::object owner) {
  next_pool()->note(0);
  npy_intp extent = elements;
  nb::object array = nb::steal(
      PyArray_SimpleNewFromData(1, &extent, kNumbers[static_cast<int>(dtype)], const_cast<void*>(memory)));
  if (!array.is_valid()) throw nb::python_error();
  auto* borrowed = reinterpret_cast<PyArrayObject*>(array.ptr());
  PyArray_CLEARFLAGS(borrowed, NPY_ARRAY_WRITEABLE);
  if (PyArray_SetBaseObject(borrowed, owner.release().ptr()) < 0) throw nb::python_error();
  return array;
}

nb::object Arrays::ints(std::size_t length, std::int32_t*& data) {
  auto [array, memory] = make({static_cast<Py_ssize_t>(length)}, DType::Int32);
  data = static_cast<std::int32_t*>(memory);
  return array;
}

nb::object Arrays::copy(const std::int32_t* values, std::size_t count) {
  std::int32_t* data = nullptr;
  nb::object array = ints(count, data);
  if (count > 0) std::memcpy(data, values, count * sizeof(std::int32_t));
  return array;
}

const std::shared_ptr<ragged::Blocks>& Arrays::next_pool() {
  if (next_ == pools_.size()) pools_.push_back(std::make_shared<ragged::Blocks>(0, kIdle));
  return pools_[next_++];
}

}  // namespace cortex
