// A scope in which Python's garbage collector is off.
#pragma once

#include <Python.h>

namespace cortex {

// The collector runs finalizers, which may run any code, at any allocation; from Python 3.12 on only between bytecodes.
class GcPause {
 public:
  GcPause() : was_enabled_(PyGC_Disable() != 0) {}
  GcPause(const GcPause&) = delete;
  GcPause& operator=(const GcPause&) = delete;
  ~GcPause() {
    if (was_enabled_) PyGC_Enable();
  }

 private:
  bool was_enabled_;
};

}  // namespace cortex
