// What encloses a process, by its /proc/PID/cgroup.

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/text.h"
#include "probe/procfs/parse.h"

namespace berth::procfs {

namespace {

bool is_container_id(std::string_view text) {
  return text.size() >= 12 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

/// Nobody names these but their id.
Enclosure without_name(std::string runtime, std::string id) {
  return {.runtime = std::move(runtime),
          .id = std::move(id),
          .name = Absent::unsupported,
          .image = Absent::unsupported};
}

/// "docker-ID.scope" and what other tools call theirs.
std::optional<Enclosure> container_in_scope(std::string_view part) {
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
    const std::string_view id = without_suffix(part.substr(prefix.size()), ".scope");
    if (is_container_id(id)) {
      return Enclosure{.runtime = std::string(tool), .id = std::string(id)};
    }
  }
  return std::nullopt;
}

std::optional<Enclosure> container_in_folder(std::string_view folder, std::string_view part) {
  if (part.empty()) return std::nullopt;
  if (folder == "docker") return Enclosure{.runtime = "docker", .id = std::string(part)};
  if (folder == "lxc") return without_name("lxc", std::string(part));
  constexpr std::string_view payload = "lxc.payload.";
  if (part.starts_with(payload) && part != payload) {
    return without_name("lxc", std::string(part.substr(payload.size())));
  }
  return std::nullopt;
}

/// "kubepods-burstable-pod2f5c_….slice" (systemd, which containerd may write "….slice:x:ID") or
/// "pod2f5c-…" below "kubepods".
std::optional<std::string> pod_in(std::string_view part) {
  part = part.substr(0, part.find(':'));
  const std::size_t pod = part.starts_with("pod") ? 0 : part.rfind("-pod");
  if (pod == std::string_view::npos) return std::nullopt;
  std::string uid(without_suffix(part.substr(pod + (pod == 0 ? 3 : 4)), ".slice"));
  std::replace(uid.begin(), uid.end(), '_', '-');
  if (uid.size() < 8) return std::nullopt;
  return uid;
}

std::optional<std::string> container_in_pod(const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts) {
    if (auto scope = container_in_scope(part)) return std::move(scope->id);
    const std::string_view id = part.substr(part.rfind(':') + 1);  // all of it where none is
    if (is_container_id(id)) return std::string(id);
  }
  return std::nullopt;
}

/// Whether it is all of a part: "pod2f5c1d3e-0000-4b1c-8d3f-112233445566".
bool is_pod_alone(std::string_view part) {
  return part.size() == 39 && part.starts_with("pod") && part[11] == '-' && part[26] == '-';
}

std::optional<Enclosure> pod_of(const std::vector<std::string_view>& parts) {
  // Seen from within a pod, a path leads up from its own group first, and past what both have.
  const bool from_within = parts.size() > 1 && parts[1] == "..";
  bool kubernetes = false;
  for (const std::string_view part : parts) {
    kubernetes = kubernetes || part.starts_with("kubepods") || (from_within && is_pod_alone(part));
    auto uid = kubernetes ? pod_in(part) : std::nullopt;
    if (!uid) continue;
    return Enclosure{
        .runtime = "kubernetes", .id = container_in_pod(parts).value_or(*uid), .pod_uid = uid};
  }
  return std::nullopt;
}

/// "job_42/step_batch" below "slurm" or "slurmstepd.scope".
std::optional<Enclosure> slurm_job_of(const std::vector<std::string_view>& parts) {
  const bool slurm = std::any_of(parts.begin(), parts.end(),
                                 [](std::string_view part) { return part.starts_with("slurm"); });
  if (!slurm) return std::nullopt;
  std::string id;
  for (const std::string_view part : parts) {
    if (part.starts_with("job_") && id.empty()) {
      const auto number = parse_unsigned(part.substr(4));
      if (number) id = std::to_string(*number);
    } else if (part.starts_with("step_") && part.size() > 5 && !id.empty()) {
      return without_name("slurm", id + "." + std::string(part.substr(5)));
    }
  }
  if (id.empty()) return std::nullopt;
  return without_name("slurm", std::move(id));
}

/// "uid_1001" of slurm, "user-1001.slice" of systemd.
std::optional<uid_t> owner_in(const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts) {
    std::string_view number;
    if (part.starts_with("uid_")) number = part.substr(4);
    if (part.starts_with("user-")) number = without_suffix(part.substr(5), ".slice");
    const auto uid = parse_unsigned(number);
    if (uid && std::in_range<uid_t>(*uid)) return static_cast<uid_t>(*uid);
  }
  return std::nullopt;
}

/// The strongest statement of one path, with its rank: the lower, the more it says.
struct Ranked {
  int rank = std::numeric_limits<int>::max();
  std::optional<Enclosure> enclosure;
};

void keep_better(Ranked& best, int rank, std::optional<Enclosure> found) {
  if (found && rank < best.rank) best = {rank, std::move(found)};
}

Ranked enclosure_of(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  Ranked best;
  keep_better(best, 0, slurm_job_of(parts));
  keep_better(best, 1, pod_of(parts));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    keep_better(best, 2, container_in_scope(parts[i]));
    keep_better(best, 3, container_in_folder(i > 0 ? parts[i - 1] : "", parts[i]));
    if (parts[i].ends_with(".service") && !parts[i].starts_with("user@")) {
      keep_better(best, 4, without_name("systemd", std::string(parts[i])));
    }
  }
  if (best.enclosure) best.enclosure->owner_uid = owner_in(parts);
  return best;
}

}  // namespace

std::optional<Enclosure> enclosure_in_cgroup(std::string_view text) {
  Ranked best;
  for (const std::string_view line : split(text, '\n')) {
    // "hierarchy:controllers:path", where the path may hold colons.
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    Ranked here = enclosure_of(line.substr(second + 1));
    if (here.rank < best.rank) best = std::move(here);
  }
  return std::move(best.enclosure);
}

std::string container_text(const Enclosure& enclosure) {
  if (enclosure.runtime == "slurm") {
    return "slurm job " + enclosure.id.substr(0, enclosure.id.find('.'));
  }
  if (enclosure.runtime == "kubernetes") {
    return "kubernetes pod " + enclosure.pod_uid.value_or(enclosure.id);
  }
  if (enclosure.runtime == "systemd") return "systemd unit " + enclosure.id;
  // As tools print a container's 64 digits.
  const std::size_t shown = is_container_id(enclosure.id) ? 12 : std::string::npos;
  return enclosure.runtime + " " + enclosure.id.substr(0, shown);
}

}  // namespace berth::procfs
