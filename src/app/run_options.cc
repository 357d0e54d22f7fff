#include "app/run_options.h"

#include "base/fd.h"
#include "base/tr.h"

namespace berth {

void RunFlags::declare(Options& options) {
  request_.declare(options, MayWait::yes);
  options.flag("--json", json_, "with --dry-run: the reasoning as JSON");
  options.flag("--uuids", uuids_, "give the job UUIDs instead of indices");
  options.flag("-q,--quiet", quiet_, "say nothing but what went wrong");
  options.flag("-v,--verbose", verbose_, "say also which variables are set for the job");
  options.begin_group("The job's life");
  options.flag("-d,--detach", detach_, "leave it running, or waiting, also after logout");
  options.filled_value("--log", log_, "where a detached job's output goes", "FILE");
  request_.declare_life(options);
}

Result<RunOptions> RunFlags::options(const Context& context,
                                     const std::vector<std::string>& command) const {
  RunOptions options;
  auto job = request_.job(context);
  if (!job) return std::unexpected(std::move(job).error());
  options.job = std::move(*job);
  options.job.command = command;
  options.visible_format = uuids_ ? VisibleFormat::uuids : VisibleFormat::indices;
  options.environment = context.environment();
  options.working_directory = read_link("/proc/self/cwd").value_or("");
  options.state_directory = context.state_directory().value_or("");
  options.detach = detach_;
  if (!log_.empty() && !detach_) {
    return fail(
        ErrorCode::invalid,
        std::string(tr("--log is for --detach: here the output is the job's own; add -d, or "
                       "write > FILE")));
  }
  if (!log_.empty()) {
    options.log = log_.starts_with('/') ? log_ : options.working_directory + "/" + log_;
  }
  return options;
}

}  // namespace berth
