#include "snapshot/device_kind.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "snapshot/device_kind_rows.h"

namespace berth {

namespace {
constexpr std::span<const DeviceKindFacts> kinds = kind_rows::all;

// --- what the table has to have, so that the compiler names what a new kind lacks ----------------

constexpr bool has_one_row(DeviceKind kind) {
  return std::ranges::count(kinds, kind, &DeviceKindFacts::kind) == 1;
}
constexpr bool each_kind_has_one_row() {
  for (int kind = 0; kind <= static_cast<int>(DeviceKind::other); ++kind) {
    if (!has_one_row(static_cast<DeviceKind>(kind))) return false;
  }
  return kinds.size() == static_cast<std::size_t>(DeviceKind::other) + 1;
}
static_assert(each_kind_has_one_row(), "device_kind_rows.h has a row for each kind, and no other");

constexpr bool each_runtime_has_a_row() {
  for (std::size_t one = 0; one < runtime_count; ++one) {
    if (std::ranges::count(kinds, static_cast<Runtime>(one), &DeviceKindFacts::runtime) == 0) {
      return false;
    }
  }
  return std::ranges::all_of(kinds, [](const DeviceKindFacts& facts) {
    return static_cast<std::size_t>(facts.runtime) < runtime_count;
  });
}
static_assert(each_runtime_has_a_row(), "runtime_count counts each of Runtime, and each has a row");

/// Else a process on it would be nobody, `--cpu` would leave it visible to a job, and `--isolate`
/// open. That nobody knows how its maker hides all, or what its driver logs, is said by
/// `may_be_presence`.
constexpr bool is_complete(const DeviceKindFacts& facts) {
  const bool is_seen = !facts.file_beginnings.empty() && !facts.source.empty();
  const bool is_hidden = !facts.hiding.empty() || facts.may_be_presence;
  const bool is_closed = !facts.numbered_files.empty();
  const bool is_shown = facts.runtime == Runtime::none ||
                        !(facts.visible_variable.empty() || facts.runtime_name.empty());
  const bool is_told = !facts.log_words.empty() || facts.may_be_presence;
  return !facts.is_supported || (is_seen && is_hidden && is_closed && is_shown && is_told);
}
static_assert(std::ranges::all_of(kinds, is_complete),
              "a supported kind says its files, its source, its log, what hides it and shows it");
static_assert(std::ranges::all_of(kinds,
                                  [](const DeviceKindFacts& facts) {
                                    return facts.torch.device_type.empty() ==
                                           facts.torch.library.empty();
                                  }),
              "what PyTorch computes on has the library that does it");

constexpr auto file_beginnings = kind_rows::all_of_kinds<&DeviceKindFacts::file_beginnings>();
constexpr auto numbered = kind_rows::all_of_kinds<&DeviceKindFacts::numbered_files>();
}  // namespace

std::span<const DeviceKindFacts> device_kinds() { return kinds; }

const DeviceKindFacts& facts_of(DeviceKind kind) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.kind == kind) return facts;
  }
  BERTH_CHECK(false, "every kind of device has a row in the table");
}

const DeviceKindFacts& facts_of(Runtime runtime) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.runtime == runtime) return facts;
  }
  BERTH_CHECK(false, "every runtime has a row in the table");
}

bool is_driver(std::string_view source) {
  return std::ranges::any_of(kinds, [&](const DeviceKindFacts& facts) {
    return !source.empty() && facts.source == source;
  });
}

std::optional<DeviceKind> device_kind_from_name(std::string_view name) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.name == name) return facts.kind;
  }
  return std::nullopt;
}

std::vector<std::string_view> kind_words() {
  std::vector<std::string_view> words;
  for (const DeviceKindFacts& facts : kinds) {
    const bool is_new = std::ranges::find(words, facts.word) == words.end();
    if (!facts.word.empty() && is_new) words.push_back(facts.word);
  }
  return words;
}

std::string log_expression() {
  constexpr auto words = kind_rows::all_of_kinds<&DeviceKindFacts::log_words>();
  return joined(std::span(words.entries).first(words.count), "|");
}

std::optional<Runtime> runtime_of_vendor(std::string_view vendor) {
  for (const DeviceKindFacts& facts : kinds) {
    if (!vendor.empty() && facts.vendor == vendor) return facts.runtime;
  }
  return std::nullopt;
}

std::string_view used_is_hidden_because(const Device& device) {
  const bool is_hidden = !device.integrated && !device.memory_used.get() &&
                         device.memory_used.why() == Absent::no_permission;
  return is_hidden ? facts_of(device.kind).used_is_sum_because : std::string_view();
}

std::optional<std::vector<std::string>> files_for_container(
    const std::vector<const Device*>& devices) {
  std::vector<std::string> files;
  const auto add = [&](std::string file) {
    if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
  };
  for (const Device* device : devices) {
    const DeviceKindFacts& facts = facts_of(device->kind);
    const auto& minor = device->minor_number.get();
    if (!facts.is_given_by_files || !minor) return std::nullopt;
    for (const std::string_view file : facts.further_files) add(std::string(file));
    add(std::string(facts.card_file) + std::to_string(*minor));
  }
  return files;
}

Reading<std::uint64_t> card_file_number(const Device& device) {
  const bool is_known = !facts_of(device.kind).card_file.empty();
  return is_known ? device.minor_number : Reading<std::uint64_t>(Absent::unsupported);
}

std::optional<CardFile> card_file_of(std::string_view path) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.card_file.empty() || !path.starts_with(facts.card_file)) continue;
    // "/dev/nvidiactl" has no number.
    if (const auto minor = parse_unsigned(path.substr(facts.card_file.size()))) {
      return CardFile{facts.card_file, *minor};
    }
  }
  return std::nullopt;
}

std::span<const std::string_view> choosing_variables() {
  return std::span(kind_rows::choosing.entries).first(kind_rows::choosing.count);
}

std::span<const std::string_view> device_file_beginnings() {
  return std::span(file_beginnings.entries).first(file_beginnings.count);
}

std::span<const std::string_view> numbered_files() {
  return std::span(numbered.entries).first(numbered.count);
}

}  // namespace berth
