#include "team.h"

#include <pthread.h>

#include <algorithm>

#include "wait.h"

namespace ragged {

namespace {

// Never deleted: helpers may run while the process ends. A child of fork has none of its parent's threads, and what
// they held is as they left it, so it forgets the team.
Team* the_team = nullptr;

void forget() { the_team = nullptr; }

}  // namespace

Team& Team::of_process() {
  static const int registered = pthread_atfork(nullptr, nullptr, &forget);
  (void)registered;
  if (the_team == nullptr) the_team = new Team;
  return *the_team;
}

Team::Outcome Team::run(Job& job, std::int64_t workers, std::int64_t patience) {
  if (workers <= 1 || patience <= 0 || busy_.exchange(true, std::memory_order_acquire)) return {job.run(0, 1), 1};
  gather(workers, patience);
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

// Put those who come in time into `here_`.
void Team::gather(std::int64_t workers, std::int64_t patience) {
  here_.clear();
  while (static_cast<std::int64_t>(helpers_.size()) < workers - 1) {
    Helper* helper = Helper::start();
    if (helper == nullptr) break;
    helpers_.push_back(helper);
  }
  const auto wanted = std::min(helpers_.size(), static_cast<std::size_t>(workers - 1));
  for (std::size_t i = 0; i < wanted; ++i) {
    if (patience < kWaking && helpers_[i]->is_asleep()) continue;
    helpers_[i]->call();
    here_.push_back(helpers_[i]);
  }
  const std::int64_t deadline = now() + std::max(patience, kComing);
  std::erase_if(here_, [deadline](Helper* helper) {
    return !wait_until([helper] { return helper->is_here(); }, deadline) && helper->dismiss();
  });
}

bool Team::disband() {
  if (busy_.exchange(true, std::memory_order_acquire)) return false;
  for (Helper* helper : helpers_) helper->end();
  helpers_.clear();
  busy_.store(false, std::memory_order_release);
  return true;
}

}  // namespace ragged
