#include "lib/parsed_look.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"

namespace berth::lib {

namespace {

/// The shorter before the longer: most names are told apart by their lengths.
constexpr bool stands_before(std::string_view one, std::string_view other) {
  return one.size() != other.size() ? one.size() < other.size() : one < other;
}

constexpr auto known_members = std::to_array<std::string_view>({"id",
                                                                "job",
                                                                "pid",
                                                                "run",
                                                                "why",
                                                                "kind",
                                                                "name",
                                                                "user",
                                                                "index",
                                                                "state",
                                                                "users",
                                                                "device",
                                                                "keeper",
                                                                "leases",
                                                                "command",
                                                                "devices",
                                                                "ancestors",
                                                                "container",
                                                                "processes",
                                                                "simulated",
                                                                "cuda_cores",
                                                                "pci_address",
                                                                "gpu_processes",
                                                                "taken_unix_ms",
                                                                "failed_because",
                                                                "unusable_because",
                                                                "memory_free_bytes",
                                                                "memory_used_bytes",
                                                                "compute_capability",
                                                                "memory_total_bytes",
                                                                "temperature_celsius",
                                                                "memory_used_is_bound",
                                                                "power_draw_milliwatts",
                                                                "utilization_gpu_percent"});
static_assert(std::is_sorted(known_members.begin(), known_members.end(), stands_before));
static_assert(std::ranges::all_of(fields_of_device, [](std::string_view field) {
  return std::binary_search(known_members.begin(), known_members.end(), field, stands_before);
}));

/// The members of a snapshot that tell who is on the devices.
constexpr auto lists_of_processes =
    std::to_array<std::string_view>({"gpu_processes", "processes", "leases"});

bool is_of_processes(std::string_view name) {
  return std::ranges::find(lists_of_processes, name) != lists_of_processes.end();
}

/// Copies JSON without the members that are not `kept`. It reads of a value only where it ends. The
/// parser decides whether the kept text is JSON.
class Sieve {
 public:
  using Keep = bool(std::string_view name);
  Sieve(std::string_view text, Keep* keep) : text_(text), keep_(keep) {}

  /// Nothing: it nests too deep, or ends in the midst of something.
  std::optional<std::string> kept() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        const std::size_t begin = at_;
        const std::string_view word = take_string();
        if (is_at_colon() && !keep_(word)) leave_out(begin);
        continue;
      }
      if ((c == '{' || c == '[') && ++depth > deepest_json) return std::nullopt;
      if (c == '}' || c == ']') --depth;
      ++at_;
    }
    if (at_ > text_.size()) return std::nullopt;
    kept_ += text_.substr(kept_to_);
    return std::move(kept_);
  }

 private:
  /// Without its quotes. A text without an end leaves the position beyond it.
  std::string_view take_string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      at_ += text_[at_] == '\\' ? 2 : 1;  // an escape, and what it is for
    }
    return text_.substr(begin, std::min(at_++, text_.size()) - begin);
  }

  [[nodiscard]] bool is_at_colon() const {
    std::size_t next = at_;
    while (next < text_.size() && is_blank(text_[next])) ++next;
    return next < text_.size() && text_[next] == ':';
  }

  /// The member whose name begins there, with its comma, or the one before it.
  void leave_out(std::size_t begin) {
    kept_ += text_.substr(kept_to_, begin - kept_to_);
    skip_value();
    if (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
    } else {
      while (!kept_.empty() && is_blank(kept_.back())) kept_.pop_back();
      if (kept_.ends_with(',')) kept_.pop_back();
    }
    kept_to_ = std::min(at_, text_.size());
  }

  void skip_value() {
    int inside = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        (void)take_string();
        continue;
      }
      if (inside == 0 && (c == ',' || c == '}')) return;
      if (c == '{' || c == '[') ++inside;
      if (c == '}' || c == ']') --inside;
      ++at_;
    }
    at_ = text_.size() + 1;
  }

  std::string_view text_;
  Keep* keep_;
  std::size_t at_ = 0;
  std::string kept_;
  std::size_t kept_to_ = 0;  // of the text: what comes before was kept, or left out
};

/// Whether its lists are lists of objects, as their readers assume.
bool is_snapshot(const Json& json) {
  if (!json.is_object()) return false;
  for (const char* list : {"devices", "gpu_processes", "processes", "leases"}) {
    const auto found = json.find(list);
    if (found == json.end()) continue;
    if (!found->is_array()) return false;
    if (!std::all_of(found->begin(), found->end(),
                     [](const Json& one) { return one.is_object(); })) {
      return false;
    }
  }
  return true;
}

Json sifted(std::string_view text, Sieve::Keep* keep) {
  const auto kept = Sieve(text, keep).kept();
  return kept ? parse_json(*kept).value_or(Json()) : Json();
}

/// The words of a command stand in its JSON one by one; the look keeps them as one text.
void join_commands(Json& snapshot) {
  const auto processes = snapshot.find("processes");
  if (processes == snapshot.end()) return;
  for (Json& process : *processes) {
    const auto command = process.find("command");
    if (command == process.end() || !command->is_array()) continue;
    std::vector<std::string> words;
    for (const Json& word : *command) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
    process["joined_command"] = shell_joined(words);
  }
}

}  // namespace

bool is_known_member(std::string_view name) {
  return std::binary_search(known_members.begin(), known_members.end(), name, stands_before);
}

std::shared_ptr<const ParsedLook> ParsedLook::read(std::string text) {
  Json known = sifted(
      text, [](std::string_view name) { return is_known_member(name) && !is_of_processes(name); });
  if (!is_snapshot(known)) return nullptr;
  return std::shared_ptr<const ParsedLook>(new ParsedLook(std::move(text), std::move(known)));
}

const Json& ParsedLook::processes() const {
  const std::lock_guard lock(mutex_);
  if (!processes_.is_null()) return processes_;
  Json all = sifted(
      text_, [](std::string_view name) { return is_known_member(name) && name != "devices"; });
  processes_ = is_snapshot(all) ? std::move(all) : Json::object();
  join_commands(processes_);
  return processes_;
}

const Json& ParsedLook::whole() const {
  const std::lock_guard lock(mutex_);
  if (!whole_.is_null()) return whole_;
  Json all = parse_json(text_).value_or(Json());
  whole_ = is_snapshot(all) ? std::move(all) : Json::object();
  return whole_;
}

}  // namespace berth::lib
