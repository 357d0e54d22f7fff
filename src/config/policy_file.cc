#include "config/policy_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/user_name.h"
#include "config/config_files.h"
#include "config/toml.h"
#include "place/job_spec.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Text = std::string_view;

Result<void> parse_number(Text text, std::optional<int>& member) {
  constexpr std::uint64_t most = 1'000'000;
  const auto number = parse_unsigned(text);
  if (!number || *number > most) {
    return fail(ErrorCode::invalid, "\"{}\" is not a number from 0 to {}", printable(text), most);
  }
  member = static_cast<int>(*number);
  return {};
}

Result<void> parse_jobs(Text text, UserRules& rules) {
  if (parse_unsigned(text) == 0U) {
    return fail(ErrorCode::invalid,
                "0 would keep each share from every device; 1 lets none share. Who is to have no "
                "device has devices_at_most = 0");
  }
  return parse_number(text, rules.jobs_per_device);
}

/// What a job may say too is checked by the job's own parser, and kept as typed.
Result<void> parse_of_job(Text key, Text text, std::optional<std::string>& member) {
  JobSpec job;
  if (auto parsed = find_job_key(key)->parse(text, job); !parsed) return parsed;
  member = std::string(text);
  return {};
}

Result<void> parse_highest(Text text, UserRules& rules) {
  rules.highest_priority = priority_in(text);
  if (rules.highest_priority) return {};
  return fail(ErrorCode::invalid, "\"{}\" is not low, normal or high", printable(text));
}

Result<void> parse_devices(Text text, UserRules& rules) {
  auto patterns = parse_patterns(text);
  if (!patterns) return std::unexpected(std::move(patterns).error());
  rules.devices = *std::move(patterns);
  return {};
}

Result<void> parse_quiet(Text text, UserRules& rules) {
  auto hours = parse_quiet_hours(text);
  if (!hours) return std::unexpected(std::move(hours).error());
  rules.quiet_hours = *hours;
  return {};
}

Result<void> parse_idle_after(Text text, UserRules& rules) {
  const auto after = parse_duration(text);
  if (!after) return std::unexpected(after.error());
  if (after->count() == 0) {
    return fail(ErrorCode::invalid, "\"{}\" would call each lease idle; write for example 30m",
                printable(text));
  }
  rules.idle_after = *after;
  return {};
}

Result<void> parse_idle_holders(Text text, UserRules& rules) {
  for (const auto& [what, word] : idle_holder_words) {
    if (text == word) rules.idle_holders = what;
  }
  if (rules.idle_holders) return {};
  return fail(ErrorCode::invalid, "\"{}\" is not nothing, notify or end", printable(text));
}

/// One line of a table [everybody], [group.NAME] or [user.NAME].
struct PolicyKey {
  Text name;
  /// invalid: says what is wrong with the text, not where it stands.
  Result<void> (*parse)(Text text, UserRules& rules);
};
constexpr PolicyKey keys[] = {
    {"highest_priority", parse_highest},
    {"devices", parse_devices},
    {"devices_at_most",
     [](Text text, UserRules& rules) { return parse_number(text, rules.devices_at_most); }},
    {"hours_at_most",
     [](Text text, UserRules& rules) { return parse_number(text, rules.hours_at_most); }},
    {"quiet_hours", parse_quiet},
    {"memory",
     [](Text text, UserRules& rules) { return parse_of_job("memory", text, rules.memory); }},
    {"time", [](Text text, UserRules& rules) { return parse_of_job("time", text, rules.time); }},
    {"prefer",
     [](Text text, UserRules& rules) { return parse_of_job("prefer", text, rules.prefer); }},
    {"jobs_per_device", parse_jobs},
    {"idle_after", parse_idle_after},
    {"idle_holders", parse_idle_holders},
};

/// A key of the tables that are about no user.
struct TimeKey {
  Text name;
  std::chrono::milliseconds Policy::* member;
};
constexpr TimeKey time_keys[] = {{"queue.priority_step", &Policy::priority_step},
                                 {"queue.fair_share", &Policy::fair_share},
                                 {"reap.notice", &Policy::notice}};
constexpr Text notify_key = "reap.notify";

/// The first mistake ends it.
class PolicyReader {
 public:
  explicit PolicyReader(const std::string& path) { policy_.path = path; }

  Result<Policy> read(const toml::table& file) {
    for (const auto& [name, node] : file) {
      if (auto taken = take(std::string(name.str()), node); !taken) {
        return std::unexpected(std::move(taken).error());
      }
    }
    // toml++ sorts by name: groups count in the order of the file.
    std::ranges::stable_sort(rules_, {}, [](const auto& one) { return one.first; });
    for (auto& [line, rule] : rules_) policy_.rules.push_back(std::move(rule));
    return std::move(policy_);
  }

 private:
  Result<void> take(const std::string& name, const toml::node& node) {
    const toml::table* table = node.as_table();
    const bool is_of_times = name == "queue" || name == "reap";
    if (is_of_times && table != nullptr) return take_times(name, *table);
    if (name == "everybody" && table != nullptr) {
      return take_rules(PolicyRule::For::everybody, {}, *table);
    }
    if ((name == "group" || name == "user") && table != nullptr) {
      const auto who = name == "group" ? PolicyRule::For::group : PolicyRule::For::user;
      for (const auto& [whose, inner] : *table) {
        const toml::table* rules = inner.as_table();
        if (whose.str().empty()) return nameless(name, inner);
        if (rules == nullptr) return no_table(name + "." + std::string(whose.str()), inner);
        if (auto taken = take_rules(who, std::string(whose.str()), *rules); !taken) return taken;
      }
      return {};
    }
    return unknown(name, node);
  }

  Result<void> take_times(const std::string& whose, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name = whose + "." + std::string(key.str());
      if (name == notify_key) {
        if (auto taken = take_notify(node); !taken) return taken;
        continue;
      }
      const auto known = std::ranges::find(time_keys, Text(name), &TimeKey::name);
      if (known == std::end(time_keys)) return unknown(name, node);
      const auto time = parse_duration(text_of(node).value_or(""));
      if (!time) return wrong(name, node, time.error());
      policy_.*(known->member) = *time;
    }
    return {};
  }

  /// A program by its whole path, so that no PATH of anybody's chooses it.
  Result<void> take_notify(const toml::node& node) {
    const auto no_words = Error(ErrorCode::invalid,
                                "a list of words is wanted, the first "
                                "the whole path of a program");
    const toml::array* words = node.as_array();
    if (words == nullptr) return wrong(notify_key, node, no_words);
    for (const toml::node& word : *words) {
      const auto* text = word.as_string();
      if (text == nullptr) return wrong(notify_key, node, no_words);
      policy_.notify.push_back(text->get());
    }
    const bool is_program = !policy_.notify.empty() && policy_.notify.front().starts_with('/');
    return is_program ? Result<void>() : wrong(notify_key, node, no_words);
  }

  Result<void> take_rules(PolicyRule::For who, std::string whose, const toml::table& table) {
    PolicyRule rule{.who = who, .name = std::move(whose), .origin = place(table)};
    for (const auto& [key, node] : table) {
      const auto known = std::ranges::find(keys, Text(key.str()), &PolicyKey::name);
      if (known == std::end(keys)) return unknown(std::string(key.str()), node);
      const auto text = text_of(node);
      const auto no_value =
          Error(ErrorCode::invalid, "a text, a number or a list of them is wanted");
      if (!text) return wrong(known->name, node, no_value);
      if (auto parsed = known->parse(*text, rule.rules); !parsed) {
        return wrong(known->name, node, parsed.error());
      }
    }
    rules_.emplace_back(table.source().begin.line, std::move(rule));
    return {};
  }

  [[nodiscard]] std::string place(const toml::node& node) const {
    return fmt::format("{}:{}", policy_.path, node.source().begin.line);
  }
  [[nodiscard]] std::unexpected<Error> wrong(Text key, const toml::node& node,
                                             const Error& why) const {
    return std::unexpected(Error(why).at(key).at(place(node)));
  }
  [[nodiscard]] std::unexpected<Error> nameless(const std::string& name,
                                                const toml::node& node) const {
    return fail(ErrorCode::invalid, "{}: [{}.\"\"] names nobody; write [{}.NAME]", place(node),
                name, name);
  }
  [[nodiscard]] std::unexpected<Error> no_table(const std::string& name,
                                                const toml::node& node) const {
    return fail(ErrorCode::invalid, "{}: {} is a table: write [{}], and its keys below",
                place(node), printable(name), printable(name));
  }
  /// A word that there is, where it is nothing.
  [[nodiscard]] std::unexpected<Error> misplaced(const std::string& name,
                                                 const toml::node& node) const {
    if (std::ranges::find(keys, Text(name), &PolicyKey::name) != std::end(keys)) {
      return fail(ErrorCode::invalid,
                  "{}: {} belongs below [everybody], [group.NAME] or [user.NAME]", place(node),
                  name);
    }
    if (const std::size_t dot = name.find('.'); dot != name.npos) {
      return fail(ErrorCode::invalid, "{}: {} belongs below [{}]", place(node),
                  name.substr(dot + 1), name.substr(0, dot));
    }
    return no_table(name == "group" || name == "user" ? name + ".NAME" : name, node);
  }
  [[nodiscard]] std::unexpected<Error> unknown(const std::string& name,
                                               const toml::node& node) const {
    std::vector<Text> known = {"queue", "reap", "everybody", "group", "user", notify_key};
    for (const TimeKey& key : time_keys) known.push_back(key.name);
    for (const PolicyKey& key : keys) known.push_back(key.name);
    if (std::ranges::find(known, Text(name)) != known.end()) return misplaced(name, node);
    return fail(ErrorCode::invalid, no_such_key(place(node), name, known, "berth policy show"));
  }

  Policy policy_;
  std::vector<std::pair<toml::source_index, PolicyRule>> rules_;
};

Error no_claim(Error why) {
  return std::move(why).because(
      sentence("the policy of this machine cannot be read, and without it nothing is claimed"));
}

/// "berth-hours 1 TAKEN_UNIX_MS", then "UID SECONDS" a line, of root's alone. Nothing also where it
/// is older than its writer would leave it, or of a time to come.
std::optional<std::map<uid_t, double>> hours_in(const PolicyPlaces& places) {
  const auto text = read_config_file(places.hours, places.owner);
  if (!text || !places.now) return std::nullopt;
  const auto lines = split(*text, '\n');
  const auto head = split(lines.front(), ' ');
  const bool is_known = head.size() == 3 && head[0] == "berth-hours" && head[1] == "1";
  const auto taken = is_known ? parse_signed(head[2]) : std::nullopt;
  if (!taken) return std::nullopt;
  constexpr std::int64_t clocks_apart_ms = 60'000;
  const std::int64_t age_ms = places.now->unix_ms - *taken;
  if (age_ms < -clocks_apart_ms || age_ms > hours_last.count()) return std::nullopt;
  std::map<uid_t, double> hours;
  for (const Text line : lines) {
    const auto parts = split(line, ' ');
    const auto uid = parts.size() == 2 ? parse_unsigned(parts[0]) : std::nullopt;
    const auto used = parts.size() == 2 ? parse_unsigned(parts[1]) : std::nullopt;
    if (uid && used) hours[static_cast<uid_t>(*uid)] = static_cast<double>(*used) / 3600;
  }
  return hours;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, const std::string& path) {
  const auto parsed = parse_toml(text);
  if (!parsed) return std::unexpected(Error(parsed.error()).at(path));
  return PolicyReader(path).read(*parsed);
}

PolicyUser policy_user(uid_t uid, const PolicyPlaces& places) {
  constexpr std::size_t most = 16 << 20;
  PolicyUser user{.name = local_user_name(uid, places.passwd)};
  const auto group = read_file(places.group, most);
  if (group) user.groups = groups_in(*group, user.name, local_group_of(uid, places.passwd));
  return user;
}

Result<Policy> read_policy(const PolicyPlaces& places) {
  const auto text = read_config_file(places.file, places.owner);
  if (!text && text.error().code() == ErrorCode::not_found) return Policy{};
  if (!text) return std::unexpected(no_claim(text.error()));
  auto policy = parse_policy(*text, places.file);
  if (!policy) return std::unexpected(no_claim(std::move(policy).error()));
  policy->who = [places](uid_t uid) { return policy_user(uid, places); };
  if (needs_hours(*policy)) policy->hours_used = hours_in(places);
  return policy;
}

Result<void> put_in_place(const std::string& text, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  constexpr mode_t all_may_read = 0755;
  if (::mkdir(folder.c_str(), all_may_read) != 0 && errno != EEXIST) {
    return fail_system(errno, "make {}", folder);
  }
  const std::string beside = path + ".new";
  ::unlink(beside.c_str());
  const Fd made(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!made.is_open()) return fail_system(errno, "create {}", beside);
  if (auto written = write_all(made.get(), text); !written) {
    ::unlink(beside.c_str());
    return std::unexpected(std::move(written).error().at(beside));
  }
  if (::fchmod(made.get(), 0644) != 0 || ::fsync(made.get()) != 0 ||
      ::rename(beside.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(beside.c_str());
    return fail_system(why, "put the file in place as {}", path);
  }
  return {};
}

bool needs_hours(const Policy& policy) {
  return policy.fair_share.count() > 0 ||
         std::ranges::any_of(policy.rules, [](const PolicyRule& rule) {
           return rule.rules.hours_at_most.has_value();
         });
}

Result<void> write_hours(const std::map<uid_t, double>& hours, WallTime taken,
                         const std::string& path) {
  std::string text = fmt::format("berth-hours 1 {}\n", taken.unix_ms);
  for (const auto& [uid, used] : hours) text += fmt::format("{} {:.0f}\n", uid, used * 3600);
  if (auto put = put_in_place(text, path); !put) return put;
  // Each claim reads them, also in another's folder: its other files are for its owner alone.
  const std::string folder = path.substr(0, path.rfind('/'));
  constexpr mode_t may_be_passed = 0011;
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return fail_system(errno, "examine {}", folder);
  const bool is_passed = (facts.st_mode & may_be_passed) == may_be_passed;
  if (!is_passed && ::chmod(folder.c_str(), (facts.st_mode & 07777) | may_be_passed) != 0) {
    return fail_system(errno, "let others through {}", folder);
  }
  return {};
}

namespace {

/// Of a file that is to be installed: what others write into it would be root's word. Of a pipe all
/// that comes is read: its beginning, or nothing, would be another policy.
Result<std::string> read_proposed(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
      (facts.st_mode & S_IWOTH) != 0) {
    return fail(ErrorCode::no_permission,
                "{} can be written by everybody, whose word the policy would be; chmod o-w {}",
                printable(path), shell_quoted(printable(path)));
  }
  return read_named_file(path, 1 << 20);
}

}  // namespace

Result<Policy> check_policy(const std::string& path) {
  const auto text = read_proposed(path);
  if (!text) return std::unexpected(text.error());
  return parse_policy(*text, path);
}

Result<Policy> install_policy(const std::string& from, const PolicyPlaces& places) {
  const auto text = read_proposed(from);
  if (!text) return std::unexpected(text.error());
  auto policy = parse_policy(*text, from);
  if (!policy) return policy;
  if (::geteuid() != places.owner) {
    return fail(ErrorCode::no_permission,
                "{} is right; putting it into {} takes root: sudo berth config --install {}",
                printable(from), printable(places.file), shell_quoted(printable(from)));
  }
  if (auto put = put_in_place(*text, places.file); !put) return std::unexpected(put.error());
  return read_policy(places);
}

}  // namespace berth
