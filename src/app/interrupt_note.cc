#include "app/interrupt_note.h"

#include <algorithm>

namespace berth {

namespace {
volatile std::sig_atomic_t noted_signal = 0;
}

InterruptNote::InterruptNote() {
  noted_signal = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) { noted_signal = signal; };
  ::sigaction(SIGINT, &action, &before_int_);
  ::sigaction(SIGTERM, &action, &before_term_);
}

InterruptNote::~InterruptNote() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
}

int InterruptNote::signal() { return noted_signal; }

void InterruptNote::wait_until(Instant deadline, Clock& clock) {
  constexpr Duration step = std::chrono::milliseconds(50);
  while (signal() == 0 && clock.now() < deadline) {
    clock.wait_until(std::min<Instant>(deadline, clock.now() + step));
  }
}

}  // namespace berth
