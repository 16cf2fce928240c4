// Waiting: with the processor held, for a short time, and then without it. Nobody here yields: since Linux 6.18 who
// yields gives up his turn for milliseconds, so a team that yields loses to any other library's spinning threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace ragged {

// Say to the processor that this thread only looks at memory, over and over.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Nanoseconds of a clock that is never set back.
std::int64_t now();

// Sleep for the time that it takes to wake, some 60 us. A processor that has nothing else to do fetches a thread that waits
// for another one: so who rests here helps one whose processor was taken.
void rest();

// Sleep while `word` holds `value`; may return earlier, so the caller looks again.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t value);

// Wake the thread that sleeps on `word`.
void wake(std::atomic<std::uint32_t>& word);

// Wait until `done()` holds, for something that another thread is doing. It may have lost its processor, even to this
// very thread where there are more threads than processors: hence the rests.
template <class Done>
void wait_until(Done done) {
  // Some 300 us. It must be longer than a rest: else two who are never late by more than that would wait for each
  // other's rests for ever.
  constexpr int kSpins = 20'000;
  for (int spins = 0; !done(); ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      rest();
    }
  }
}

// Wait until `done()` holds or the clock shows `deadline`; return whether it held.
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
