// Makes instances of a slotted Python class without calling it.
#pragma once

#include "common.h"

namespace cortex {

// A class whose instances are nothing but these slots. Its __init__ does not run.
class SlottedClass {
 public:
  // `slots` are names, in the order in which `make` takes values.
  SlottedClass(nb::object type, const nb::object& slots);

  // Return an instance with `first` and then the items of `rest` as its values.
  nb::object make(nb::handle first, const nb::tuple& rest) const;

 private:
  nb::object type_;
  std::vector<Py_ssize_t> offsets_;
};

}  // namespace cortex
