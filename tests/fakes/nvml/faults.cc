#include "faults.h"

#include <cstdio>

#include "base/text.h"

namespace fake_nvml {

namespace {

std::optional<Wrong> parse_wrong(std::string_view text) {
  constexpr std::string_view sleep = "sleep:";
  constexpr std::string_view lie = "lie:";
  if (text == "hang") return Hang{};
  if (text.starts_with(lie)) return Lie{std::string(text.substr(lie.size()))};
  if (text.starts_with(sleep)) {
    const auto how_long = berth::parse_duration(text.substr(sleep.size()));
    if (!how_long) return std::nullopt;
    return Sleep{*how_long};
  }
  const bool below_zero = text.starts_with('-');  // as DCMI's are
  const auto code = berth::parse_unsigned(text.substr(below_zero ? 1 : 0));
  if (!code) return std::nullopt;
  return static_cast<int>(*code) * (below_zero ? -1 : 1);
}

bool fits(std::string_view pattern, std::string_view text) {
  return pattern == "*" || pattern == text;
}

}  // namespace

std::vector<Fault> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  std::string one_line(text);
  for (char& c : one_line) {
    if (c == '\n') c = ';';
  }
  for (const std::string_view entry : berth::split(one_line, ';')) {
    const std::string_view fault = berth::trimmed(entry);
    if (fault.empty()) continue;
    const std::size_t equals = fault.find('=');
    const std::string_view target = fault.substr(0, equals);
    const std::size_t at = target.find('@');
    const auto what =
        equals == std::string_view::npos ? std::nullopt : parse_wrong(fault.substr(equals + 1));
    if (!what) {
      std::fprintf(stderr, "fake NVML: fault not understood: %s\n", std::string(fault).c_str());
      continue;
    }
    const std::string_view device =
        at == std::string_view::npos ? std::string_view("*") : target.substr(at + 1);
    faults.push_back({std::string(target.substr(0, at)), std::string(device), *what});
  }
  return faults;
}

const Fault* find_fault(const std::vector<Fault>& faults, std::string_view function,
                        std::string_view device) {
  for (const Fault& fault : faults) {
    if (fits(fault.function, function) && fits(fault.device, device)) return &fault;
  }
  return nullptr;
}

}  // namespace fake_nvml
