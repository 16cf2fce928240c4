// The worker team without Python, for the sanitizers: runs with barriers, by up to 64 workers on whatever processors there
// are, several callers at once, forks, and an end. Prints the number of runs; exits with 1 where a result is wrong.
// Arguments: `no-fork` leaves out forks (ThreadSanitizer ends a process that forks with threads and starts others);
// `race` and `overflow` plant that fault, which a sanitizer has to report.
#include "team.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "wait.h"

namespace {

using namespace ragged;

std::atomic<std::int64_t> runs{0};
bool race = false, overflow = false;  // planted faults

// What a stage works on: a part for each worker, written before a barrier and read after it by the next one.
struct Data {
  std::int64_t size;
  std::vector<std::int64_t> parts, sums;
  alignas(64) std::atomic<std::int64_t> tickets{0};

  explicit Data(std::int64_t n) : size(n), parts(128), sums(128) {}
};

void barrier(Data& data, std::int64_t workers) {
  if (workers == 1 || race) return;
  const std::int64_t mine = data.tickets.fetch_add(1, std::memory_order_acq_rel);
  const std::int64_t last = (mine / workers + 1) * workers;
  wait_until([&] { return data.tickets.load(std::memory_order_acquire) >= last; });
}

int stage(void*, const Value* arguments, std::int32_t count, Value*) {
  auto& data = *reinterpret_cast<Data*>(arguments[0].payload);
  const std::int64_t worker = arguments[count - 2].payload, workers = arguments[count - 1].payload;
  std::int64_t sum = 0;
  for (std::int64_t i = worker * data.size / workers; i < (worker + 1) * data.size / workers; ++i) sum += i;
  data.parts[static_cast<std::size_t>(worker)] = sum;
  for (int round = 0; round < 3; ++round) {
    barrier(data, workers);
    std::int64_t all = 0;
    for (std::int64_t k = 0; k < workers; ++k) all += data.parts[static_cast<std::size_t>(k)];
    data.sums[static_cast<std::size_t>(worker)] = all;
    barrier(data, workers);
    data.parts[static_cast<std::size_t>(worker)] += round;
  }
  if (overflow) data.sums.data()[data.sums.size()] = 0;
  return data.size < 0 ? 1 : 0;
}

// One call, as a frame makes one: arguments of its own, then the status words and two slots for the worker.
void call(std::int64_t size, std::int64_t workers, std::int64_t spin_ns) {
  static FunctionObject function{1, 0, 0, nullptr, &stage};
  Data data(size);
  Job job{&function, {Value::pointer(reinterpret_cast<std::int64_t>(&data)), Value{}, Value{}, Value{}}};
  const Team::Outcome outcome = Team::of_process().run(job, workers, spin_ns);
  const std::int64_t expected = size * (size - 1) / 2 + outcome.workers;
  for (std::int64_t k = 0; k < outcome.workers; ++k) {
    if (data.sums[static_cast<std::size_t>(k)] != expected || outcome.result != 0) {
      std::fprintf(stderr, "worker %ld of %ld: %ld is not %ld\n", k, outcome.workers,
                   data.sums[static_cast<std::size_t>(k)], expected);
      std::exit(1);
    }
  }
  ++runs;
}

void fork_once() {
  const pid_t child = fork();
  if (child == 0) {
    if (Team::of_process().helpers() != 0) _exit(2);
    call(100, 3, Team::kForever);
    _exit(Team::of_process().disband() ? 0 : 3);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "a child of fork ended with %d\n", status);
    std::exit(1);
  }
  ++runs;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  race = what == "race";
  overflow = what == "overflow";
  for (const std::int64_t workers : {1, 2, 3, 8, 64}) {
    for (int i = 0; i < 20; ++i) call(1000 + i, workers, Team::kForever);
  }
  for (const std::int64_t spin_ns : {0, 1'000, 30'000, 300'000}) {
    for (int i = 0; i < 100; ++i) {
      if (i % 10 == 0) usleep(300);  // helpers fall asleep
      call(100 + i, 4, spin_ns);
    }
  }
  std::vector<std::thread> callers;
  for (int k = 0; k < 6; ++k) {
    callers.emplace_back([k] {
      for (int i = 0; i < 60; ++i) call(50 + k + i, 1 + (k + i) % 5, i % 2 == 0 ? Team::kForever : 20'000);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int i = 0; i < 3 && what.empty(); ++i) fork_once();
  if (!Team::of_process().disband()) return 1;
  call(10, 2, Team::kForever);  // a team that was disbanded starts again
  if (!Team::of_process().disband()) return 1;
  std::printf("%ld runs\n", runs.load());
  return 0;
}
