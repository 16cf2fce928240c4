// A thread that is kept for the stages of calls: it runs its part of one, stays awake a little for the next, and
// sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "processors.h"
#include "stage.h"

namespace ragged {

class Helper {
 public:
  // How long a helper stays awake after a run (ns). Who was called in vain sleeps at once: its processor is taken, and
  // only one who sleeps is given it when called again.
  static constexpr std::int64_t kAwake = 200'000;

  // Start the thread; returns null if the system has none to give.
  static Helper* start();

  // What the caller of a run does, in this order: it calls, and waits until the helper is here or it loses patience;
  // who is not here then is dismissed. Dismissing returns false if the helper came in the last moment.
  bool is_asleep() const { return asleep_.load(std::memory_order_relaxed); }
  void call();
  bool is_here() const { return kind(state_.load(std::memory_order_acquire)) == kHere; }
  bool dismiss();
  void run(const Job& job, std::int64_t worker, std::int64_t workers);
  bool is_done() const { return kind(state_.load(std::memory_order_acquire)) == kIdle; }
  int result() const { return result_; }

  // Keep the thread on these processors.
  void stay_on(const Processors& processors) const { processors.hold(thread_); }

  // End the thread, which runs nothing; returns when it has ended, and deletes the helper.
  void end();

 private:
  // `state_` is a kind and, above it, the number of times that the helper has become idle: so that one who is
  // called and dismissed in its sleep sees a new value.
  enum Kind : std::uint32_t { kIdle, kCalled, kHere, kRunning, kEnding };
  static constexpr std::uint32_t kKinds = 8;
  static Kind kind(std::uint32_t state) { return static_cast<Kind>(state % kKinds); }
  static std::uint32_t with(std::uint32_t state, Kind kind) { return state / kKinds * kKinds + kind; }
  static std::uint32_t next_idle(std::uint32_t state) { return (state / kKinds + 1) * kKinds; }

  static void* main(void* self);
  void live();
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
