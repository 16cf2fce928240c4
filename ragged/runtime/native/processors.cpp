#include "processors.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ragged {

namespace {

// The first form of the kernel's struct sched_attr, which all kernels since 3.14 take.
struct Attributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};
static_assert(sizeof(Attributes) == 48);

constexpr std::uint64_t kTurn = 100'000;  // ns, the shortest that there is

}  // namespace

Processors Processors::of_this_thread() {
  Processors result;
  if (sched_getaffinity(0, sizeof result.set_, &result.set_) != 0) CPU_ZERO(&result.set_);
  return result;
}

Processors Processors::without(int processor) const {
  Processors result = *this;
  if (processor >= 0 && processor < CPU_SETSIZE) CPU_CLR(static_cast<std::size_t>(processor), &result.set_);
  return result;
}

void Processors::hold(unsigned long thread) const { pthread_setaffinity_np(thread, sizeof set_, &set_); }

void ask_for_short_turns() {
  Attributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // keep a policy that the user has chosen
  attributes.size = sizeof attributes;
  attributes.runtime = kTurn;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace ragged
