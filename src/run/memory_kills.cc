#include "run/memory_kills.h"

#include <csignal>
#include <exception>

#include "base/control_group.h"
#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"

namespace berth {

namespace {

std::optional<std::uint64_t> counter_in(const std::string& path) {
  const auto text = read_proc_file(path);
  return text ? oom_kills_in(*text) : std::nullopt;
}

std::optional<std::uint64_t> risen_by(const std::optional<std::uint64_t>& before,
                                      const std::optional<std::uint64_t>& after) {
  if (!before || !after || *after <= *before) return std::nullopt;
  return *after - *before;
}

/// The group above, if this one was made for a limit of a device's memory. Such a group counts no
/// kills. "/a/berth-limit-1/memory.events" gives "/a/memory.events".
std::string above_of_ours(const std::string& file) {
  const std::size_t ours = file.rfind("/berth-limit-");
  const std::size_t name = file.rfind('/');
  if (ours == file.npos || file.find('/', ours + 1) != name) return file;
  return file.substr(0, ours) + file.substr(name);
}

}  // namespace

std::optional<Sentence> memory_verdict(const MemoryJudge& judge, const RunRecord& run) {
  try {
    return judge(run);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<std::uint64_t> oom_kills_in(std::string_view text) {
  constexpr std::string_view name = "oom_kill ";
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name)) return parse_unsigned(trimmed(line.substr(name.size())));
  }
  return std::nullopt;
}

std::optional<std::string> memory_group(std::string_view cgroup_text) {
  std::optional<std::string> unified;
  for (const ControlGroup& group : control_groups_in(cgroup_text)) {
    const std::string path(group.path);
    if (group.has("memory")) return "/memory" + path + "/memory.oom_control";
    if (group.controllers.empty()) unified = path + "/memory.events";
  }
  return unified;
}

MemoryKills count_memory_kills(const std::string& proc, const std::string& sys) {
  MemoryKills kills;
  kills.of_machine = counter_in(proc + "/vmstat");
  const auto groups = read_proc_file(proc + "/self/cgroup");
  const auto group = groups ? memory_group(*groups) : std::nullopt;
  if (group) kills.of_group = counter_in(sys + "/fs/cgroup" + above_of_ours(*group));
  return kills;
}

std::optional<Note> memory_kill_event(const MemoryKills& before, const MemoryKills& after,
                                      const Exit& exit) {
  if (exit.signal == 0 && exit.code == 0) return std::nullopt;
  if (const auto killed = risen_by(before.of_group, after.of_group)) {
    return Note{"oom_kill", sentence("the kernel killed {} of the processes of its control group "
                                     "for want of main memory",
                                     *killed)};
  }
  const bool was_killed = exit.signal == SIGKILL || exit.code == 128 + SIGKILL;
  if (after.of_group || !was_killed) return std::nullopt;
  if (const auto killed = risen_by(before.of_machine, after.of_machine)) {
    return Note{"oom_kill_on_machine",
                sentence("the kernel killed {} of the machine's processes for want of "
                         "main memory while it ran",
                         *killed)};
  }
  return std::nullopt;
}

}  // namespace berth
