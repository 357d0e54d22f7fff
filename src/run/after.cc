#include "run/after.h"

#include <fmt/ranges.h>

#include <utility>

#include "base/text.h"
#include "record/run_record.h"

namespace berth {

namespace {

constexpr Duration asked_every = std::chrono::milliseconds(500);

std::unexpected<Error> not_well(const std::string& run, const Sentence& how) {
  return fail(ErrorCode::invalid,
              "--after {}: that run {}, and this one is only for when it has ended well", run, how);
}

}  // namespace

Result<AfterState> state_of_run_before(const std::string& state_directory, const std::string& run) {
  auto record = load_run(state_directory, run);
  if (!record) return std::unexpected(std::move(record).error().at("--after " + run));
  switch (record->state) {
    case RunState::waiting:
    case RunState::running:
      return AfterState::unfinished;
    case RunState::end_unknown:
      return not_well(run, sentence("has gone without a word of its end"));
    case RunState::elsewhere:
      return not_well(run, sentence("is another machine's"));
    case RunState::ended:
      break;
  }
  const auto& end = record->end;
  if (!end || !end->known || end->gave_back) {
    return not_well(run, sentence("has gone without a word of its end"));
  }
  if (end->exit == Exit{} && end->because.empty()) return AfterState::ended_well;
  if (!end->because.empty()) return not_well(run, sentence("ended: {}", Sentence(end->because)));
  if (end->exit.signal != 0)
    return not_well(run, sentence("was ended by signal {}", end->exit.signal));
  return not_well(run, sentence("ended with {}", end->exit.code));
}

Result<void> await_runs(const std::vector<std::string>& runs, const std::string& state_directory,
                        Clock& clock, const std::function<bool()>& interrupted,
                        const std::function<void(const Sentence&)>& waits) {
  std::vector<std::string> left = runs;
  for (bool is_told = false;; is_told = true) {
    std::vector<std::string> unfinished;
    for (const std::string& run : left) {
      const auto state = state_of_run_before(state_directory, run);
      if (!state) return std::unexpected(state.error());
      if (*state == AfterState::unfinished) unfinished.push_back(run);
    }
    if (unfinished.empty()) return {};
    if (!is_told)
      waits(sentence("waits until {} has ended well",
                     fmt::format("{}", fmt::join(unfinished, ", "))));
    if (interrupted()) return fail(ErrorCode::timeout, "interrupted");
    left = std::move(unfinished);
    (void)clock.wait_readable(-1, clock.now() + asked_every);
  }
}

}  // namespace berth
