#include "place/request.h"

#include <algorithm>
#include <cstddef>

#include "base/json_archive.h"
#include "base/text.h"
#include "place/key_text.h"

namespace berth {

namespace {

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

std::optional<std::uint64_t> parse_digits(std::string_view text, std::size_t most) {
  return text.size() <= most ? parse_hex(text) : std::nullopt;
}

/// "[domain:]bus:device.function", hexadecimal.
std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  PciAddress address;
  if (parts.size() == 3) {
    address.domain = parse_digits(parts[0], 8);
    if (!address.domain) return std::nullopt;
  }
  const auto slot = split(parts.back(), '.');
  const auto bus = parse_digits(parts[parts.size() - 2], 2);
  const auto device = parse_digits(slot[0], 2);
  const auto function = slot.size() == 2 ? parse_digits(slot[1], 1) : std::nullopt;
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

}  // namespace

std::optional<Sentence> typographic_complaint(std::string_view text) {
  const auto mistake = typographic_mistake(text);
  if (!mistake) return std::nullopt;
  return sentence("\"{}\" has \"{}\" where an ASCII character is meant: write {}", printable(text),
                  mistake->found, shell_quoted(printable(without_quotes(mistake->corrected))));
}

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
                  "\"{}\" has an empty entry; write devices like 0,2,GPU-1a2b,*H100*",
                  printable(text));
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
      return fail(ErrorCode::invalid, "\"{}\" is less than 1 MiB of memory; write 10G or 50%",
                  printable(text));
    }
    return MemoryShare(*size);
  }
  const auto percent = parse_decimal(trimmed(whole.substr(0, whole.size() - 1)));
  if (!percent || *percent <= 0 || *percent > 100) {
    const auto complaint = typographic_complaint(text);
    return fail(ErrorCode::invalid,
                complaint ? *complaint
                          : sentence("\"{}\" is not a share of a device; write 10G or 50%",
                                     printable(text)));
  }
  return MemoryShare(Percent(*percent));
}

// One line of JSON, for a ticket in the queue. Other users' processes read it, perhaps of another
// version. All of it is hostile until it is a Request.

namespace {

constexpr int newest_version = 1;
constexpr std::size_t longest_text = 64 << 10;

void walk_version(Archive& archive) {
  std::optional<std::uint64_t> version;
  if (!archive.is_reading()) version = newest_version;
  archive.member("berth_request", version);
  if (!version) return archive.mistake(sentence("it has no \"berth_request\": 1"));
  if (*version == 0) archive.mistake(sentence("its version is 0"));
  if (*version > newest_version) {
    archive.mistake(sentence("its version {} is newer than this berth knows", *version));
  }
}

void walk(Archive& archive, Request& request) {
  walk_version(archive);
  for (const JobKey& key : request_keys()) key.walk(archive, request);
}

}  // namespace

std::string to_json(const Request& request) {
  Request copy = request;
  return write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, copy); });
}

Result<Request> request_from_json(std::string_view text) {
  if (text.size() > longest_text) {
    return fail(ErrorCode::invalid, "not a request of berth: too long");
  }
  Request request;
  const auto read = read_json(text, [&](Archive& archive) { walk(archive, request); });
  if (read) return request;
  return fail(read.error().code(), "not a request that berth can read: {}", read.error().said());
}

}  // namespace berth
