#include "app/interrupt_note.h"

#include <algorithm>

namespace berth {

namespace {
volatile std::sig_atomic_t noted_signal = 0;
}

InterruptNote::InterruptNote() {
  noted_signal = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) {
    // A second one is for whoever is kept waiting, by a driver that does not answer say.
    if (noted_signal != 0) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);
    }
    noted_signal = signal;
  };
  for (std::size_t i = 0; i < noted.size(); ++i) {
    ::sigaction(noted[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(noted[i], &action, nullptr);
  }
}

InterruptNote::~InterruptNote() {
  for (std::size_t i = 0; i < noted.size(); ++i) ::sigaction(noted[i], &before_[i], nullptr);
}

int InterruptNote::signal() { return noted_signal; }

void InterruptNote::wait_until(Instant deadline, Clock& clock) {
  constexpr Duration step = std::chrono::milliseconds(50);
  while (signal() == 0 && clock.now() < deadline) {
    clock.wait_until(std::min<Instant>(deadline, clock.now() + step));
  }
}

}  // namespace berth
