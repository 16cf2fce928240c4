// What Python sees of the team.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "team.h"

namespace ragged {

namespace nb = nanobind;

namespace {

// Put the numbers of the list `values` behind each other, each of the kind that the same place of `kinds` says: 'p' an
// address, 0 for none, or 'i' a number; room is left for the two that a worker puts at the end. Returns false, and
// sets an exception, if they are no such numbers.
bool read_values(PyObject* values, PyObject* kinds, std::vector<Value>& result) {
  if (!PyList_CheckExact(values) || !PyBytes_CheckExact(kinds) || PyList_GET_SIZE(values) != PyBytes_GET_SIZE(kinds)) {
    PyErr_SetString(PyExc_TypeError, "a stage is called with a list of all its arguments");
    return false;
  }
  const Py_ssize_t count = PyList_GET_SIZE(values);
  const char* kind = PyBytes_AS_STRING(kinds);
  result.resize(static_cast<std::size_t>(count) + 2);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const std::int64_t value = PyLong_AsLongLong(PyList_GET_ITEM(values, i));
    if (value == -1 && PyErr_Occurred() != nullptr) return false;
    result[static_cast<std::size_t>(i)] = kind[i] == 'p' ? Value::pointer(value) : Value::integer(value);
  }
  return true;
}

// run(address, kinds, values, workers, patience): run the stage that is tvm_ffi's function at `address`, which the
// caller keeps alive, and return how many workers ran it. The last of `values` is the address of the status words.
// Their second one, which barriers count in, is made zero: the stage before may have had another number of workers.
//
// This is a function of the C API and not of nanobind because Python ends daemon threads by unwinding them as they
// come back for the GIL, which must not meet a catch or a destructor that may not throw.
PyObject* run(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 5) {
    PyErr_SetString(PyExc_TypeError, "run(address, kinds, values, workers, patience)");
    return nullptr;
  }
  const std::int64_t address = PyLong_AsLongLong(arguments[0]);
  const std::int64_t workers = PyLong_AsLongLong(arguments[3]);
  const std::int64_t patience = PyLong_AsLongLong(arguments[4]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  Job job{reinterpret_cast<FunctionObject*>(address), {}};
  if (!read_values(arguments[2], arguments[1], job.arguments)) return nullptr;
  const std::int64_t status = job.arguments[job.arguments.size() - 3].payload;
  reinterpret_cast<std::int64_t*>(status)[1] = 0;
  Team& team = Team::of_process();
  PyThreadState* state = PyEval_SaveThread();
  const Team::Outcome outcome = team.run(job, workers, patience);
  PyEval_RestoreThread(state);
  if (outcome.result != 0) {
    PyErr_SetString(PyExc_RuntimeError, "a stage refused its arguments");
    return nullptr;
  }
  return PyLong_FromLongLong(outcome.workers);
}

PyMethodDef kMethods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&run)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

bool disband() {
  Team& team = Team::of_process();
  nb::gil_scoped_release release;
  return team.disband();
}

}  // namespace

NB_MODULE(_team, module) {
  module.doc() = "The native part of ragged.runtime: a team of resident workers.";
  if (PyModule_AddFunctions(module.ptr(), kMethods) != 0) nb::raise_python_error();
  module.def("helpers", [] { return Team::of_process().helpers(); });
  module.def("disband", &disband);
}

}  // namespace ragged
