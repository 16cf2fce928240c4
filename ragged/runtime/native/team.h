// The team of a process: whoever calls, and helpers that are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "helper.h"
#include "stage.h"

namespace ragged {

// One for the process, shared by all compiled functions. It has one run at a time; a call that finds it busy runs
// with one worker, in its own thread: the processors are taken as it is, and nobody ever waits for another call.
class Team {
 public:
  // A helper that sleeps takes about this long to come, so it is called only by who would wait as long (ns).
  static constexpr std::int64_t kWaking = 20'000;
  // Who is awake comes at once, unless its processor was taken from it (ns).
  static constexpr std::int64_t kComing = 3'000;

  // Of the time of calls, what is waited in vain is at most one part of so many: helpers whose processors others hold are
  // not called again before. Others hold them for milliseconds.
  static constexpr std::int64_t kLostPart = 10;
  // Who is as patient as this (ns) has all the workers that it asks for, also more than there are processors.
  static constexpr std::int64_t kForever = 1'000'000'000;

  // The team of this process; after a fork the child has one of its own, without helpers. Call it with the GIL held:
  // then no other thread is at it while one forks.
  static Team& of_process();

  // Run `job` with at most `workers` workers; the caller is worker 0. Helpers who are not here after `patience`
  // nanoseconds are done without: a run has as many workers as come, the caller alone if it has no patience, and no more
  // than processors that its thread may use. Returns the first result of the stage that is not zero, or zero, and how
  // many workers there were.
  struct Outcome {
    int result;
    std::int64_t workers;
  };
  Outcome run(Job& job, std::int64_t workers, std::int64_t patience);

  // End all helpers. Returns false if a run is under way, and then changes nothing.
  bool disband();

  std::size_t helpers() const { return helpers_.size(); }

 private:
  void gather(std::int64_t workers, std::int64_t patience);
  void spread();

  std::atomic<bool> busy_{false};
  std::vector<Helper*> helpers_;  // touched only by who has set `busy_`
  std::vector<Helper*> here_;
  std::int64_t try_again_ = 0;  // when helpers are called again after they did not come

  // Where the calling thread was when helpers were spread, where it might have been, and how often it was asked since.
  int processor_ = -1;
  Processors processors_;
  int asked_ = 0;
};

}  // namespace ragged
