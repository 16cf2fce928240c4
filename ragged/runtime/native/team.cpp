#include "team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

#include "wait.h"

namespace ragged {

namespace {

// Never deleted: helpers may run while the process ends. A child of fork has none of its parent's threads, and their
// locks are in an unknown state, so it drops the team.
Team* the_team = nullptr;

void forget() { the_team = nullptr; }

}  // namespace

Team& Team::of_process() {
  static const int registered = pthread_atfork(nullptr, nullptr, &forget);
  (void)registered;
  if (the_team == nullptr) the_team = new Team;
  return *the_team;
}

Team::Outcome Team::run(Job& job, std::int64_t workers, std::int64_t spin_ns) {
  if (workers <= 1 || spin_ns <= 0 || busy_.exchange(true, std::memory_order_acquire)) return {job.run(0, 1), 1};
  gather(workers, spin_ns);
  const auto all = static_cast<std::int64_t>(here_.size()) + 1;
  std::int64_t number = 0;
  for (Helper* helper : here_) helper->run(job, ++number, all);
  int result = job.run(0, all);
  for (Helper* helper : here_) {
    wait_until([helper] { return helper->is_done(); });
    if (result == 0) result = helper->result();
  }
  busy_.store(false, std::memory_order_release);
  return {result, all};
}

// Keep helpers off the caller's processor: woken there, they would wait for the caller while it waits for them. The
// current processor costs nothing to read; the affinity costs a system call, so it is read once in kTrusted runs.
void Team::spread() {
  constexpr int kTrusted = 64;
  const int processor = sched_getcpu();
  if (processor == processor_ && ++asked_ % kTrusted != 0) return;
  const Processors processors = Processors::of_this_thread();
  if (processor == processor_ && processors == processors_) return;
  processor_ = processor;
  processors_ = processors;
  const Processors others = processors.count() > 1 ? processors.without(processor) : processors;
  if (others.count() == 0) return;
  for (const Helper* helper : helpers_) helper->stay_on(others);
}

// Put the helpers that are ready in time into `here_`.
void Team::gather(std::int64_t workers, std::int64_t spin_ns) {
  here_.clear();
  spread();
  if (spin_ns < kForever) {
    if (processors_.count() > 0) workers = std::min(workers, static_cast<std::int64_t>(processors_.count()));
    if (workers <= 1 || now() < try_again_) return;
  }
  const std::size_t before = helpers_.size();
  while (static_cast<std::int64_t>(helpers_.size()) < workers - 1) {
    Helper* helper = Helper::start();
    if (helper == nullptr) break;
    helpers_.push_back(helper);
  }
  if (helpers_.size() > before) {
    processor_ = -1;
    spread();
  }
  const auto wanted = std::min(helpers_.size(), static_cast<std::size_t>(workers - 1));
  for (std::size_t i = 0; i < wanted; ++i) {
    if (spin_ns < kWaking && helpers_[i]->is_asleep()) continue;
    helpers_[i]->call();
    here_.push_back(helpers_[i]);
  }
  if (here_.empty()) return;
  const std::int64_t begin = now();
  const std::int64_t deadline = begin + std::max(spin_ns, kComing);
  std::erase_if(here_, [deadline](Helper* helper) {
    return !wait_until([helper] { return helper->is_here(); }, deadline) && helper->dismiss();
  });
  if (here_.empty()) try_again_ = begin + (kLostPart * (deadline - begin));
}

bool Team::disband() {
  if (busy_.exchange(true, std::memory_order_acquire)) return false;
  for (Helper* helper : helpers_) helper->end();
  helpers_.clear();
  busy_.store(false, std::memory_order_release);
  return true;
}

}  // namespace ragged
