#include "place/request.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"
#include "base/tr.h"
#include "place/words.h"

namespace berth {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// `*` stands for any text, `?` for one byte. Linear but for the last star, so that a hostile
/// pattern costs length times length at most.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || lower(pattern[p]) == lower(text[t]))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct PciAddress {
  std::optional<std::uint64_t> domain;
  std::uint64_t bus = 0;
  std::uint64_t device = 0;
  std::uint64_t function = 0;
};

std::optional<std::uint64_t> parse_hex(std::string_view text, std::size_t most_digits) {
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const char l = lower(c);
    const bool digit = l >= '0' && l <= '9';
    if (!digit && (l < 'a' || l > 'f')) return std::nullopt;
    value = value * 16 + static_cast<std::uint64_t>(digit ? l - '0' : l - 'a' + 10);
  }
  return value;
}

/// "[domain:]bus:device.function", hexadecimal.
std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  PciAddress address;
  if (parts.size() == 3) {
    address.domain = parse_hex(parts[0], 8);
    if (!address.domain) return std::nullopt;
  }
  const auto slot = split(parts.back(), '.');
  const auto bus = parse_hex(parts[parts.size() - 2], 2);
  const auto device = parse_hex(slot[0], 2);
  const auto function = slot.size() == 2 ? parse_hex(slot[1], 1) : std::nullopt;
  if (!bus || !device || !function) return std::nullopt;
  address.bus = *bus;
  address.device = *device;
  address.function = *function;
  return address;
}

bool same_address(const PciAddress& pattern, std::string_view text) {
  const auto address = parse_pci_address(text);
  return address && pattern.bus == address->bus && pattern.device == address->device &&
         pattern.function == address->function &&
         (!pattern.domain || pattern.domain == address->domain);
}

/// Says which character is wrong and how the text was meant; nothing where it is all right.
std::optional<std::string> typographic_complaint(std::string_view text) {
  const auto mistake = typographic_mistake(text);
  if (!mistake) return std::nullopt;
  return trf("\"{}\" has \"{}\" where an ASCII character is meant: write {}", printable(text),
             mistake->found, shell_quoted(printable(without_quotes(mistake->corrected))));
}

}  // namespace

bool matches(const DevicePattern& pattern, const Device& device) {
  const std::string_view text = pattern.text;
  if (all_digits(text)) {
    const auto index = parse_unsigned(text);
    return index && device.index && static_cast<std::uint64_t>(*device.index) == *index;
  }
  if (text.empty()) return false;
  if (text == device.id.text()) return true;
  if (has_prefix(text, "GPU-") || has_prefix(text, "MIG-")) {
    return has_prefix(device.id.text(), text) ||
           (device.uuid.get() && has_prefix(*device.uuid.get(), text)) ||
           (device.parent && has_prefix(device.parent->text(), text));
  }
  if (const auto address = parse_pci_address(text)) {
    return same_address(*address, device.pci_address.get().value_or(device.id.text()));
  }
  return device.name.get() && glob_matches(text, *device.name.get());
}

Result<std::vector<DevicePattern>> parse_patterns(std::string_view text) {
  if (const auto complaint = typographic_complaint(text)) {
    return fail(ErrorCode::invalid, *complaint);
  }
  std::vector<DevicePattern> patterns;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view entry = trimmed(part);
    if (entry.empty()) {
      return fail(ErrorCode::invalid,
                  trf("\"{}\" has an empty entry; write devices like 0,2,GPU-1a2b,*H100*",
                      printable(text)));
    }
    patterns.push_back({std::string(entry)});
  }
  return patterns;
}

Result<MemoryShare> parse_share(std::string_view text) {
  const std::string_view whole = trimmed(text);
  if (whole.empty() || whole.back() != '%') {
    const auto size = parse_size(text);
    if (!size) return std::unexpected(size.error());
    // Nobody means "10 bytes": the G was forgotten.
    constexpr Bytes least{std::uint64_t{1} << 20};
    if (*size < least) {
      return fail(ErrorCode::invalid,
                  trf("\"{}\" is less than 1 MiB of memory; write 10G or 50%", printable(text)));
    }
    return MemoryShare(*size);
  }
  const auto percent = parse_decimal(trimmed(whole.substr(0, whole.size() - 1)));
  if (!percent || *percent <= 0 || *percent > 100) {
    const auto complaint = typographic_complaint(text);
    return fail(ErrorCode::invalid,
                complaint
                    ? *complaint
                    : trf("\"{}\" is not a share of a device; write 10G or 50%", printable(text)));
  }
  return MemoryShare(Percent(*percent));
}

Result<void> parse_preference(std::string_view text, Request& request) {
  for (const auto& [preference, word] : preference_words) {
    if (!word.empty() && word == trimmed(text)) {
      request.prefer = preference;
      request.preferred.clear();
      return {};
    }
  }
  auto patterns = parse_patterns(text);
  if (!patterns) return std::unexpected(std::move(patterns).error());
  for (const DevicePattern& pattern : *patterns) {
    // "bestfit" is a slip, not the name of a card.
    if (pattern.text.find_first_of("0123456789*?:-") == std::string::npos) {
      return fail(ErrorCode::invalid,
                  trf("\"{}\" is no preference; write best-fit, most-free, spread or devices "
                      "like 3,1,*A100*",
                      printable(pattern.text)));
    }
  }
  request.prefer = Preference::listed;
  request.preferred = std::move(*patterns);
  return {};
}

Result<ComputeCapability> parse_compute(std::string_view text) {
  const auto parts = split(trimmed(text), '.');
  const auto major = parse_unsigned(parts[0]);
  const auto minor = parts.size() > 1 ? parse_unsigned(parts[1]) : std::optional<std::uint64_t>(0);
  if (parts.size() > 2 || !major || !minor || *major == 0 || *major > 49 || *minor > 9) {
    const auto complaint = typographic_complaint(text);
    return fail(ErrorCode::invalid,
                complaint
                    ? *complaint
                    : trf("\"{}\" is not a compute capability; write 8.0 or 8.6", printable(text)));
  }
  return ComputeCapability{static_cast<int>(*major), static_cast<int>(*minor)};
}

Result<std::vector<Need>> parse_needs(std::string_view text) {
  std::vector<Need> needs;
  for (const std::string_view part : split(text, ',')) {
    const auto* known = std::find_if(need_facts.begin(), need_facts.end(), [&](const auto& facts) {
      return equals_ignoring_case(facts.word, trimmed(part));
    });
    if (known == need_facts.end()) {
      const auto complaint = typographic_complaint(text);
      return fail(ErrorCode::invalid,
                  complaint ? *complaint
                            : trf("\"{}\" is no feature that can be asked for; write bf16 or fp8",
                                  printable(part)));
    }
    if (std::find(needs.begin(), needs.end(), known->need) == needs.end()) {
      needs.push_back(known->need);
    }
  }
  return needs;
}

namespace {

std::string typed_size(Bytes size) {
  constexpr std::array<std::pair<int, char>, 4> units = {
      {{40, 'T'}, {30, 'G'}, {20, 'M'}, {10, 'K'}}};
  for (const auto& [shift, letter] : units) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (size.count() >= unit && size.count() % unit == 0) {
      return std::to_string(size.count() / unit) + letter;
    }
  }
  return std::to_string(size.count());
}

std::string typed_duration(std::int64_t ms) {
  constexpr std::array<std::pair<std::int64_t, char>, 3> units = {
      {{3'600'000, 'h'}, {60'000, 'm'}, {1000, 's'}}};
  for (const auto& [unit, letter] : units) {
    if (ms >= unit && ms % unit == 0) return std::to_string(ms / unit) + letter;
  }
  return std::to_string(ms) + "ms";
}

std::string typed_patterns(const std::vector<DevicePattern>& patterns) {
  std::string list;
  for (const DevicePattern& pattern : patterns) {
    if (!list.empty()) list += ',';
    list += pattern.text;
  }
  return shell_quoted(list);
}

std::string typed_preference(const Request& request) {
  if (request.prefer == Preference::listed) return typed_patterns(request.preferred);
  for (const auto& [preference, word] : preference_words) {
    if (preference == request.prefer) return std::string(word);
  }
  return {};
}

std::string typed_needs(const std::vector<Need>& needs) {
  std::string list;
  for (const Need need : needs) {
    if (!list.empty()) list += ',';
    list += facts_of(need).word;
  }
  return list;
}

}  // namespace

std::string as_typed(const Request& request) {
  std::string line = "-n " + std::to_string(request.devices);
  if (request.memory) {
    const auto* size = std::get_if<Bytes>(&*request.memory);
    line += " --memory " + (size != nullptr
                                ? typed_size(*size)
                                : fmt::format("{}%", std::get<Percent>(*request.memory).count()));
  }
  if (!request.only.empty()) line += " --only " + typed_patterns(request.only);
  if (!request.except.empty()) line += " --except " + typed_patterns(request.except);
  if (request.prefer != Preference::best_fit) line += " --prefer " + typed_preference(request);
  if (request.min_compute) {
    line +=
        fmt::format(" --min-compute {}.{}", request.min_compute->major, request.min_compute->minor);
  }
  if (!request.needs.empty()) line += " --need " + typed_needs(request.needs);
  if (request.max_utilization) {
    line += fmt::format(" --max-utilization {}", request.max_utilization->count());
  }
  if (request.idle_for) line += " --idle-for " + typed_duration(request.idle_for->count());
  if (request.allow_failed) line += " --allow-failed";
  return line;
}

std::string as_typed(const Request& request, RunWhere where, std::chrono::milliseconds cpu_after) {
  switch (where) {
    case RunWhere::gpu:
      return as_typed(request);
    case RunWhere::gpu_or_cpu:
      return as_typed(request) + " --or-cpu" +
             (cpu_after.count() > 0 ? "=" + typed_duration(cpu_after.count()) : "");
    case RunWhere::cpu:
      return "--cpu";
  }
  return as_typed(request);
}

}  // namespace berth
