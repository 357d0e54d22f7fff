#pragma once
// What the verbs that name a run share: finding it.

#include <functional>
#include <string>

#include "app/context.h"
#include "base/result.h"
#include "record/run_record.h"
#include "run/container/left.h"

namespace berth {

/// The directory of the records. The error says what is not set.
[[nodiscard]] Result<std::string> records_directory(const Context& context);

/// The run named on the command line; empty: "last". The error says where it was looked for.
[[nodiscard]] Result<RunRecord> find_run(Context& context, const std::string& name);

/// The same for an act on a run under way, which may have no record. Then its lease finds it, or
/// the processes that carry its id.
[[nodiscard]] Result<RunRecord> find_run_under_way(Context& context, const std::string& name);

/// for_each_sample(), which shows how far it is: ten days take some seconds.
[[nodiscard]] Result<SamplesRead> read_samples(const Context& context, const RunRecord& run,
                                               const std::function<void(const Sample&)>& each);

/// Containers of this user's ended runs that live on without a lease.
[[nodiscard]] std::vector<LeftContainer> containers_left(const Context& context);
/// A line for each on stderr.
void say_containers_left(const Context& context);

}  // namespace berth
