#include "probe/drm/fdinfo.h"

#include <utility>

#include "base/text.h"

namespace berth::drm {

namespace {

/// "44564 KiB", "16 MiB", "0".
std::optional<Bytes> size_in(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const auto number = parse_unsigned(text.substr(0, blank));
  const std::string_view unit = blank == text.npos ? "" : trimmed(text.substr(blank));
  const unsigned shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
  constexpr std::uint64_t most = std::uint64_t{1} << 50U;
  if (!number || (shift == 0 && !unit.empty()) || *number > most >> shift) return std::nullopt;
  return Bytes{*number << shift};
}

/// What follows the beginning; nothing: it does not begin so.
std::optional<std::string> after(std::string_view key, std::string_view beginning) {
  if (!key.starts_with(beginning) || key.size() == beginning.size()) return std::nullopt;
  return std::string(key.substr(beginning.size()));
}

class FdinfoReader {
 public:
  void read(std::string_view key, std::string_view value) {
    if (key == "drm-driver") client_.driver = std::string(value);
    if (key == "drm-pdev") client_.pci_address = normal_pci_address(value).value_or("");
    if (key == "drm-client-id") id_ = parse_unsigned(value);
    if (const auto region = after(key, "drm-resident-")) {
      if (const auto size = size_in(value)) resident_[*region] = *size;
    } else if (const auto older = after(key, "drm-memory-")) {
      if (const auto size = size_in(value)) client_.memory[*older] = *size;
    } else if (const auto counted = after(key, "drm-engine-capacity-")) {
      const auto engines = parse_unsigned(value);
      if (engines && *engines > 0) client_.engines[*counted].engines = *engines;
    } else if (const auto engine = after(key, "drm-engine-")) {
      const auto busy = parse_unsigned(value.substr(0, value.find(' ')));
      if (busy && value.ends_with(" ns")) use(*engine).busy = *busy;
    } else if (const auto all = after(key, "drm-total-cycles-")) {
      if (const auto cycles = parse_unsigned(value)) client_.engines[*all].of = *cycles;
    } else if (const auto cycled = after(key, "drm-cycles-")) {
      if (const auto cycles = parse_unsigned(value)) use(*cycled).busy = *cycles;
    }
  }

  std::optional<Client> finish() {
    if (client_.driver.empty() || !id_) return std::nullopt;
    client_.id = *id_;
    for (auto& [region, size] : resident_) client_.memory[region] = size;
    std::erase_if(client_.engines, [&](const auto& one) { return !used_.contains(one.first); });
    return std::move(client_);
  }

 private:
  EngineUse& use(const std::string& engine) {
    used_[engine] = true;
    return client_.engines[engine];
  }

  Client client_;
  std::optional<std::uint64_t> id_;
  std::map<std::string, Bytes, std::less<>> resident_;
  std::map<std::string, bool, std::less<>> used_;  // not only its capacity is told
};

std::optional<Bytes> sum_of(const Client& client, auto is_meant) {
  std::optional<Bytes> sum;
  for (const auto& [region, size] : client.memory) {
    if (is_meant(region)) sum = sum.value_or(Bytes{0}) + size;
  }
  return sum;
}

}  // namespace

std::optional<Client> parse_fdinfo(std::string_view text) {
  FdinfoReader reader;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("drm-") || colon == line.npos) continue;
    reader.read(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return reader.finish();
}

std::optional<Bytes> memory_on_card(const Client& client) {
  return sum_of(client, [](std::string_view region) {
    return region.starts_with("vram") || region.starts_with("local");
  });
}

std::optional<Bytes> memory_of_host(const Client& client) {
  return sum_of(client, [](std::string_view region) {
    return region.starts_with("gtt") || region.starts_with("system");
  });
}

}  // namespace berth::drm
