// lease_stress: proofs of the ledger and the queue with real processes. Prints a line per proof;
// exits 0 (shown), 1 (broken) or 77 (cannot be shown here, and says why).
#include <cstdio>
#include <string>

#include "base/text.h"
#include "lease/setup.h"
#include "stress/jobs.h"

int main(int argc, char** argv) {
  using namespace berth;
  using namespace berth::stress;
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, int otherwise) {
    const auto value = argc > at ? parse_unsigned(argv[at]) : std::nullopt;
    return value ? static_cast<int>(*value) : otherwise;
  };
  const std::chrono::milliseconds hold(number(3, 30));
  if (what == "race") return race(number(2, 500), false, hold);
  if (what == "race-without-inotify") return race(number(2, 500), true, hold);
  if (what == "stopped-head") return stopped_head();
  if (what == "kill-claimer") return kill_points(false);
  if (what == "kill-waiter") return kill_points(true);
  if (what == "two-users") return two_users();
  if (what == "job" && argc == 6) {
    const std::chrono::milliseconds time(number(4, 0));
    return device_job(argv[2], argv[3], time, static_cast<std::uint64_t>(number(5, 0)));
  }
  if (what == "bare" && argc > 5) {
    return bare_job(argv[2], argv[3], std::chrono::milliseconds(number(4, 0)),
                    {argv + 5, argv + argc});
  }
  if (what == "make-ledger" && argc == 3) {
    const auto made = make_shared_ledger({.root = argv[2]});
    if (!made) give_up(made.error().message());
    return 0;
  }
  std::fprintf(stderr,
               "usage: lease_stress race|race-without-inotify [JOBS [HOLD_MS]]\n"
               "       lease_stress stopped-head|kill-claimer|kill-waiter|two-users\n"
               "       lease_stress job FOLDER KIND MS GIB|make-ledger ROOT\n");
  return 2;
}
