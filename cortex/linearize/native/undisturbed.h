// A while in which no garbage is collected.
#pragma once

#include <Python.h>

namespace cortex {

// The collector runs finalizers, which may do anything, whenever something is allocated; from Python 3.12 on between
// bytecodes alone, where none of ours are.
class Undisturbed {
 public:
  Undisturbed() : was_enabled_(PyGC_Disable() != 0) {}
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() {
    if (was_enabled_) PyGC_Enable();
  }

 private:
  bool was_enabled_;
};

}  // namespace cortex
