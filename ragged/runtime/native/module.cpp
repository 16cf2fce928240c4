// What Python sees of the team.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "team.h"

namespace ragged {

namespace nb = nanobind;

namespace {

// A stage that is ready to be called: the function of tvm_ffi at `address`, which its maker keeps alive, and for each
// of its arguments whether it is an address ('p') or a number ('i'); the worker's number and the number of workers,
// which come last, do not count.
class Stage {
 public:
  Stage(std::uintptr_t address, const char* kinds)
      : function_(reinterpret_cast<FunctionObject*>(address)), kinds_(kinds) {}

  // Run the stage and return how many workers ran it. `values` are a number or an address for each argument, 0 for no
  // address; the last is the address of the status words. The second of those, which barriers count in, is made zero:
  // the number of workers may be another one than in the stage before.
  std::int64_t run(nb::list values, std::int64_t workers, std::int64_t patience) const {
    Job job{function_, arguments(values)};
    reinterpret_cast<std::int64_t*>(job.arguments[kinds_.size() - 1].payload)[1] = 0;
    Team& team = Team::of_process();
    Team::Outcome outcome{};
    {
      nb::gil_scoped_release release;
      outcome = team.run(job, workers, patience);
    }
    if (outcome.result != 0) throw std::runtime_error("a stage refused its arguments");
    return outcome.workers;
  }

 private:
  std::vector<Value> arguments(nb::list values) const {
    if (values.size() != kinds_.size()) throw nb::value_error("a stage is called with its arguments, no more or less");
    std::vector<Value> result(kinds_.size() + 2);
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const auto value = nb::cast<std::int64_t>(values[i]);
      result[i] = kinds_[i] == 'p' ? Value::pointer(value) : Value::integer(value);
    }
    return result;
  }

  FunctionObject* function_;
  std::string kinds_;
};

bool disband() {
  Team& team = Team::of_process();
  nb::gil_scoped_release release;
  return team.disband();
}

}  // namespace

NB_MODULE(_team, module) {
  module.doc() = "The native part of ragged.runtime: a team of resident workers.";
  nb::class_<Stage>(module, "Stage")
      .def(nb::init<std::uintptr_t, const char*>(), nb::arg("address"), nb::arg("kinds"))
      .def("run", &Stage::run, nb::arg("values"), nb::arg("workers"), nb::arg("patience"));
  module.def("helpers", [] { return Team::of_process().helpers(); });
  module.def("disband", &disband);
}

}  // namespace ragged
