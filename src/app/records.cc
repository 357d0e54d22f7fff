#include "app/records.h"

#include "base/tr.h"

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

}  // namespace berth
