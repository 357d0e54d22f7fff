// What encloses a process, by its /proc/PID/cgroup.

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/text.h"
#include "probe/procfs/parse.h"

namespace berth::procfs {

namespace {

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// A container's id as tools print it: the first 12 of its 64 digits.
std::optional<std::string> short_id(std::string_view id) {
  if (id.size() < 12 || !is_hex(id)) return std::nullopt;
  return std::string(id.substr(0, 12));
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

/// "docker-ID.scope" and what other tools call theirs.
std::optional<std::string> container_in_scope(std::string_view part) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> tools = {{
      {"docker-", "docker"},
      {"libpod-", "podman"},
      {"cri-containerd-", "containerd"},
      {"nerdctl-", "containerd"},
      {"containerd-", "containerd"},
      {"crio-", "cri-o"},
  }};
  for (const auto& [prefix, tool] : tools) {
    if (!part.starts_with(prefix)) continue;
    const auto id = short_id(without_suffix(part.substr(prefix.size()), ".scope"));
    if (id) return std::string(tool) + " " + *id;
  }
  return std::nullopt;
}

/// "kubepods-burstable-pod2f5c_….slice" (systemd) or "pod2f5c-…" below "kubepods".
std::optional<std::string> pod_in(std::string_view part) {
  const std::size_t pod = part.starts_with("pod") ? 0 : part.rfind("-pod");
  if (pod == std::string_view::npos) return std::nullopt;
  std::string uid(without_suffix(part.substr(pod + (pod == 0 ? 3 : 4)), ".slice"));
  std::replace(uid.begin(), uid.end(), '_', '-');
  if (uid.size() < 8) return std::nullopt;
  return "kubernetes pod " + uid;
}

std::optional<std::string> slurm_job_in(const std::vector<std::string_view>& parts) {
  const bool slurm = std::any_of(parts.begin(), parts.end(),
                                 [](std::string_view part) { return part.starts_with("slurm"); });
  if (!slurm) return std::nullopt;
  for (const std::string_view part : parts) {
    if (!part.starts_with("job_")) continue;
    if (const auto number = parse_unsigned(part.substr(4))) {
      return "slurm job " + std::to_string(*number);
    }
  }
  return std::nullopt;
}

/// The strongest statement of one path, with its rank: the lower, the more it says.
struct Enclosure {
  int rank = std::numeric_limits<int>::max();
  std::string text;
};

void keep_better(Enclosure& best, int rank, std::optional<std::string> found) {
  if (found && rank < best.rank) best = {rank, std::move(*found)};
}

Enclosure enclosure_of(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  Enclosure best;
  keep_better(best, 0, slurm_job_in(parts));
  bool kubernetes = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    kubernetes = kubernetes || part.starts_with("kubepods");
    if (kubernetes) keep_better(best, 1, pod_in(part));
    keep_better(best, 2, container_in_scope(part));
    if (i > 0 && (parts[i - 1] == "docker" || parts[i - 1] == "lxc")) {
      const auto id = short_id(part);
      keep_better(best, 3, std::string(parts[i - 1]) + " " + id.value_or(std::string(part)));
    }
    if (part.starts_with("lxc.payload.")) {
      keep_better(best, 3, "lxc " + std::string(part.substr(12)));
    }
    if (part.ends_with(".service") && !part.starts_with("user@")) {
      keep_better(best, 4, "systemd unit " + std::string(part));
    }
  }
  return best;
}

}  // namespace

std::string container_in_cgroup(std::string_view text) {
  Enclosure best;
  for (const std::string_view line : split(text, '\n')) {
    // "hierarchy:controllers:path", where the path may hold colons.
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    Enclosure here = enclosure_of(line.substr(second + 1));
    if (here.rank < best.rank) best = std::move(here);
  }
  return best.text;
}

}  // namespace berth::procfs
