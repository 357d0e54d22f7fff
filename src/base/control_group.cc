#include "base/control_group.h"

#include <algorithm>
#include <cstdint>

#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

std::optional<std::uint64_t> number_at(const std::string& path) {
  const auto text = read_file(path);
  return text ? parse_unsigned(trimmed(*text)) : std::nullopt;  // "-1", no limit, is none
}

std::optional<double> quota_of(const std::string& folder) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (const auto limit = read_file(folder + "/cpu.max")) {  // "max 100000", "200000 100000"
    const auto words = split(trimmed(*limit), ' ');
    quota = parse_unsigned(words.front());
    period = words.size() == 2 ? parse_unsigned(words.back()) : std::nullopt;
  } else {
    quota = number_at(folder + "/cpu.cfs_quota_us");
    period = number_at(folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

bool ControlGroup::has(std::string_view controller) const {
  const auto all = split(controllers, ',');
  return std::ranges::find(all, controller) != all.end();
}

std::vector<ControlGroup> control_groups_in(std::string_view text) {
  std::vector<ControlGroup> groups;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos || !line.substr(second + 1).starts_with('/')) continue;
    groups.push_back({.controllers = line.substr(first + 1, second - first - 1),
                      .path = line.substr(second + 1)});
  }
  return groups;
}

std::vector<std::string> group_folders(std::string_view text, std::string_view controller,
                                       const std::string& mounted) {
  std::vector<std::string> folders;
  for (const ControlGroup& group : control_groups_in(text)) {
    if (!group.has(controller) || group.path.find("/..") != group.path.npos) continue;
    // Version 1's tree bears all its controllers' names; mostly each is a link to it as well.
    std::vector<std::string> trees = {mounted};
    if (!controller.empty()) trees.front() += "/" + std::string(controller);
    if (controller != group.controllers) {
      trees.push_back(mounted + "/" + std::string(group.controllers));
    }
    for (const std::string& tree : trees) {
      std::string path(group.path);
      for (; path.size() > 1; path.resize(path.rfind('/'))) folders.push_back(tree + path);
      folders.push_back(tree);
    }
  }
  return folders;
}

std::optional<double> cpu_quota(std::string_view text, const std::string& mounted) {
  std::optional<double> least;
  for (const std::string_view controller : {"", "cpu"}) {
    for (const std::string& folder : group_folders(text, controller, mounted)) {
      const auto quota = quota_of(folder);
      if (quota) least = std::min(least.value_or(*quota), *quota);
    }
  }
  return least;
}

}  // namespace berth
