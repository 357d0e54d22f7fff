#include "probe/nvml/memory_limits.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <array>
#include <optional>
#include <utility>

#include "base/control_group.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/nvml/api.h"

namespace berth::nvml {

namespace {

constexpr Duration patience = std::chrono::seconds(5);
constexpr std::string_view not_asked =
    as_key("the driver cannot be asked for limits of the kernel");

bool is_of_version_2(const std::string& folder) {
  constexpr decltype(std::declval<struct statfs>().f_type) magic =
      0x63677270;  // CGROUP2_SUPER_MAGIC
  struct statfs system{};
  return ::statfs(folder.c_str(), &system) == 0 && system.f_type == magic;
}

/// Nothing: there is none on this device.
std::optional<unsigned long long> hard_limit_of(const Api& api, Handle device,
                                                const std::vector<std::string>& groups) {
  for (const std::string& group : groups) {
    MemoryLimitsV1 limits{.group = group.c_str()};
    // Not found: of this group; not supported, too, where nothing is set (driver 615, misc).
    if (api.nvmlDeviceGetMemoryLimits_v1.call(device, &limits) != success) continue;
    if (limits.hard != memory_unlimited) return limits.hard;
  }
  return std::nullopt;
}

/// By UUID.
Result<std::map<std::string, Handle>> devices_of(const Api& api) {
  unsigned count = 0;
  if (api.nvmlInit_v2.call() != success || api.nvmlDeviceGetCount_v2.call(&count) != success) {
    return fail(ErrorCode::unsupported, Sentence(std::string(not_asked)));
  }
  std::map<std::string, Handle> devices;
  for (unsigned i = 0; i < count; ++i) {
    Handle device = nullptr;
    std::array<char, 96> uuid{};
    if (api.nvmlDeviceGetHandleByIndex_v2.call(i, &device) == success &&
        api.nvmlDeviceGetUUID.call(device, uuid.data(), uuid.size()) == success) {
      devices.emplace(printable(uuid.data()), device);
    }
  }
  return devices;
}

/// In the child: "limit UUID BYTES" lines, or "none WHY", or "no WHY".
std::string asked(const Sources& sources) {
  const auto text = read_file(sources.proc + "/self/cgroup", 1 << 16);
  const auto limits =
      memory_limits_of(sources, group_folders(text ? *text : "", "", std::string(cgroups)));
  if (!limits) {
    const bool is_none = limits.error().code() == ErrorCode::not_found;
    return fmt::format("{}\t{}\n", is_none ? "none" : "no", limits.error().message());
  }
  std::string lines;
  for (const auto& [uuid, hard] : *limits) {
    lines += fmt::format("limit\t{}\t{}\n", uuid, hard.count());
  }
  return lines;
}

}  // namespace

Result<std::map<std::string, Bytes>> memory_limits_of(const Sources& sources,
                                                      const std::vector<std::string>& groups) {
  if (groups.empty() || !is_of_version_2(std::string(cgroups))) {
    return fail(ErrorCode::unsupported, "the job's control group is not of version 2");
  }
  const auto library = Library::open(sources.nvml_library);
  if (!library || library->api().nvmlDeviceGetMemoryLimits_v1.call == nullptr) {
    return fail(ErrorCode::unsupported,
                "this driver sets no limits of the kernel; 615 and newer do");
  }
  const auto devices = devices_of(library->api());
  if (!devices) return std::unexpected(devices.error());
  std::map<std::string, Bytes> limits;
  for (const auto& [uuid, device] : *devices) {
    const auto hard = hard_limit_of(library->api(), device, groups);
    if (hard) limits.emplace(uuid, Bytes(*hard));
  }
  if (!limits.empty()) return limits;
  return fail(ErrorCode::not_found, "no limit of the kernel is set for the job's control group");
}

Result<void> set_memory_limits(const Sources& sources, const std::string& group,
                               const NewLimits& limits) {
  const auto library = Library::open(sources.nvml_library);
  if (!library || library->api().nvmlDeviceSetMemoryLimits_v1.call == nullptr) {
    return fail(ErrorCode::unsupported, "this driver sets no limits of the kernel");
  }
  const auto devices = devices_of(library->api());
  if (!devices) return std::unexpected(devices.error());
  for (const auto& [uuid, bytes] : limits) {
    const auto device = devices->find(uuid);
    if (device == devices->end() && !bytes) continue;
    if (device == devices->end()) return fail(ErrorCode::not_found, "there is no device {}", uuid);
    // Soft: what the group is sure to get. Nobody asked for that, and it is kept in each group
    // above until it is taken back.
    SetMemoryLimitsV1 set{
        .group = group.c_str(), .soft = 0, .hard = bytes ? bytes->count() : memory_unlimited};
    const Return code = library->api().nvmlDeviceSetMemoryLimits_v1.call(device->second, &set);
    if (code == success) continue;
    return fail(ErrorCode::io, "nvmlDeviceSetMemoryLimits_v1 on {} for {}: NVML error {}", uuid,
                group, code);
  }
  return {};
}

Result<std::map<std::string, Bytes>> memory_limits(const Sources& sources, Clock& clock) {
  const auto answer =
      ask_child([&] { return write_all(1, asked(sources)) ? 0 : 1; }, clock, patience);
  std::map<std::string, Bytes> limits;
  ErrorCode code = ErrorCode::unsupported;
  std::string why(not_asked);
  if (answer && answer->exit == Exit{}) {
    for (const std::string_view line : split(answer->out, '\n')) {
      const auto words = split(line, '\t');
      if (words.size() == 2) why = words[1];
      if (words.size() == 2 && words[0] == "none") code = ErrorCode::not_found;
      const auto bytes = words.size() == 3 ? parse_unsigned(words[2]) : std::nullopt;
      if (bytes) limits.emplace(words[1], Bytes(*bytes));
    }
  }
  if (limits.empty()) return fail(code, Sentence(std::move(why)));
  return limits;
}

}  // namespace berth::nvml
