#include "lease.h"

namespace ragged {

namespace {

struct Lease {
  PyObject_HEAD
  std::shared_ptr<Blocks> blocks;
  Block block;
  Py_ssize_t size;
};

int export_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* lease = reinterpret_cast<Lease*>(self);
  return PyBuffer_FillInfo(view, self, lease->block.data, lease->size, 0, flags);
}

void end_lease(PyObject* self) {
  auto* lease = reinterpret_cast<Lease*>(self);
  PyTypeObject* type = Py_TYPE(self);
  lease->blocks->give(lease->block, static_cast<std::size_t>(lease->size));
  lease->blocks.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot kLeaseSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&end_lease)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(&export_buffer)},
    {0, nullptr},
};
PyType_Spec kLeaseSpec = {"ragged.runtime.Lease", sizeof(Lease), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kLeaseSlots};
PyTypeObject* lease_type = nullptr;

}  // namespace

bool prepare_leases() {
  lease_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kLeaseSpec));
  return lease_type != nullptr;
}

PyObject* new_lease(std::int64_t bytes, const std::shared_ptr<Blocks>& blocks, std::int64_t& address) {
  const Block block = blocks->take(static_cast<std::size_t>(bytes));
  if (block.words == nullptr) return PyErr_NoMemory();
  auto* lease = PyObject_New(Lease, lease_type);
  if (lease == nullptr) {
    blocks->give(block, static_cast<std::size_t>(bytes));
    return nullptr;
  }
  new (&lease->blocks) std::shared_ptr<Blocks>(blocks);
  lease->block = block;
  lease->size = bytes;
  address = reinterpret_cast<std::int64_t>(block.data);
  return reinterpret_cast<PyObject*>(lease);
}

}  // namespace ragged
