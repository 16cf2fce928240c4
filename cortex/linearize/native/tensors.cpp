#include "tensors.h"

#include <cstring>

#include "buffers.h"
#include "fast_payloads.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL CORTEX_ARRAY_API
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

namespace cortex {

namespace {

// DLPack's structures, of major version 1.
struct DLTensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

struct DLPackExchangeAPI {
  struct {
    std::uint32_t major, minor;
  } version;
  void* previous;
  void* managed_tensor_allocator;
  void* managed_tensor_from_py_object_no_sync;
  void* managed_tensor_to_py_object_no_sync;
  int (*dltensor_from_py_object_no_sync)(void* object, DLTensor* to);
  void* current_work_stream;
};

constexpr std::int32_t kCpu = 1;
constexpr const char* kCapsule = "dlpack_exchange_api";

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "shapes are read where they are");

// The functions that a class itself has, not its base; nullptr where it has none.
const DLPackExchangeAPI* find_exchange(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_dict == nullptr) return nullptr;
  PyObject* capsule = PyDict_GetItemWithError(type->tp_dict, name);
  if (capsule == nullptr || PyCapsule_IsValid(capsule, kCapsule) == 0) {
    PyErr_Clear();
    return nullptr;
  }
  auto* found = static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule, kCapsule));
  return found->version.major == 1 && found->dltensor_from_py_object_no_sync != nullptr ? found : nullptr;
}

const DLPackExchangeAPI* exchange_of(PyTypeObject* type) {
  // Of the class met last; another class at its address has another version.
  static PyTypeObject* last = nullptr;
  static unsigned int version = 0;
  static const DLPackExchangeAPI* exchange = nullptr;
  if (type != last || type->tp_version_tag != version || version == 0) {
    exchange = find_exchange(type);
    last = type;
    version = type->tp_version_tag;
  }
  return exchange;
}

bool find_array(PyArrayObject* array, Numbers& to) {
  const int type = PyArray_TYPE(array);
  const bool is_plain = type == NPY_FLOAT || type == NPY_DOUBLE || PyTypeNum_ISINTEGER(type);
  if (!is_plain || !PyArray_ISNOTSWAPPED(array)) return false;
  const char kind = PyTypeNum_ISFLOAT(type) ? 'f' : PyTypeNum_ISUNSIGNED(type) ? 'u' : 'i';
  to = {static_cast<const char*>(PyArray_DATA(array)), kind, static_cast<std::size_t>(PyArray_ITEMSIZE(array)),
        PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array), 1};
  return true;
}

bool find_tensor(PyObject* value, Numbers& to) {
  const DLPackExchangeAPI* exchange = exchange_of(Py_TYPE(value));
  if (exchange == nullptr) return false;
  DLTensor tensor;
  if (exchange->dltensor_from_py_object_no_sync(value, &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  constexpr char kKinds[] = {'i', 'u', 'f'};  // by DLPack's code
  if (tensor.device_type != kCpu || tensor.code > 2 || tensor.lanes != 1) return false;
  // torch's imaginary part of a conjugate is to be negated, which DLPack does not say. Its elements are not one after another,
  // unless there is one: then the library itself is to read it.
  std::int64_t size = 1;
  for (std::int32_t dimension = 0; dimension < tensor.ndim; ++dimension) size *= tensor.shape[dimension];
  if (size == 1 && kKinds[tensor.code] == 'f') return false;
  const auto itemsize = static_cast<std::size_t>(tensor.bits / 8);
  to = {static_cast<const char*>(tensor.data) + tensor.byte_offset, kKinds[tensor.code], itemsize, tensor.ndim,
        reinterpret_cast<const Py_ssize_t*>(tensor.shape), reinterpret_cast<const Py_ssize_t*>(tensor.strides),
        static_cast<Py_ssize_t>(itemsize)};
  return true;
}

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The value of an integer without dimensions; false for a uint64 from 2**63 up.
bool read_integer(const Numbers& numbers, std::int64_t& to) {
  const char* at = numbers.data;
  const bool is_signed = numbers.kind == 'i';
  switch (numbers.itemsize) {
    case 1:
      to = is_signed ? load<std::int8_t>(at) : load<std::uint8_t>(at);
      return true;
    case 2:
      to = is_signed ? load<std::int16_t>(at) : load<std::uint16_t>(at);
      return true;
    case 4:
      to = is_signed ? std::int64_t{load<std::int32_t>(at)} : std::int64_t{load<std::uint32_t>(at)};
      return true;
    default:
      to = load<std::int64_t>(at);
      return is_signed || to >= 0;
  }
}

// The value of a NumPy scalar of the two types of words.
bool read_numpy_scalar(PyObject* value, std::int64_t& to) {
  if (Py_IS_TYPE(value, &PyInt32ArrType_Type)) {
    to = PyArrayScalar_VAL(value, Int32);
    return true;
  }
  if (!Py_IS_TYPE(value, &PyInt64ArrType_Type)) return false;
  to = PyArrayScalar_VAL(value, Int64);
  return true;
}

}  // namespace

bool Numbers::is_whole(DType dtype, const std::vector<Py_ssize_t>& expected) const {
  if (kind != 'f' || itemsize != bytes_of(dtype) || ndim != static_cast<int>(expected.size())) return false;
  auto stride = static_cast<Py_ssize_t>(itemsize);
  for (int dimension = ndim; dimension-- > 0;) {
    const Py_ssize_t extent = expected[static_cast<std::size_t>(dimension)];
    if (shape[dimension] != extent) return false;
    if (extent != 1 && strides != nullptr && strides[dimension] * stride_bytes != stride) return false;
    stride *= extent;
  }
  return true;
}

bool find_numbers(PyObject* value, Numbers& to) {
  if (is_masked(value)) return false;
  return PyArray_Check(value) ? find_array(reinterpret_cast<PyArrayObject*>(value), to) : find_tensor(value, to);
}

bool read_numpy_float(PyObject* value, double& to) {
  if (Py_IS_TYPE(value, &PyFloatArrType_Type)) {
    to = PyArrayScalar_VAL(value, Float);
    return true;
  }
  if (!Py_IS_TYPE(value, &PyDoubleArrType_Type)) return false;
  to = PyArrayScalar_VAL(value, Double);
  return true;
}

bool append_scalar_in_memory(const PayloadSpec& payload, PyObject* value, bool leaf, Column& column) {
  std::int64_t number;
  Numbers numbers;
  if (is_int(payload.dtype) && read_numpy_scalar(value, number)) return append_int(payload, number, leaf, column);
  if (!find_numbers(value, numbers) || numbers.ndim != 0) return false;
  if (!is_int(payload.dtype)) {
    if (numbers.kind != 'f' || numbers.itemsize != payload.bytes) return false;
    std::memcpy(column.take(payload.bytes), numbers.data, payload.bytes);
    return true;
  }
  return numbers.kind != 'f' && read_integer(numbers, number) && append_int(payload, number, leaf, column);
}

}  // namespace cortex
