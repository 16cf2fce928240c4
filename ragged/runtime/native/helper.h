// A helper thread of the team: it runs its share of a stage, spins for the next one for a short time, and sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "processors.h"
#include "stage.h"

namespace ragged {

class Helper {
 public:
  // Spin time of a helper after a run (ns). A dismissed helper sleeps at once: its processor is taken, and the scheduler
  // only favours a thread that wakes.
  static constexpr std::int64_t kAwake = 200'000;

  // Start the thread; returns null if the system refuses.
  static Helper* start();

  // Protocol of the caller of a run: `call`, wait for `is_here` until the spin time has passed, then `run` or `dismiss`.
  // `dismiss` returns false if the helper arrived meanwhile.
  bool is_asleep() const { return asleep_.load(std::memory_order_relaxed); }
  void call();
  bool is_here() const { return kind(state_.load(std::memory_order_acquire)) == kHere; }
  bool dismiss();
  void run(const Job& job, std::int64_t worker, std::int64_t workers);
  bool is_done() const { return kind(state_.load(std::memory_order_acquire)) == kIdle; }
  int result() const { return result_; }

  // Keep the thread on these processors.
  void stay_on(const Processors& processors) const { processors.hold(thread_); }

  // End the idle thread, join it, and delete the helper.
  void end();

 private:
  // `state_` is a kind and, above it, how often the helper has become idle: a helper that is called and dismissed while
  // it sleeps sees a new value.
  enum Kind : std::uint32_t { kIdle, kCalled, kHere, kRunning, kEnding };
  static constexpr std::uint32_t kKinds = 8;
  static Kind kind(std::uint32_t state) { return static_cast<Kind>(state % kKinds); }
  static std::uint32_t with(std::uint32_t state, Kind kind) { return state / kKinds * kKinds + kind; }
  static std::uint32_t next_idle(std::uint32_t state) { return (state / kKinds + 1) * kKinds; }

  static void* main(void* self);
  void loop();
  std::uint32_t wait_for_change(std::uint32_t idle, std::int64_t awake);
  void work();
  void set(Kind kind);

  alignas(64) std::atomic<std::uint32_t> state_{kIdle};
  std::atomic<bool> asleep_{false};
  Job job_{};
  std::int64_t worker_ = 0, workers_ = 0;
  int result_ = 0;
  unsigned long thread_ = 0;
};

}  // namespace ragged
