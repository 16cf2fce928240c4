// Waiting: first with the processor held, then with it given away, at last asleep.
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

// Give the processor to another thread that can run.
void give_way();

// Sleep while `word` holds `value`; may return earlier, so the caller looks again.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t value);

// Wake the thread that sleeps on `word`.
void wake(std::atomic<std::uint32_t>& word);

// Wait until `done()` holds, for something that another thread is about to do. It may have lost its processor to this
// very thread, where there are more threads than processors: hence the giving way.
template <class Done>
void wait_until(Done done) {
  constexpr int kSpins = 256;
  for (int spins = 0; !done(); ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      give_way();
    }
  }
}

// Wait until `done()` holds or the clock shows `deadline`; return whether it held.
template <class Done>
bool wait_until(Done done, std::int64_t deadline) {
  constexpr int kSpins = 16;       // between looks at the clock, which cost as much
  constexpr int kPolite = 3'000;  // after so many nanoseconds, who else can run on this processor goes first
  const std::int64_t begin = now();
  for (std::int64_t time = begin; time < deadline; time = now()) {
    for (int spins = 0; spins < kSpins; ++spins) {
      if (done()) return true;
      pause();
    }
    if (time - begin > kPolite) give_way();
  }
  return done();
}

}  // namespace ragged
