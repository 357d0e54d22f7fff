// Waits for a GPU inside an event loop that has other things to do. The first argument says for how
// many milliseconds at most.
//
// berth gives the loop a descriptor and never blocks it. The place in the queue ends with `place`:
// after Ctrl-C, too, since a killed process leaves the queue.

#include <poll.h>

#include <berth/berth.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

int main(int count, char** arguments) {
  const std::chrono::milliseconds patience(count > 1 ? std::atoi(arguments[1]) : 60'000);
  auto berth = berth::Berth::open();
  auto place = berth ? berth->wait(berth::Request(), patience) : berth.error();
  if (!place) {
    std::fprintf(stderr, "%s\n", place.error().message().c_str());
    return 1;
  }

  std::optional<berth::Lease> lease;
  while (!lease) {
    pollfd ready = {place->descriptor(), POLLIN, 0};  // yours stand beside it
    if (poll(&ready, 1, -1) < 0) continue;            // a signal: look at your flags here
    auto step = place->step();
    if (!step) {
      // BERTH_E_NONE_FREE: the time is over.
      std::fprintf(stderr, "%s\n", step.error().message().c_str());
      return step.error().code() == BERTH_E_NONE_FREE ? 2 : 1;
    }
    lease = std::move(*step);
    if (!lease) std::printf("still waiting: %s\n", place->news_json().c_str());
  }
  std::printf("got %s\n", lease->devices().front().name.c_str());
  return 0;
}
