#include "probe/drm/clients.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/fd.h"
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
  const auto pids = pids_in(proc_);
  if (!pids) {
    why_none_ = procfs::why_absent(pids.error());
    return;
  }
  hides_some_ = !sees_all_processes(proc_) || hides_others(*pids, proc_);
  for (const pid_t pid : *pids) {
    const auto open = open_files_in(proc_ + "/" + std::to_string(pid) + "/fd");
    if (!open && open.error().code() == ErrorCode::no_permission) hides_some_ = true;
    if (!open) continue;  // else it has ended
    for (const OpenFile& file : *open) {
      const bool is_meant = std::ranges::any_of(
          beginnings, [&](const std::string& one) { return file.path.starts_with(one); });
      if (is_meant) files_.push_back({.pid = pid, .file = file});
    }
  }
}

std::vector<pid_t> OpenDeviceFiles::holders_of(const std::vector<std::string>& paths) const {
  std::vector<pid_t> pids;
  for (const HeldFile& held : files_) {
    if (contains(paths, held.file.path)) pids.push_back(held.pid);
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
  for (const auto& [pid, file] : files_) {
    if (!contains(paths, file.path)) continue;
    const std::string folder = proc_ + "/" + std::to_string(pid) + "/fdinfo/";
    const auto text = read_proc_file(folder + std::to_string(file.descriptor), 1 << 16);
    auto client = text ? parse_fdinfo(*text) : std::nullopt;
    if (!client) continue;
    const std::tuple rank{owns_display(file), pid};
    const auto known = by_id.find(client->id);
    if (known != by_id.end() && known->second.rank <= rank) continue;
    by_id.insert_or_assign(client->id, Best{rank, {.pid = pid, .client = *std::move(client)}});
  }
  std::vector<ClientOf> clients;
  for (auto& [id, best] : by_id) clients.push_back(std::move(best.found));
  return clients;
}

}  // namespace berth::drm
