#include "frame.h"

#include "memory.h"
#include "team.h"
#include "wait.h"

namespace ragged {

PyObject* check_failed = nullptr;

PyObject* Frame::call(PyObject* values, PyObject* shapes, PyObject* sizes, std::int64_t spin_ns, PyObject* times) {
  Job job{nullptr, values_};
  if (!read(values, job.arguments)) return nullptr;
  PyObject* results = make_outputs(shapes, job.arguments);
  if (results == nullptr) return nullptr;
  std::size_t needed = 0;
  bool done = sum_of(sizes, needed);
  if (done) {
    const Block block = blocks_.take(needed);
    done = block.words != nullptr;
    if (done) {
      done = place_workspaces(sizes, block, job.arguments) && run(job, block, spin_ns, times);
      blocks_.give(block, needed);
    } else {
      PyErr_NoMemory();
    }
  }
  if (!done) Py_CLEAR(results);
  return results;
}

// Fill in the sizes and the input arrays: a list or a tuple, in this order.
bool Frame::read(PyObject* values, std::vector<Value>& arguments) const {
  if (PySequence_Fast_GET_SIZE(values) != static_cast<Py_ssize_t>(sizes.size() + inputs.size())) {
    PyErr_SetString(PyExc_TypeError, "a call is given one value for each size and array");
    return false;
  }
  Py_ssize_t next = 0;
  for (const std::size_t place : sizes) {
    std::int64_t number = 0;
    if (!number_of(PySequence_Fast_GET_ITEM(values, next++), number)) return false;
    arguments[place] = Value::integer(number);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::int64_t address = 0;
    if (!read_array(i, PySequence_Fast_GET_ITEM(values, next++), address)) return false;
    arguments[inputs[i].place] = Value::pointer(address);
  }
  return true;
}

bool Frame::read_array(std::size_t index, PyObject* value, std::int64_t& address) const {
  if (address_of(value, inputs[index].format.c_str(), address)) return true;
  PyObject* found = PyObject_CallFunction(fallback.ptr(), "nO", static_cast<Py_ssize_t>(index), value);
  if (found == nullptr) return false;
  const bool is_number = number_of(found, address);
  Py_DECREF(found);
  return is_number;
}

// Return a tuple of arrays: new ones of the shapes in `shapes`, and the arrays that stand there in place of shapes.
PyObject* Frame::make_outputs(PyObject* shapes, std::vector<Value>& arguments) const {
  if (!PyTuple_CheckExact(shapes) || PyTuple_GET_SIZE(shapes) != static_cast<Py_ssize_t>(outputs.size())) {
    PyErr_SetString(PyExc_TypeError, "a call makes one array for each output");
    return nullptr;
  }
  PyObject* results = PyTuple_New(static_cast<Py_ssize_t>(outputs.size()));
  for (std::size_t i = 0; results != nullptr && i < outputs.size(); ++i) {
    std::int64_t address = 0;
    const auto at = static_cast<Py_ssize_t>(i);
    const Output& output = outputs[i];
    PyObject* shape = PyTuple_GET_ITEM(shapes, at);
    PyObject* array = nullptr;
    if (PyTuple_CheckExact(shape)) {
      array = new_array(shape, output.dtype.ptr(), output.item, output.blocks, address);
    } else if (output_address(shape, output.item, address)) {
      array = Py_NewRef(shape);
    }
    if (array == nullptr) {
      Py_CLEAR(results);
    } else {
      PyTuple_SET_ITEM(results, at, array);
      arguments[output.place] = Value::pointer(address);
    }
  }
  return results;
}

// Place the workspaces one after another in the block; `sizes` are their bytes.
bool Frame::place_workspaces(PyObject* sizes, const Block& block, std::vector<Value>& arguments) const {
  if (PyTuple_GET_SIZE(sizes) != static_cast<Py_ssize_t>(workspaces.size())) {
    PyErr_SetString(PyExc_TypeError, "a call has one size for each workspace");
    return false;
  }
  char* next = block.data;
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    arguments[workspaces[i]] = Value::pointer(reinterpret_cast<std::int64_t>(next));
    std::int64_t size = 0;
    if (!number_of(PyTuple_GET_ITEM(sizes, static_cast<Py_ssize_t>(i)), size)) return false;
    next += size;
  }
  arguments[arguments.size() - 3] = Value::pointer(reinterpret_cast<std::int64_t>(block.words));
  return true;
}

// Run the stages in order, up to the first that fails. The GIL is released once for all of them: another thread that
// takes it may keep it for long.
bool Frame::run(Job& job, const Block& block, std::int64_t spin_ns, PyObject* times) const {
  struct Ran {
    std::int64_t nanoseconds, workers;
  };
  Team& team = Team::of_process();
  std::vector<Ran> ran;
  ran.reserve(stages.size());
  int result = 0;
  // Python ends daemon threads by unwinding them when they take the GIL again: no catch, and no destructor that needs
  // the GIL, may be on the stack here.
  PyThreadState* state = PyEval_SaveThread();
  for (const Stage& stage : stages) {
    job.function = stage.function;
    block.words[1] = 0;  // the barrier counter: the stage before may have had another number of workers
    const std::int64_t begin = now();
    const Team::Outcome outcome = team.run(job, stage.workers, spin_ns);
    ran.push_back({now() - begin, outcome.workers});
    result = outcome.result;
    if (result != 0 || block.words[0] != 0) break;
  }
  PyEval_RestoreThread(state);
  if (result != 0) {
    PyErr_SetString(PyExc_RuntimeError, "a stage refused its arguments");
    return false;
  }
  if (block.words[0] != 0) {
    const char* words = reinterpret_cast<const char*>(block.words);
    const auto bytes = static_cast<Py_ssize_t>(blocks_.words() * sizeof(std::int64_t));
    const auto failed = static_cast<Py_ssize_t>(ran.size()) - 1;
    PyObject* failure = Py_BuildValue("nN", failed, PyBytes_FromStringAndSize(words, bytes));
    if (failure != nullptr) PyErr_SetObject(check_failed, failure);
    Py_XDECREF(failure);
    return false;
  }
  if (times == Py_None) return true;
  for (const Ran& each : ran) {
    if (!append_pair(times, each.nanoseconds, each.workers)) return false;
  }
  return true;
}

}  // namespace ragged
