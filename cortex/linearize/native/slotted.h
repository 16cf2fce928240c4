// Makes instances of a slotted Python class without calling it.
#pragma once

#include <initializer_list>

#include "common.h"

namespace cortex {

// A class with exactly these slots and no other state; instances are made without running __init__.
class SlottedClass {
 public:
  // `slots` are names, in the order in which `make` takes values.
  SlottedClass(nb::object type, std::initializer_list<const char*> slots);

  // Return an instance with these values.
  nb::object make(std::initializer_list<nb::handle> values) const;

 private:
  nb::object type_;
  std::vector<Py_ssize_t> offsets_;
};

}  // namespace cortex
