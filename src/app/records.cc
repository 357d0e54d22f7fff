#include "app/records.h"

#include "base/tr.h"

namespace berth {

Result<RunRecord> find_run(const Context& context, const std::string& name) {
  const auto state = context.state_directory();
  if (!state) {
    return fail(ErrorCode::not_found,
                std::string(tr("no records: neither XDG_STATE_HOME nor HOME is set")));
  }
  return load_run(*state, name.empty() ? "last" : name);
}

}  // namespace berth
