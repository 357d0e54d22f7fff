#include "app/records.h"

#include "base/tr.h"
#include "run/unrecorded.h"

namespace berth {

Result<std::string> records_directory(const Context& context) {
  if (auto state = context.state_directory()) return *std::move(state);
  return fail(ErrorCode::not_found,
              std::string(tr("no records: neither XDG_STATE_HOME nor HOME is set")));
}

Result<RunRecord> find_run(const Context& context, const std::string& name) {
  const auto state = records_directory(context);
  if (!state) return std::unexpected(state.error());
  return load_run(*state, name.empty() ? "last" : name);
}

Result<RunRecord> find_run_under_way(Context& context, const std::string& name) {
  auto recorded = find_run(context, name);
  if (recorded || recorded.error().code() == ErrorCode::invalid) return recorded;
  std::string id = name;
  if (name.empty() || name == "last") {
    const auto state = context.state_directory();
    id = state ? unrecorded_last_run(*state).value_or("") : "";
  }
  auto run = unrecorded_run(id, context.read_ledger().claims);
  if (!run && run.error().code() == ErrorCode::not_found) return recorded;
  return run;
}

}  // namespace berth
