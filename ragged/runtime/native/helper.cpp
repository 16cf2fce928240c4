#include "helper.h"

#include <pthread.h>
#include <signal.h>

#include "wait.h"

namespace ragged {

Helper* Helper::start() {
  auto* helper = new Helper;
  // Signals go to the threads of the program, not to helpers.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&helper->thread_, nullptr, &Helper::main, helper);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) {
    delete helper;
    return nullptr;
  }
  pthread_setname_np(helper->thread_, "ragged-team");
  return helper;
}

void Helper::call() { set(kCalled); }

bool Helper::dismiss() {
  std::uint32_t state = with(state_.load(std::memory_order_relaxed), kCalled);
  return state_.compare_exchange_strong(state, next_idle(state));
}

void Helper::run(const Job& job, std::int64_t worker, std::int64_t workers) {
  job_ = job;
  worker_ = worker;
  workers_ = workers;
  state_.store(with(state_.load(std::memory_order_relaxed), kRunning), std::memory_order_release);
}

void Helper::end() {
  set(kEnding);
  pthread_join(thread_, nullptr);
  delete this;
}

// Sequentially consistent, as `asleep_` in `wait_for_change`: either the helper sees the new state before it sleeps, or
// this thread sees it asleep and wakes it.
void Helper::set(Kind kind) {
  state_.store(with(state_.load(std::memory_order_relaxed), kind));
  if (asleep_.load()) wake(state_);
}

void* Helper::main(void* self) {
  static_cast<Helper*>(self)->loop();
  return nullptr;
}

void Helper::loop() {
  ask_for_short_turns();
  std::uint32_t idle = kIdle;
  std::int64_t awake = kAwake;
  for (;;) {
    std::uint32_t state = wait_for_change(idle, awake);
    awake = kAwake;
    switch (kind(state)) {
      case kEnding:
        return;
      case kCalled:
        if (state_.compare_exchange_strong(state, with(state, kHere))) work();
        idle = with(state_.load(std::memory_order_relaxed), kIdle);
        break;
      default:  // called, and dismissed
        idle = state;
        awake = 0;
    }
  }
}

std::uint32_t Helper::wait_for_change(std::uint32_t idle, std::int64_t awake) {
  const auto changed = [&] { return state_.load(std::memory_order_acquire) != idle; };
  if (!wait_until(changed, now() + awake)) {
    asleep_.store(true);
    while (state_.load() == idle) sleep_on(state_, idle);  // spurious wake-ups
    asleep_.store(false);
  }
  return state_.load(std::memory_order_acquire);
}

void Helper::work() {
  wait_until([&] { return kind(state_.load(std::memory_order_acquire)) == kRunning; });
  result_ = job_.run(worker_, workers_);
  state_.store(next_idle(state_.load(std::memory_order_relaxed)), std::memory_order_release);
}

}  // namespace ragged
