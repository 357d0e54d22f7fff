#include "app/request_options.h"

#include "app/context.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "place/visible_devices.h"

namespace berth {

void RequestOptions::declare(Options& options, MayWait may_wait) {
  options.begin_group("Which device");
  options.filled_value("-n,--devices", devices_, "how many devices", "N");
  options.filled_value("--memory", memory_,
                       "share: 10G or 50% promised on each; without it the device is whole",
                       "SIZE");
  options.filled_value("--only", only_,
                       "among these: index, UUID, PCI address or name glob, comma-separated",
                       "LIST");
  options.filled_value("--except", except_, "none of these", "LIST");
  options.filled_value("--prefer", prefer_,
                       "best-fit, most-free, spread, or a list to be tried in order", "HOW");
  options.filled_value("--min-compute", min_compute_, "least compute capability, such as 8.0",
                       "VERSION");
  options.filled_value("--need", need_, "features the job cannot do without: bf16, fp8",
                       "FEATURES");
  options.filled_value("--max-utilization", max_utilization_,
                       "busiest that a device may be, in percent", "PERCENT");
  options.filled_value("--idle-for", idle_for_, "how long it must have been idle, such as 5s",
                       "TIME");
  options.flag("--allow-failed", allow_failed_,
               "also a device that `berth health` calls failed or could not judge");
  options.begin_group("When none is free");
  if (may_wait == MayWait::yes) {
    options.value("--wait", wait_, "wait in the queue, at most so long: --wait=30m", "[TIME]");
    options.flag("--no-wait", no_wait_, "answer at once, as without --wait");
    options.value("--or-cpu", or_cpu_,
                  "run on the CPU instead, at once or after so long: --or-cpu=10m, or --wait=10m "
                  "--or-cpu",
                  "[TIME]");
  } else {
    options.hidden_value("--wait", wait_);
    options.flag("--no-wait", no_wait_, "answer at once, as pick always does");
    options.value("--or-cpu", or_cpu_, "answer the CPU instead", "");
  }
  options.flag("--cpu", cpu_,
               "use no device, on purpose; where no variable such as OMP_NUM_THREADS chooses a "
               "number of threads, those of libraries are set");
  options.begin_group("Options");
  options.flag("--dry-run", dry_run_, "show the whole reasoning, take nothing");
}

std::vector<OptionalValue> RequestOptions::optional_values() {
  return {{"--wait", "forever"}, {"--or-cpu", "0s"}};
}

Result<Request> RequestOptions::request() const {
  Request request;
  const auto devices = parse_unsigned(devices_);
  if (!devices || *devices < 1 || *devices > 1024) {
    return fail(ErrorCode::invalid,
                with_typographic_hint(trf("-n: \"{}\" is not a number of devices from 1 to 1024",
                                          printable(devices_)),
                                      devices_));
  }
  request.devices = static_cast<int>(*devices);
  const auto wrong = [](std::string_view flag, Error error) {
    return std::unexpected(std::move(error).because(flag));
  };
  if (!memory_.empty()) {
    auto share = parse_share(memory_);
    if (!share) return wrong("--memory", std::move(share).error());
    request.memory = *share;
  }
  if (!only_.empty()) {
    auto patterns = parse_patterns(only_);
    if (!patterns) return wrong("--only", std::move(patterns).error());
    request.only = std::move(*patterns);
  }
  if (!except_.empty()) {
    auto patterns = parse_patterns(except_);
    if (!patterns) return wrong("--except", std::move(patterns).error());
    request.except = std::move(*patterns);
  }
  if (!prefer_.empty()) {
    auto preference = parse_preference(prefer_, request);
    if (!preference) return wrong("--prefer", std::move(preference).error());
  }
  if (!min_compute_.empty()) {
    auto capability = parse_compute(min_compute_);
    if (!capability) return wrong("--min-compute", std::move(capability).error());
    request.min_compute = *capability;
  }
  if (!need_.empty()) {
    auto needs = parse_needs(need_);
    if (!needs) return wrong("--need", std::move(needs).error());
    request.needs = std::move(*needs);
  }
  if (!max_utilization_.empty()) {
    std::string_view digits = max_utilization_;
    if (digits.ends_with('%')) digits.remove_suffix(1);
    const auto percent = parse_decimal(digits);
    if (!percent || *percent > 100) {
      return fail(
          ErrorCode::invalid,
          with_typographic_hint(trf("--max-utilization: \"{}\" is not a percentage from 0 to 100",
                                    printable(max_utilization_)),
                                max_utilization_));
    }
    request.max_utilization = Percent(*percent);
  }
  if (!idle_for_.empty()) {
    auto duration = parse_duration(idle_for_);
    if (!duration) return wrong("--idle-for", std::move(duration).error());
    request.idle_for = Milliseconds(duration->count());
  }
  request.allow_failed = allow_failed_;
  return request;
}

Result<std::optional<std::chrono::milliseconds>> RequestOptions::wait(
    std::optional<std::chrono::milliseconds> without_flag) const {
  using Patience = std::optional<std::chrono::milliseconds>;
  if (no_wait_ && !wait_.empty()) {
    return fail(ErrorCode::invalid, std::string(tr("--wait and --no-wait exclude each other")));
  }
  if (no_wait_) return Patience(std::chrono::milliseconds(0));
  if (wait_.empty()) return without_flag;
  if (wait_ == "forever") return Patience();
  auto duration = parse_duration(wait_);
  if (!duration) return std::unexpected(std::move(duration).error().because("--wait"));
  return Patience(*duration);
}

Result<std::optional<std::chrono::milliseconds>> RequestOptions::or_cpu() const {
  using Patience = std::optional<std::chrono::milliseconds>;
  if (or_cpu_.empty()) return Patience();
  auto duration = parse_duration(or_cpu_);
  if (!duration) return std::unexpected(std::move(duration).error().because("--or-cpu"));
  const bool has_time = duration->count() > 0;
  if (has_time && (no_wait_ || !wait_.empty())) {
    return fail(ErrorCode::invalid,
                trf("--or-cpu={} says how long to wait: leave out --wait and --no-wait",
                    printable(or_cpu_)));
  }
  if (has_time || wait_.empty()) return Patience(*duration);
  auto patience = wait(std::nullopt);
  if (patience && !*patience) {
    return fail(ErrorCode::invalid,
                std::string(tr("--wait without a time waits for ever, and --or-cpu would never be "
                               "used: write --or-cpu=10m")));
  }
  return patience;
}

std::optional<Error> RequestOptions::mistake_in_patience() const {
  if (!wait_.empty()) {
    return Error(ErrorCode::invalid,
                 std::string(tr("pick: --wait is for `berth run`: pick claims nothing, and so has "
                                "no place in the queue to wait in")));
  }
  const auto after = or_cpu();
  if (!after) return after.error();
  if (!*after || (*after)->count() == 0) return std::nullopt;
  return Error(ErrorCode::invalid,
               trf("pick: --or-cpu={} is for `berth run`: pick never waits, --or-cpu alone answers "
                   "the CPU at once",
                   printable(or_cpu_)));
}

std::string RequestOptions::as_typed(const Request& request) const {
  if (cpu_) return berth::as_typed(request, RunWhere::cpu, {});
  const auto after = or_cpu();
  if (!after || !*after) return berth::as_typed(request);
  return berth::as_typed(request, RunWhere::gpu_or_cpu, **after);
}

Result<PlaceLimits> inherited_limits(const Context& context, const Snapshot& snapshot) {
  PlaceLimits limits;
  const auto variable = context.variable("CUDA_VISIBLE_DEVICES");
  if (!variable) return limits;
  const auto order = context.variable("CUDA_DEVICE_ORDER");
  auto visible = parse_visible_devices(
      variable, order == "PCI_BUS_ID" ? DeviceOrder::pci_bus_id : DeviceOrder::fastest_first,
      snapshot);
  if (!visible) return std::unexpected(std::move(visible).error());
  // What was meant needs no remark on how CUDA reads it.
  if (!hides_devices_on_purpose(*variable)) {
    for (const std::string& remark : visible->remarks) {
      complain(trf("CUDA_VISIBLE_DEVICES: {}", remark));
    }
  }
  limits.visible = std::move(visible->devices);
  if (context.variable("BERTH_LEASE")) limits.visible_by = VisibleBy::lease;
  return limits;
}

}  // namespace berth
