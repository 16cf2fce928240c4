// The processors that threads run on.
#pragma once

#include <sched.h>

#include <cstdint>

namespace ragged {

// A set of processors; empty where the system does not say.
class Processors {
 public:
  Processors() { CPU_ZERO(&set_); }

  // Those that the calling thread may run on.
  static Processors of_this_thread();

  Processors without(int processor) const;
  int count() const { return CPU_COUNT(&set_); }
  bool operator==(const Processors& other) const { return CPU_EQUAL(&set_, &other.set_) != 0; }

  // Keep a thread on these.
  void hold(unsigned long thread) const;

 private:
  cpu_set_t set_;
};

// Ask the scheduler to give this thread the processor soon and for a short time, rather than late and for long: so it
// comes at once where another thread computes, and gives way to it again. Linux 6.12 and later do; others take no
// notice.
void ask_for_short_turns();

}  // namespace ragged
