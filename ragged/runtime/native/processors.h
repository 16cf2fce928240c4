// Processor affinity and scheduling of threads.
#pragma once

#include <sched.h>

#include <cstdint>

namespace ragged {

// A set of processors; empty where the system does not report it.
class Processors {
 public:
  Processors() { CPU_ZERO(&set_); }

  // The affinity of the calling thread.
  static Processors of_this_thread();

  Processors without(int processor) const;
  int count() const { return CPU_COUNT(&set_); }
  bool operator==(const Processors& other) const { return CPU_EQUAL(&set_, &other.set_) != 0; }

  // Set a thread's affinity.
  void hold(unsigned long thread) const;

 private:
  cpu_set_t set_;
};

// Ask the scheduler for short slices: this thread then preempts a computing thread at once, and gives way to it again.
// Linux 6.12 and later do so; others ignore it.
void ask_for_short_turns();

}  // namespace ragged
