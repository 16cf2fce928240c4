// Waiting: spinning for a short time, then sleeping. No thread here yields: since Linux 6.18 sched_yield gives up the
// slice for milliseconds, so a team that yields loses to any other library's spinning threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace ragged {

// The spin-loop hint.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The monotonic clock (ns).
std::int64_t now();

// Sleep for the shortest time, some 60 us. An idle processor pulls waiting threads, so this helps a preempted worker.
void rest();

// Sleep while `word` holds `value`; wake-ups may be spurious.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t value);

// Wake the thread that sleeps on `word`.
void wake(std::atomic<std::uint32_t>& word);

// Wait until `done()` holds. The thread that makes it hold may have lost its processor to this one, hence the rests.
template <class Done>
void wait_until(Done done) {
  // Some 300 us, longer than a rest: otherwise two threads could wait for each other's rests for ever.
  constexpr int kSpins = 20'000;
  for (int spins = 0; !done(); ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      rest();
    }
  }
}

// Wait until `done()` holds or `deadline` has passed; return whether it holds.
template <class Done>
bool wait_until(Done done, std::int64_t deadline) {
  constexpr int kSpins = 16;       // between looks at the clock, which cost as much
  while (now() < deadline) {
    for (int spins = 0; spins < kSpins; ++spins) {
      if (done()) return true;
      pause();
    }
  }
  return done();
}

}  // namespace ragged
