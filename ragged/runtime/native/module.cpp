// The Python interface of the team.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "frame.h"
#include "memory.h"
#include "team.h"

namespace ragged {

namespace {

constexpr const char* kFrame = "ragged.runtime._team.frame";

Frame* frame_of(PyObject* capsule) { return static_cast<Frame*>(PyCapsule_GetPointer(capsule, kFrame)); }

// The values of all arguments, by their letters in `kinds`: 'p' is an address, 0 for none, 'i' a number; then two slots
// for the worker's number and the number of workers.
std::vector<Value> values_of(const nb::list& numbers, const nb::bytes& kinds) {
  if (numbers.size() != kinds.size()) throw nb::value_error("one kind for each argument");
  std::vector<Value> values;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto number = nb::cast<std::int64_t>(numbers[i]);
    values.push_back(kinds.c_str()[i] == 'p' ? Value::pointer(number) : Value::integer(number));
  }
  values.resize(values.size() + 2);
  return values;
}

nb::object make_frame(const nb::list& numbers, const nb::bytes& kinds, std::size_t words, const nb::list& sizes,
                      const nb::list& inputs, const nb::list& outputs, const nb::list& workspaces,
                      const nb::list& stages, nb::object fallback, nb::object keep) {
  auto frame = std::make_unique<Frame>(values_of(numbers, kinds), words);
  for (nb::handle each : sizes) frame->sizes.push_back(nb::cast<std::size_t>(each));
  for (nb::handle each : inputs) {
    frame->inputs.push_back({nb::cast<std::size_t>(each[0]), nb::cast<std::string>(each[1])});
  }
  for (nb::handle each : outputs) {
    frame->outputs.push_back(
        {nb::cast<std::size_t>(each[0]), nb::object(each[1]), nb::cast<std::int64_t>(each[2])});
  }
  for (nb::handle each : workspaces) frame->workspaces.push_back(nb::cast<std::size_t>(each));
  for (nb::handle each : stages) {
    auto* function = reinterpret_cast<FunctionObject*>(nb::cast<std::int64_t>(each[0]));
    frame->stages.push_back({function, nb::cast<std::int64_t>(each[1])});
  }
  frame->fallback = std::move(fallback);
  frame->keep = std::move(keep);
  PyObject* capsule = PyCapsule_New(frame.get(), kFrame, [](PyObject* self) { delete frame_of(self); });
  if (capsule == nullptr) throw nb::python_error();
  frame.release();  // NOLINT: the capsule has it now
  return nb::steal(capsule);
}

// call(frame, values, shapes, sizes, spin_ns, times): run the frame's stages on `values`, its sizes and then its input
// arrays, with new outputs of these shapes and workspaces of these sizes in bytes; return a tuple of outputs. An array in
// place of a shape is that output: it is C-contiguous, writable, and large enough. For each
// stage (nanoseconds, workers) is appended to the list `times`, unless it is None.
//
// No Python code runs while the workspaces are in use, so no signal's exception can interrupt.
//
// This uses the C API and not nanobind because Python ends daemon threads by unwinding them when they take the GIL again,
// which must not meet a catch or a noexcept destructor.
PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 6) {
    PyErr_SetString(PyExc_TypeError, "call(frame, values, shapes, sizes, spin_ns, times)");
    return nullptr;
  }
  Frame* frame = frame_of(arguments[0]);
  if (frame == nullptr) return nullptr;
  if (!PyTuple_CheckExact(arguments[1]) && !PyList_CheckExact(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "a call is given its values as a tuple or a list");
    return nullptr;
  }
  const std::int64_t spin_ns = PyLong_AsLongLong(arguments[4]);
  if (spin_ns == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return frame->call(arguments[1], arguments[2], arguments[3], spin_ns, arguments[5]);
}

PyMethodDef kMethods[] = {
    {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

bool disband() {
  Team& team = Team::of_process();
  nb::gil_scoped_release release;
  return team.disband();
}

nb::tuple blocks(nb::handle capsule) {
  const Frame* frame = frame_of(capsule.ptr());
  if (frame == nullptr) throw nb::python_error();
  std::size_t count = frame->blocks().count(), bytes = frame->blocks().bytes();
  for (const Frame::Output& output : frame->outputs) {
    count += output.blocks->count();
    bytes += output.blocks->bytes();
  }
  return nb::make_tuple(count, bytes);
}

}  // namespace

NB_MODULE(_team, module) {
  if (!prepare_memory()) nb::raise_python_error();
  // Daemon threads that are in calls when the interpreter ends leak their objects.
  nb::set_leak_warnings(false);
  module.doc() = "The native part of ragged.runtime: a team of resident workers, and calls.";
  if (PyModule_AddFunctions(module.ptr(), kMethods) != 0) nb::raise_python_error();
  check_failed = PyErr_NewException("ragged.runtime._team.Failed", nullptr, nullptr);
  if (check_failed == nullptr || PyModule_AddObjectRef(module.ptr(), "Failed", check_failed) != 0) {
    nb::raise_python_error();
  }
  module.def("frame", &make_frame);
  module.def("blocks", &blocks);
  module.def("helpers", [] { return Team::of_process().helpers(); });
  module.def("disband", &disband);
}

}  // namespace ragged
