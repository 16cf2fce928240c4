// Makes instances of slotted Python classes without calling them.
#pragma once

#include "common.h"

namespace cortex {

// A class whose instances are nothing but these slots. What its __init__ would check is for the caller to keep.
class SlottedClass {
 public:
  SlottedClass(nb::object type, std::initializer_list<const char*> slots);

  // Return an instance with these values, in the order of the slots; all are taken.
  template <std::size_t Count>
  nb::object make(nb::object (&values)[Count]) const {
    return make(values, Count);
  }

 private:
  nb::object make(nb::object* values, std::size_t count) const;

  nb::object type_;
  std::vector<Py_ssize_t> offsets_;
};

}  // namespace cortex
