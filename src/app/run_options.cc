#include "app/run_options.h"

#include <array>
#include <csignal>

#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

namespace {

std::optional<int> signal_by_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, int>, 6> names = {{{"TERM", SIGTERM},
                                                                      {"INT", SIGINT},
                                                                      {"HUP", SIGHUP},
                                                                      {"USR1", SIGUSR1},
                                                                      {"USR2", SIGUSR2},
                                                                      {"QUIT", SIGQUIT}}};
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const auto& [known, number] : names) {
    if (equals_ignoring_case(known, name)) return number;
  }
  return std::nullopt;
}

/// The duration of an option that was given, into `target`.
template <class Target>
Result<void> take_duration(const std::string& text, std::string_view option, Target& target) {
  if (text.empty()) return {};
  auto duration = parse_duration(text);
  if (!duration) return std::unexpected(std::move(duration).error().because(option));
  target = *duration;
  return {};
}

}  // namespace

void RunFlags::declare(Options& options) {
  request_.declare(options, MayWait::yes);
  options.flag("--json", json_, "with --dry-run: the reasoning as JSON");
  options.flag("--uuids", uuids_, "give the job UUIDs instead of indices");
  options.flag("-q,--quiet", quiet_, "say nothing but what went wrong");
  options.flag("-v,--verbose", verbose_, "say also which variables are set for the job");
  options.begin_group("The job's life");
  options.flag("-d,--detach", detach_, "leave it running, or waiting, also after logout");
  options.filled_value("--log", log_, "where a detached job's output goes", "FILE");
  options.filled_value("--time", time_, "end it after so long: a warning signal, then stop",
                       "TIME");
  options.filled_value("--warn-signal", warn_signal_,
                       "the warning: TERM, INT, HUP, USR1, USR2 or QUIT", "SIGNAL");
  options.filled_value("--warn-ahead", warn_ahead_, "how long before the limit to warn (60s)",
                       "TIME");
  options.flag("--hold", hold_, "keep the device while any process of the job lives");
  options.filled_value(
      "--linger", linger_,
      "keep the device this long after the job's last process has let go of it (60s)", "TIME");
  options.filled_value("--on-gpu-fault", on_gpu_fault_,
                       "when its device fails, what the job feels: warn (nothing), signal (USR1), "
                       "signal=TERM, stop",
                       "WHAT");
  options.filled_value(
      "--retry-on", retry_on_,
      "start it again on another device where it ended badly after gpu-lost or any "
      "gpu-fault",
      "WHAT");
  options.filled_value("--retries", retries_, "how often at most, with --retry-on (1)", "N");
}

Result<RunOptions> RunFlags::options(const Context& context,
                                     const std::vector<std::string>& command) const {
  RunOptions options;
  options.command = command;
  if (auto filled = fill_request(options); !filled) {
    return std::unexpected(std::move(filled).error());
  }
  if (auto filled = fill_times(options); !filled) return std::unexpected(std::move(filled).error());
  if (auto filled = fill_faults(options); !filled) {
    return std::unexpected(std::move(filled).error());
  }
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
  options.hold = hold_;
  return options;
}

Result<void> RunFlags::fill_request(RunOptions& options) const {
  auto request = request_.request();
  if (!request) return std::unexpected(std::move(request).error());
  options.request = std::move(*request);
  auto wait = request_.wait(std::chrono::milliseconds(0));
  if (!wait) return std::unexpected(std::move(wait).error());
  options.wait = *wait;
  auto or_cpu = request_.or_cpu();
  if (!or_cpu) return std::unexpected(std::move(or_cpu).error());
  if (or_cpu->has_value()) {
    options.where = RunWhere::gpu_or_cpu;
    options.cpu_after = **or_cpu;
  }
  if (request_.cpu()) options.where = RunWhere::cpu;
  return {};
}

Result<void> RunFlags::fill_times(RunOptions& options) const {
  if (auto taken = take_duration(time_, "--time", options.time_limit); !taken) return taken;
  if (auto taken = take_duration(warn_ahead_, "--warn-ahead", options.warning_ahead); !taken) {
    return taken;
  }
  if (auto taken = take_duration(linger_, "--linger", options.linger); !taken) return taken;
  if (warn_signal_.empty()) return {};
  const auto signal = signal_by_name(warn_signal_);
  if (!signal) {
    return fail(ErrorCode::invalid,
                trf("--warn-signal: there is no signal \"{}\"; write TERM, INT, HUP, USR1 or USR2",
                    printable(warn_signal_)));
  }
  options.warning_signal = *signal;
  return {};
}

Result<void> RunFlags::fill_faults(RunOptions& options) const {
  if (on_gpu_fault_ == "stop") {
    options.on_gpu_fault = OnGpuFault::stop;
  } else if (on_gpu_fault_ == "signal" || on_gpu_fault_.starts_with("signal=")) {
    options.on_gpu_fault = OnGpuFault::signal;
    const auto signal =
        on_gpu_fault_ == "signal" ? SIGUSR1 : signal_by_name(on_gpu_fault_.substr(7));
    if (!signal) {
      return fail(ErrorCode::invalid,
                  trf("--on-gpu-fault: there is no signal \"{}\"; write TERM, INT, HUP, USR1 or "
                      "USR2",
                      printable(on_gpu_fault_.substr(7))));
    }
    options.fault_signal = *signal;
  } else if (!on_gpu_fault_.empty() && on_gpu_fault_ != "warn") {
    return fail(ErrorCode::invalid,
                trf("--on-gpu-fault: \"{}\" is not warn, signal, signal=NAME or stop",
                    printable(on_gpu_fault_)));
  }
  return fill_retries(options);
}

Result<void> RunFlags::fill_retries(RunOptions& options) const {
  if (retry_on_.empty()) {
    if (retries_.empty()) return {};
    return fail(ErrorCode::invalid,
                std::string(tr("--retries is for --retry-on: add --retry-on gpu-lost or "
                               "--retry-on gpu-fault")));
  }
  if (retry_on_ != "gpu-lost" && retry_on_ != "gpu-fault") {
    return fail(ErrorCode::invalid,
                trf("--retry-on: \"{}\" is not gpu-lost or gpu-fault", printable(retry_on_)));
  }
  options.retry_on = retry_on_ == "gpu-lost" ? RetryOn::gpu_lost : RetryOn::gpu_fault;
  const auto retries =
      retries_.empty() ? std::optional<std::uint64_t>(1) : parse_unsigned(retries_);
  if (!retries || *retries < 1 || *retries > 100) {
    return fail(ErrorCode::invalid,
                trf("--retries: \"{}\" is not a number from 1 to 100", printable(retries_)));
  }
  options.retries = static_cast<int>(*retries);
  return {};
}

}  // namespace berth
