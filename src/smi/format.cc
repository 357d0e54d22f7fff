#include "smi/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "smi/calendar.h"
#include "snapshot/device_fault.h"

namespace berth::smi {

namespace {

struct Words {
  Format format;
  std::string_view yes;
  std::string_view no;
};
constexpr auto word_pairs = std::to_array<Words>({
    {Format::enabled, "Enabled", "Disabled"},
    {Format::active, "Active", "Not Active"},
    {Format::yes_no, "Yes", "No"},
    {Format::zero_one, "1", "0"},
    {Format::on_off, "On", "Off"},
    {Format::lower_enabled, "enabled", "disabled"},
    {Format::valid, "valid", "invalid"},
});

/// A number with what stands behind it: text and XML have `suffix`, CSV `csv` or nothing.
struct Suffix {
  Format format;
  std::string_view suffix;
  std::string_view csv;  // the unit in CSV's header and cells
};
constexpr auto suffixes = std::to_array<Suffix>({
    {Format::memory, " MiB", "MiB"},
    {Format::kilobytes_rate, " KB/s", ""},
    {Format::percent, " %", "%"},
    {Format::percent_exact, "%", "%"},
    {Format::watts, " W", "W"},
    {Format::megahertz, " MHz", "MHz"},
    {Format::celsius, " C", ""},
    {Format::microseconds, " us", "us"},
    {Format::milliseconds, " ms", "ms"},
    {Format::seconds, " sec", "s"},
    {Format::span, " sec", ""},
    {Format::millivolts, " mV", "mV"},
    {Format::width, "x", ""},
    {Format::banks, " bank(s)", ""},
});

const Words* words_of(Format format) {
  const auto found = std::ranges::find(word_pairs, format, &Words::format);
  return found == word_pairs.end() ? nullptr : &*found;
}
const Suffix* suffix_of(Format format) {
  const auto found = std::ranges::find(suffixes, format, &Suffix::format);
  return found == suffixes.end() ? nullptr : &*found;
}

double number_in(const Scalar& value) {
  return std::visit(
      [](const auto& inner) -> double {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(inner)>>) {
          return static_cast<double>(inner);
        } else {
          return 0;
        }
      },
      value);
}

std::uint64_t count_in(const Scalar& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return *number;
  const double number = number_in(value);
  return number >= 0 && number < 1.8e19 ? static_cast<std::uint64_t>(number) : 0;
}

std::string plain(const Scalar& value) {
  return std::visit(
      [](const auto& inner) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(inner)>, bool>) {
          return inner ? "Yes" : "No";
        } else {
          return fmt::format("{}", inner);
        }
      },
      value);
}

/// "10de:2330": the vendor's number stands last in nvidia-smi's.
std::string swapped_pci_number(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2) return capitals(text);
  return capitals(std::string(parts[1]) + std::string(parts[0]));
}

/// Without unit and prefix.
std::string digits(const Scalar& value, Format format) {
  switch (format) {
    case Format::memory:
      return fmt::format("{}", mebibytes(count_in(value)));
    case Format::kilobytes_rate:
      return fmt::format("{}", count_in(value) / 1000);
    case Format::watts:
    case Format::span:
      return fmt::format("{:.2f}", number_in(value) / 1000);
    case Format::percent_exact:
      return fmt::format("{:.2f}", number_in(value));
    case Format::percent:
      return fmt::format("{:.0f}", number_in(value));
    case Format::millivolts:
      return fmt::format("{:.3f}", number_in(value));
    default:
      return plain(value);
  }
}

std::string with_prefix(std::string text, Surface surface) {
  return surface == Surface::xml ? text : "0x" + text;
}

}  // namespace

std::uint64_t mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t one = 1 << 20;
  return bytes / one + (bytes % one == 0 ? 0 : 1);
}

std::string_view unit_of(Format format) {
  const Suffix* suffix = suffix_of(format);
  return suffix == nullptr ? std::string_view() : suffix->csv;
}

std::string shown(const Scalar& value, Format format, Surface surface) {
  if (const Words* words = words_of(format)) {
    const auto* yes = std::get_if<bool>(&value);
    return yes == nullptr ? plain(value) : std::string(*yes ? words->yes : words->no);
  }
  if (const Suffix* suffix = suffix_of(format)) {
    std::string text = digits(value, format);
    if (surface == Surface::text || surface == Surface::xml) {
      text += suffix->suffix;
    } else if (surface == Surface::csv && !suffix->csv.empty()) {
      text += ' ';
      text += suffix->csv;
    }
    return text;
  }
  switch (format) {
    case Format::hex:
      return fmt::format("{:#x}", count_in(value));
    case Format::hex_wide:
      return fmt::format("{:#018x}", count_in(value));
    case Format::mask:
      return fmt::format("0x{:016X}", count_in(value));
    case Format::pci_part:
      return with_prefix(fmt::format("{:02X}", count_in(value)), surface);
    case Format::pci_domain:
      return with_prefix(fmt::format("{:04X}", count_in(value)), surface);
    case Format::pci_class:
      return with_prefix(fmt::format("{:X}", count_in(value)), surface);
    case Format::pci_number:
      return with_prefix(swapped_pci_number(plain(value)), surface);
    case Format::bus_id:
      return capitals(plain(value));
    case Format::words:
      return plain(value) + " ";
    case Format::management:
      if (surface == Surface::text || surface == Surface::xml) return plain(value);
      return plain(value) == "Supported" ? "Enabled" : "Disabled";
    case Format::performance_state:
      return "P" + plain(value);
    case Format::date:
      return date_with_milliseconds(static_cast<std::int64_t>(number_in(value)), {});
    case Format::calendar:
      return date_in_words(WallTime{static_cast<std::int64_t>(number_in(value))}, {});
    default:
      return plain(value);
  }
}

namespace {

std::string_view said_of(Failure failure) {
  switch (failure) {
    case Failure::unknown_error:
      return "Unknown Error";
    case Failure::gpu_is_lost:
      return "GPU is lost";
    case Failure::requires_reset:
      return "GPU requires reset";
  }
  return "Unknown Error";
}

}  // namespace

Failure failure_on(const Device& device) {
  if (device.lost) return Failure::gpu_is_lost;
  return device.unusable_because == Unusable::must_be_reset ? Failure::requires_reset
                                                            : Failure::unknown_error;
}

std::string shown_absent(Absent why, Failure failure, Surface surface) {
  std::string_view text = "N/A";
  if (why == Absent::no_permission) text = "Insufficient Permissions";
  if (why == Absent::failed) text = said_of(failure);
  const bool bracketed = surface == Surface::csv || surface == Surface::csv_without_units;
  return bracketed ? fmt::format("[{}]", text) : std::string(text);
}

std::optional<Absent> absent_from(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  constexpr auto reasons = std::to_array<std::pair<std::string_view, Absent>>({
      {"N/A", Absent::unsupported},
      {"Not Supported", Absent::unsupported},
      {"Not Available", Absent::unsupported},
      {"Function Not Found", Absent::unsupported},
      {"Not available in WDDM driver model", Absent::unsupported},
      {deprecated_text, Absent::unsupported},
      {"Insufficient Permissions", Absent::no_permission},
      {"GPU is lost", Absent::failed},
      {"GPU requires reset", Absent::failed},
      {"Unknown Error", Absent::failed},
      {"ERR!", Absent::failed},
  });
  for (const auto& [word, why] : reasons) {
    if (equals_ignoring_case(text, word)) return why;
  }
  return std::nullopt;
}

namespace {

std::optional<Cell> from_words(std::string_view text, const Words& words) {
  if (equals_ignoring_case(text, words.yes)) return Cell(Scalar(true));
  if (equals_ignoring_case(text, words.no)) return Cell(Scalar(false));
  return std::nullopt;
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return trimmed(text);
}

std::optional<Cell> scaled(std::string_view text, double scale) {
  const auto number = parse_decimal(text);
  if (!number || *number * scale > 9e18) return std::nullopt;
  return Cell(Scalar(static_cast<std::uint64_t>(std::llround(*number * scale))));
}

std::optional<Cell> whole(std::string_view text, std::uint64_t scale) {
  const auto number = parse_unsigned(text);
  if (!number || *number > (std::uint64_t{1} << 62) / scale) return std::nullopt;
  return Cell(Scalar(*number * scale));
}

std::optional<Cell> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const auto number = parse_hex(text);
  return number ? std::optional<Cell>(Scalar(*number)) : std::nullopt;
}

/// 0x233010DE is device 2330 of vendor 10de.
std::optional<Cell> pci_number(std::string_view text) {
  const auto number = hexadecimal(text);
  if (!number) return std::nullopt;
  const auto value = std::get<std::uint64_t>(*number->get());
  if (value > 0xffffffff) return std::nullopt;
  return Cell(Scalar(fmt::format("{:04x}:{:04x}", value & 0xffff, value >> 16)));
}

/// Drivers before 384 wrote a domain of four digits; ours has eight.
std::optional<Cell> bus_id(std::string_view text) {
  std::string address = small_letters(text);
  const std::size_t colon = address.find(':');
  if (colon == std::string::npos || colon > 8) return std::nullopt;
  address.insert(0, 8 - colon, '0');
  constexpr std::string_view form = "xxxxxxxx:xx:xx.x";
  if (address.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = std::string_view("0123456789abcdef").find(address[i]) != std::string::npos;
    if (form[i] == 'x' ? !digit : address[i] != form[i]) return std::nullopt;
  }
  return Cell(Scalar(std::move(address)));
}

std::optional<Cell> number_from(std::string_view text, Format format) {
  switch (format) {
    case Format::memory:
      return whole(text, 1 << 20);
    case Format::kilobytes_rate:
      return whole(text, 1000);
    case Format::watts:
    case Format::span:
      return scaled(text, 1000);
    case Format::celsius: {
      const auto number = parse_signed(text);
      return number ? std::optional(Cell(Scalar(*number))) : std::nullopt;
    }
    case Format::percent:
    case Format::percent_exact: {
      const auto number = parse_decimal(text);
      return number ? std::optional(Cell(Scalar(*number))) : std::nullopt;
    }
    case Format::millivolts:
      return scaled(text, 1);
    default:
      return whole(text, 1);
  }
}

}  // namespace

std::optional<Cell> read_back(std::string_view text, Format format) {
  text = trimmed(text);
  if (const auto why = absent_from(text)) return Cell(*why);
  if (const Words* words = words_of(format)) return from_words(text, *words);
  if (const Suffix* suffix = suffix_of(format)) {
    return number_from(without_suffix(text, trimmed(suffix->suffix)), format);
  }
  switch (format) {
    case Format::hex:
    case Format::hex_wide:
    case Format::mask:
    case Format::pci_part:
    case Format::pci_domain:
    case Format::pci_class:
      return hexadecimal(text);
    case Format::pci_number:
      return pci_number(text);
    case Format::bus_id:
      return bus_id(text);
    case Format::performance_state:
      return text.starts_with('P') ? whole(text.substr(1), 1) : std::nullopt;
    case Format::number:
      return whole(text, 1);
    case Format::date:
    case Format::calendar: {
      const auto when = read_date(text);
      return when ? std::optional(Cell(Scalar(when->unix_ms))) : std::nullopt;
    }
    default:
      return Cell(Scalar(std::string(text)));
  }
}

}  // namespace berth::smi
