#include "app/records.h"

#include "base/tr.h"

namespace berth {

namespace {
volatile std::sig_atomic_t noted = 0;
}

Result<RunRecord> find_run(const Context& context, const std::string& name) {
  const auto state = context.state_directory();
  if (!state) {
    return fail(ErrorCode::not_found,
                std::string(tr("no records: neither XDG_STATE_HOME nor HOME is set")));
  }
  return load_run(*state, name.empty() ? "last" : name);
}

InterruptNote::InterruptNote() {
  noted = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) { noted = signal; };
  ::sigaction(SIGINT, &action, &before_int_);
  ::sigaction(SIGTERM, &action, &before_term_);
}

InterruptNote::~InterruptNote() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
}

int InterruptNote::signal() { return noted; }

}  // namespace berth
