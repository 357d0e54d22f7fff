// Many processes race for eight devices; and a head of the queue that is stopped.
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>

#include "base/process.h"
#include "base/text.h"
#include "stress/jobs.h"

namespace berth::stress {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

int job(const Scene& scene, int number, milliseconds hold) {
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock);
  const TakeSnapshot look = [] { return Result<Snapshot>(eight_devices()); };
  const AcquireOptions options = options_for(std::to_string(number), 1, std::nullopt);
  auto answer = acquire(ledger, look, clock, options);
  if (!answer) give_up(answer.error().message());
  auto* got = std::get_if<Acquired>(&*answer);
  if (got == nullptr) give_up("job " + options.claim.run + " was sent away");
  const DeviceId device = got->placement.chosen.at(0).device;
  take_token(scene, device);
  // The order's rule, on the view that the choice was made on. As many devices must be left free as
  // there are earlier waiters.
  const auto& waiters = got->snapshot.waiters;
  const auto me = std::find_if(waiters.begin(), waiters.end(), [](const Waiter& waiter) {
    return waiter.process == own_process_id();
  });
  const auto earlier = static_cast<std::size_t>(me - waiters.begin());
  expect(got->snapshot.claims.size() + earlier < 8, "started before an earlier one that could");
  log_line(scene, "started " + options.claim.run);
  clock.wait_until(clock.now() + hold);
  return_token(scene, device);
  if (auto ended = got->lease.end(ledger); !ended) give_up(ended.error().message());
  return 0;
}

/// Takes every inotify instance that this user has left, until the process ends.
std::vector<Fd> take_all_inotify_instances() {
  std::vector<Fd> taken;
  while (true) {
    Fd fd(::inotify_init1(IN_CLOEXEC));
    if (!fd.is_open()) return taken;
    taken.push_back(std::move(fd));
  }
}

double cpu_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

/// Tickets by job, as seen while they waited. Their names sort as they came.
using Arrivals = std::map<std::string, std::string>;

void note_arrivals(const Ledger& ledger, Arrivals& arrivals) {
  const auto view = ledger.read();
  if (!view) give_up(view.error().message());
  for (const Waiter& waiter : view->waiters) arrivals.emplace(waiter.command, waiter.id);
}

/// How far any job started from where its arrival put it. A job that sleeps while its device is
/// kept for it is overtaken on the others. Each job writes its start down just after the fact. So
/// this shows that nobody is forgotten; job() shows that nobody is robbed.
long worst_displacement(const std::vector<std::string>& lines, const Arrivals& arrivals) {
  std::vector<std::string> came;
  for (const auto& [job, ticket] : arrivals) came.push_back(ticket);
  std::sort(came.begin(), came.end());
  long started = 0;
  long worst = 0;
  for (const std::string& line : lines) {
    const auto found = arrivals.find("stress " + line.substr(line.find(' ') + 1));
    if (found == arrivals.end()) continue;
    const auto place = std::lower_bound(came.begin(), came.end(), found->second) - came.begin();
    worst = std::max(worst, std::labs(static_cast<long>(place) - started));
    ++started;
  }
  return worst;
}

}  // namespace

int race(int jobs, bool without_inotify, milliseconds hold) {
  const Scene scene = make_scene();
  SystemClock clock;
  const Ledger ledger = open_ledger(scene, clock);
  const auto taken = without_inotify ? take_all_inotify_instances() : std::vector<Fd>();
  const Instant began = clock.now();
  std::vector<pid_t> children;
  for (int i = 0; i < jobs; ++i) children.push_back(start([&] { return job(scene, i, hold); }));
  Arrivals arrivals;
  while (static_cast<int>(log_lines(scene).size()) < jobs && clock.now() - began < seconds(120)) {
    note_arrivals(ledger, arrivals);
    clock.wait_until(clock.now() + milliseconds(50));
  }
  int failed = 0;
  for (const pid_t child : children) failed += finish(child) == 0 ? 0 : 1;
  const auto took = duration_cast<milliseconds>(clock.now() - began);
  const auto lines = log_lines(scene);
  const auto starts = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("started");
  });
  const long displaced = worst_displacement(lines, arrivals);
  const auto left = left_over(scene);
  const double cpu = cpu_of_children();
  std::printf(
      "race: %d jobs, %ld started, %d failed, %.1f s wall, %.2f s CPU of all jobs together, "
      "%zu seen waiting, order off by at most %ld, %zu files left over, %zu inotify instances "
      "taken away\n",
      jobs, static_cast<long>(starts), failed, static_cast<double>(took.count()) / 1000, cpu,
      arrivals.size(), displaced, left.size(), taken.size());
  std::fflush(stdout);
  expect(failed == 0, "jobs failed");
  expect(starts == jobs, "not every job started exactly once");
  expect(left.empty(), "left over: " + (left.empty() ? "" : left.front()));
  expect(arrivals.size() * 4 >= static_cast<std::size_t>(jobs), "too few were seen waiting");
  expect(displaced <= std::max(24, jobs / 2), "somebody was forgotten");
  expect(list_directory(scene.tokens)->empty(), "a token was left behind");
  remove_scene(scene);
  return 0;
}

int stopped_head() {
  const Scene scene = make_scene();
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock);
  const TakeSnapshot look = [] { return Result<Snapshot>(eight_devices()); };
  auto all = acquire(ledger, look, clock, options_for("all", 8, milliseconds(0)));
  if (!all || !std::holds_alternative<Acquired>(*all)) give_up("cannot take all devices");

  std::vector<pid_t> children;
  for (int i = 0; i < 12; ++i) {
    children.push_back(start([&] { return job(scene, i, milliseconds(20)); }));
    while (ledger.read()->waiters.size() != children.size()) {
      clock.wait_until(clock.now() + milliseconds(2));
    }
  }
  // The first six: more than look at GPUs at a time.
  for (std::size_t i = 0; i < 6; ++i) ::kill(children[i], SIGSTOP);
  clock.wait_until(clock.now() + milliseconds(300));
  const Instant freed = clock.now();
  static_cast<void>(std::get<Acquired>(*all).lease.end(ledger));
  int failed = 0;
  for (std::size_t i = 6; i < 12; ++i) failed += finish(children[i]) == 0 ? 0 : 1;
  const auto cost = duration_cast<milliseconds>(clock.now() - freed);
  const auto kept = ledger.read()->waiters;
  const bool kept_place = kept.size() == 6 && kept.front().command == "stress 0";
  for (std::size_t i = 0; i < 6; ++i) ::kill(children[i], SIGCONT);
  for (std::size_t i = 0; i < 6; ++i) failed += finish(children[i]) == 0 ? 0 : 1;
  std::printf("stopped head: six stopped waiters cost the six behind them %.2f s\n",
              static_cast<double>(cost.count()) / 1000);
  expect(failed == 0, "jobs failed");
  expect(kept_place, "the stopped ones lost their places");
  expect(cost <= milliseconds(5500), "a stopped head costs more than 5 s");
  expect(left_over(scene).empty(), "files left over");
  remove_scene(scene);
  return 0;
}

}  // namespace berth::stress
