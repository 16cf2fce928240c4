// The worker team of a process: the calling thread and resident helper threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "helper.h"
#include "stage.h"

namespace ragged {

// One team for all compiled functions. It has one run at a time; a call that finds it busy runs with one worker, its own
// thread, so no call waits for another one.
class Team {
 public:
  // Time to wake a sleeping helper (ns); a shorter spin time calls awake helpers alone.
  static constexpr std::int64_t kWaking = 20'000;
  // Time in which an awake helper answers, unless its processor was taken (ns).
  static constexpr std::int64_t kComing = 3'000;

  // Failed waits take at most 1 / kLostPart of the time: a helper that did not come, because another thread has its
  // processor for milliseconds, is not called again before that.
  static constexpr std::int64_t kLostPart = 10;
  // With this spin time (ns) or more a run has all workers that it asks for, even more than there are processors.
  static constexpr std::int64_t kForever = 1'000'000'000;

  // The team of this process; after a fork the child has a new one. Needs the GIL, so that no thread uses it during a
  // fork.
  static Team& of_process();

  // Run `job` with at most `workers` workers, and no more than processors that the calling thread, worker 0, may use.
  // Helpers that are not ready after `spin_ns` nanoseconds are dismissed; with `spin_ns` 0 the caller runs alone. Returns
  // the first non-zero result of the stage, or zero, and the number of workers.
  struct Outcome {
    int result;
    std::int64_t workers;
  };
  Outcome run(Job& job, std::int64_t workers, std::int64_t spin_ns);

  // End all helpers. Returns false, and changes nothing, during a run.
  bool disband();

  std::size_t helpers() const { return helpers_.size(); }

 private:
  void gather(std::int64_t workers, std::int64_t spin_ns);
  void spread();

  std::atomic<bool> busy_{false};
  std::vector<Helper*> helpers_;  // guarded by `busy_`
  std::vector<Helper*> here_;
  std::int64_t try_again_ = 0;  // when helpers are called again after they did not come

  // The caller's processor and affinity when helpers' affinities were set, and the number of runs since.
  int processor_ = -1;
  Processors processors_;
  int asked_ = 0;
};

}  // namespace ragged
