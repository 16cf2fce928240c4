// The prepared part of calls of some stages, so that a call is one native step, which no signal interrupts.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "blocks.h"
#include "stage.h"

namespace ragged {

namespace nb = nanobind;

// How each argument is filled at a call; bound arguments are in `values_` already. A place is an argument's position.
class Frame {
 public:
  // An input array, read in place if it is C-contiguous, aligned, and of this format; otherwise `fallback` returns its
  // address or raises.
  struct Input {
    std::size_t place;
    std::string format;
  };
  // An output. Large outputs reuse blocks; kIdle = 2 serves callers that hold one result while they make the next.
  static constexpr std::size_t kIdle = 2;
  struct Output {
    std::size_t place;
    nb::object dtype;
    std::int64_t item;  // bytes
    std::shared_ptr<Blocks> blocks = std::make_shared<Blocks>(0, kIdle);
  };
  struct Stage {
    FunctionObject* function;
    std::int64_t workers;
  };

  Frame(std::vector<Value> values, std::size_t words) : values_(std::move(values)), blocks_(words) {}

  std::vector<std::size_t> sizes;  // places
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<std::size_t> workspaces;
  std::vector<Stage> stages;
  nb::object fallback;  // (index in `inputs`, value) -> address
  nb::object keep;     // owns the stages' functions

  // call(values, shapes, sizes, spin_ns, times): see module.cpp. Sets an exception and returns null if it fails.
  PyObject* call(PyObject* values, PyObject* shapes, PyObject* sizes, std::int64_t spin_ns, PyObject* times);

  const Blocks& blocks() const { return blocks_; }

 private:
  bool read(PyObject* values, std::vector<Value>& arguments) const;
  bool read_array(std::size_t index, PyObject* value, std::int64_t& address) const;
  PyObject* make_outputs(PyObject* shapes, std::vector<Value>& arguments) const;
  bool place_workspaces(PyObject* sizes, const Block& block, std::vector<Value>& arguments) const;
  bool run(Job& job, const Block& block, std::int64_t spin_ns, PyObject* times) const;

  std::vector<Value> values_;  // of all arguments, the status, the worker's number and the number of workers
  Blocks blocks_;
};

// The exception of a failed check: its arguments are the stage's number and the status words, as bytes.
extern PyObject* check_failed;

}  // namespace ragged
