#include "probe/drm/clients.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "probe/procfs/parse.h"

namespace berth::drm {

namespace {

/// The file that sets a display. Drawing programs have the render node alone.
bool owns_display(const OpenFile& file) { return file.path.starts_with("/dev/dri/card"); }

}  // namespace

bool sees_all_processes(const std::string& proc) {
  const auto own = read_link(proc + "/self/ns/pid");
  constexpr std::string_view first_namespace = "pid:[4026531836]";  // PROC_PID_INIT_INO
  return !own || *own == first_namespace;
}

OpenDeviceFiles::OpenDeviceFiles(std::string proc, std::vector<std::string> beginnings)
    : proc_(std::move(proc)) {
  const auto entries = list_directory(proc_);
  if (!entries) {
    why_none_ = procfs::why_absent(entries.error());
    return;
  }
  // With hidepid=2 other users' processes are not even listed.
  const auto has = [&](const char* name) {
    return std::ranges::find(*entries, name) != entries->end();
  };
  hides_some_ = !sees_all_processes(proc_) || (has("self") && !has("1"));
  for (const std::string& entry : *entries) {
    const auto pid = parse_unsigned(entry);
    if (!pid || !std::in_range<pid_t>(*pid)) continue;
    const std::string folder = proc_ + "/" + entry + "/fd";
    const auto numbers = list_directory(folder);
    if (!numbers) {
      if (numbers.error().code() == ErrorCode::no_permission) hides_some_ = true;
      continue;  // else it has ended
    }
    for (const std::string& number : *numbers) {
      auto target = read_link(folder + "/" + number);
      const bool is_meant =
          target && std::ranges::any_of(beginnings, [&](const std::string& beginning) {
            return target->starts_with(beginning);
          });
      if (!is_meant) continue;
      files_.push_back(
          {.pid = static_cast<pid_t>(*pid), .number = number, .path = *std::move(target)});
    }
  }
}

std::vector<pid_t> OpenDeviceFiles::holders_of(const std::vector<std::string>& paths) const {
  std::vector<pid_t> pids;
  for (const OpenFile& file : files_) {
    if (contains(paths, file.path)) pids.push_back(file.pid);
  }
  std::ranges::sort(pids);
  const auto again = std::ranges::unique(pids);
  pids.erase(again.begin(), again.end());
  return pids;
}

std::vector<ClientOf> OpenDeviceFiles::clients_of(const std::vector<std::string>& paths) const {
  struct Best {
    std::tuple<bool, pid_t> rank;
    ClientOf found;
  };
  std::map<std::uint64_t, Best> by_id;
  for (const OpenFile& file : files_) {
    if (!contains(paths, file.path)) continue;
    const auto text =
        read_proc_file(proc_ + "/" + std::to_string(file.pid) + "/fdinfo/" + file.number, 1 << 16);
    auto client = text ? parse_fdinfo(*text) : std::nullopt;
    if (!client) continue;
    const std::tuple rank{owns_display(file), file.pid};
    const auto known = by_id.find(client->id);
    if (known != by_id.end() && known->second.rank <= rank) continue;
    by_id.insert_or_assign(client->id, Best{rank, {.pid = file.pid, .client = *std::move(client)}});
  }
  std::vector<ClientOf> clients;
  for (auto& [id, best] : by_id) clients.push_back(std::move(best.found));
  return clients;
}

}  // namespace berth::drm
