// What is right in a policy and may nevertheless be a slip on this server.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/user_name.h"
#include "config/policy_file.h"
#include "config/toml.h"
#include "place/job_spec.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Text = std::string_view;

/// The names that `entries_of` finds in a file.
template <class Entry>
std::vector<std::string> names_in(const std::string& path,
                                  std::vector<Entry> (*entries_of)(std::string_view)) {
  std::vector<std::string> names;
  const auto text = read_file(path, 16 << 20);
  for (const Entry& entry : entries_of(text ? Text(*text) : Text())) names.emplace_back(entry.name);
  return names;
}

}  // namespace

std::vector<Sentence> remarks_on(const Policy& policy, const PolicyPlaces& places) {
  std::vector<Sentence> remarks;
  const auto users = names_in(places.passwd, users_in_passwd);
  const auto groups = names_in(places.group, groups_in_file);
  std::map<std::string, std::string> where;  // of each user's first table
  for (const PolicyRule& rule : policy.rules) {
    const bool is_user = rule.who == PolicyRule::For::user;
    if (is_user) {
      const auto uid = parse_unsigned(rule.name);
      const std::string name =
          uid ? local_user_name(static_cast<uid_t>(*uid), places.passwd) : rule.name;
      const auto [first, is_new] = where.emplace(name, rule.origin);
      if (!is_new) {
        remarks.push_back(
            sentence("{}: user {} has a table already, at {}, which counts where both "
                     "say something",
                     rule.origin, printable(name), first->second));
      }
    }
    if (rule.who == PolicyRule::For::everybody || (is_user && parse_unsigned(rule.name))) continue;
    const auto& known = is_user ? users : groups;
    if (known.empty() || std::ranges::find(known, rule.name) != known.end()) continue;
    const std::vector<Text> words(known.begin(), known.end());
    const std::string nearest = nearest_word(rule.name, words);
    Sentence said =
        is_user
            ? sentence(
                  "{}: this machine's own files have no user {}, so the table applies to no one",
                  rule.origin, printable(rule.name))
            : sentence(
                  "{}: this machine's own files have no group {}, so the table applies to no one",
                  rule.origin, printable(rule.name));
    if (!nearest.empty()) said = sentence("{}; is {} meant?", said, nearest);
    if (nearest.empty() && is_user) {
      said = sentence("{}; {}", said,
                      sentence("write the number of somebody whom a directory service has"));
    }
    remarks.push_back(std::move(said));
  }
  return remarks;
}

namespace {

/// The most that a device has; nothing: one does not say.
std::optional<Bytes> largest_of(const Snapshot& snapshot) {
  std::optional<Bytes> largest;
  for (const Device& device : snapshot.devices) {
    const auto& total = device.memory_total.get();
    if (!total) return std::nullopt;
    largest = std::max(largest.value_or(*total), *total);
  }
  return largest;
}

void remark_on_names(Text key, const std::vector<DevicePattern>& patterns, const PolicyRule& rule,
                     const Snapshot& snapshot, std::vector<Sentence>& remarks) {
  for (const DevicePattern& one : patterns) {
    const auto is_it = [&](const Device& device) { return matches(one, device); };
    if (std::ranges::any_of(snapshot.devices, is_it)) continue;
    remarks.push_back(
        sentence("{}: {}: this server has no device {}", rule.origin, key, printable(one.text)));
  }
}

}  // namespace

std::optional<Sentence> remark_on_notify(const Policy& policy) {
  if (policy.notify.empty()) return std::nullopt;
  const std::string& program = policy.notify.front();
  struct stat facts{};
  int why = 0;
  if (::stat(program.c_str(), &facts) != 0 || ::access(program.c_str(), X_OK) != 0) {
    why = errno;
  } else if (!S_ISREG(facts.st_mode)) {
    why = S_ISDIR(facts.st_mode) ? EISDIR : EACCES;
  }
  if (why == 0) return std::nullopt;
  return sentence("{}: {}: {} cannot be run here: {}", policy.path, "reap.notify",
                  printable(program), std::strerror(why));
}

std::vector<Sentence> remarks_on(const Policy& policy, const Snapshot& snapshot) {
  std::vector<Sentence> remarks;
  if (auto remark = remark_on_notify(policy)) remarks.push_back(*std::move(remark));
  if (!has_driver_answered(snapshot) || snapshot.devices.empty()) return remarks;
  const auto largest = largest_of(snapshot);
  for (const PolicyRule& rule : policy.rules) {
    JobSpec job;
    if (rule.rules.prefer) (void)find_job_key("prefer")->parse(*rule.rules.prefer, job);
    if (rule.rules.memory) (void)find_job_key("memory")->parse(*rule.rules.memory, job);
    remark_on_names("devices", rule.rules.devices.value_or(std::vector<DevicePattern>()), rule,
                    snapshot, remarks);
    remark_on_names("prefer", job.request.preferred, rule, snapshot, remarks);
    const auto* bytes = job.request.memory ? std::get_if<Bytes>(&*job.request.memory) : nullptr;
    if (bytes == nullptr || !largest || *bytes <= *largest) continue;
    remarks.push_back(sentence("{}: {}: no device of this server has {}; the largest has {}",
                               rule.origin, "memory", printable(*rule.rules.memory),
                               short_size(*largest)));
  }
  return remarks;
}

}  // namespace berth
