#include "base/process_stat.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

constexpr std::size_t state_field = 3;
constexpr std::size_t resident_field = 24;
constexpr std::size_t stack_field = 28;  // the last we ask for; a line has over 50
using Fields = std::array<std::string_view, stack_field - state_field + 1>;

Fields fields_of(std::string_view after_command) {
  Fields fields{};
  for (std::string_view& field : fields) {
    const std::size_t end = std::min(after_command.find(' '), after_command.size());
    field = after_command.substr(0, end);
    after_command.remove_prefix(std::min(end + 1, after_command.size()));
  }
  return fields;
}

/// A process's or a descriptor's.
std::optional<pid_t> parse_pid(std::string_view text) {
  const auto number = parse_unsigned(text);
  if (!number || !std::in_range<pid_t>(*number)) return std::nullopt;
  return static_cast<pid_t>(*number);
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // "4711 (name) S 1 …": the name may hold parentheses, spaces and line breaks, so fields count
  // from the last ')'.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;
  const Fields fields = fields_of(trimmed(text.substr(close + 1)));
  const auto field = [&](std::size_t number) { return fields[number - state_field]; };
  const auto pid = parse_pid(trimmed(text.substr(0, open)));
  const auto parent = parse_pid(field(4));
  const auto session = parse_pid(field(6));
  const auto user = parse_unsigned(field(14));
  const auto system = parse_unsigned(field(15));
  const auto start = parse_unsigned(field(22));
  const auto resident = parse_unsigned(field(resident_field));
  if (!pid || !parent || !session || !user || !system || !start || !resident) return std::nullopt;
  if (field(state_field).size() != 1) return std::nullopt;
  const auto stack = parse_unsigned(field(stack_field));
  return ProcessStat{.id = {.pid = *pid, .start_ticks = *start},
                     .comm = std::string(text.substr(open + 1, close - open - 1)),
                     .state = field(state_field)[0],
                     .parent = *parent,
                     .session = *session,
                     .has_terminal = field(7) != "0",
                     .cpu_ticks = *user + *system,
                     .resident_pages = *resident,
                     .stack_begin = stack != 0 ? stack : std::nullopt};
}

std::optional<ProcessStat> read_process_stat(pid_t pid, const std::string& proc) {
  const auto text = read_proc_file(proc + "/" + std::to_string(pid) + "/stat");
  return text ? parse_process_stat(*text) : std::nullopt;
}

Result<std::vector<pid_t>> pids_in(const std::string& proc) {
  const auto names = list_directory(proc);
  if (!names) return std::unexpected(names.error());
  std::vector<pid_t> pids;
  for (const std::string& name : *names) {
    if (const auto pid = parse_pid(name)) pids.push_back(*pid);
  }
  std::ranges::sort(pids);
  return pids;
}

bool hides_others(const std::vector<pid_t>& listed, const std::string& proc) {
  const bool is_proc = ::access((proc + "/self").c_str(), F_OK) == 0;
  return is_proc && !std::ranges::binary_search(listed, 1);
}

Result<std::vector<OpenFile>> open_files_in(const std::string& folder) {
  const auto names = list_directory(folder);
  if (!names) return std::unexpected(names.error());
  std::vector<OpenFile> files;
  for (const std::string& name : *names) {
    auto path = read_link(folder + "/" + name);
    const auto descriptor = parse_pid(name);
    if (!path && path.error().code() == ErrorCode::no_permission) {
      return std::unexpected(path.error());
    }
    if (!path && path.error().code() == ErrorCode::not_found) continue;  // closed meanwhile
    if (descriptor) files.push_back({*descriptor, std::move(path).value_or("")});
  }
  return files;
}

bool lives(const ProcessId& process, const std::string& proc) {
  const auto now = read_process_stat(process.pid, proc);
  return now && now->id == process && now->state != 'Z' && now->state != 'X';
}

std::vector<pid_t> ancestors_of(pid_t pid, const std::string& proc) {
  constexpr std::size_t deepest = 256;  // a /proc that changes while being read could go in circles
  std::vector<pid_t> ancestors;
  while (ancestors.size() < deepest) {
    const auto stat = read_process_stat(pid, proc);
    if (!stat || stat->parent <= 0) break;
    pid = stat->parent;
    ancestors.push_back(pid);
  }
  return ancestors;
}

bool proc_shows_commands(std::string_view mountinfo) {
  bool shows = false;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto words = split(line, ' ');
    // "25 31 0:23 / /proc rw,nosuid shared:12 - proc proc rw,hidepid=invisible"
    if (words.size() < 10 || words[4] != "/proc") continue;
    const bool hides = std::ranges::any_of(split(words.back(), ','), [](std::string_view option) {
      return option.starts_with("hidepid=") && option != "hidepid=0" && option != "hidepid=off";
    });
    shows = !hides;  // the last that was mounted there is the one that is seen
  }
  return shows;
}

}  // namespace berth
