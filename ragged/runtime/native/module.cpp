// What Python sees of the team.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "team.h"

namespace ragged {

namespace nb = nanobind;

namespace {

// A stage that is ready to be called: the function of tvm_ffi at `address`, which its maker keeps alive, and for each
// of its arguments but the last three whether it is an address ('p') or a number ('i').
class Stage {
 public:
  Stage(std::uintptr_t address, const std::string& kinds)
      : function_(reinterpret_cast<FunctionObject*>(address)), kinds_(kinds) {
    if (kinds.size() + 1 > Job::kMostArguments) throw nb::value_error("a stage with too many arguments");
  }

  // Run the stage and return how many workers ran it. `values` are a number or an address for each argument, 0 for
  // none; `status` is the address of the status words.
  std::int64_t run(nb::list values, std::int64_t status, std::int64_t workers, std::int64_t patience) const {
    if (values.size() != kinds_.size()) throw nb::value_error("a stage is called with its arguments, no more or less");
    std::vector<Value> arguments(kinds_.size() + 1);
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const auto value = nb::cast<std::int64_t>(values[i]);
      arguments[i] = kinds_[i] == 'p' ? Value::pointer(value) : Value::integer(value);
    }
    arguments.back() = Value::pointer(status);
    const Job job{function_, arguments.data(), static_cast<std::int32_t>(arguments.size())};
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
      .def("__init__", [](Stage* self, std::uintptr_t address, nb::str kinds) { new (self) Stage(address, kinds.c_str()); },
           nb::arg("address"), nb::arg("kinds"))
      .def("run", &Stage::run, nb::arg("values"), nb::arg("status"), nb::arg("workers"), nb::arg("patience"));
  module.def("helpers", [] { return Team::of_process().helpers(); });
  module.def("disband", &disband);
}

}  // namespace ragged
