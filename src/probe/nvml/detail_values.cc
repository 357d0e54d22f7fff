#include "probe/nvml/detail_values.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "probe/nvml/answers.h"
#include "snapshot/cell.h"

namespace berth::nvml {

namespace {

// Words are nvidia-smi's, as printed for known machines, unless said otherwise. An empty word is a
// number that means "not supported".
using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> addressing_modes = {"None", "HMM", "ATS"};
constexpr std::array<std::string_view, 3> driver_models = {"WDDM", "TCC", "MCDM"};
constexpr std::array<std::string_view, 3> operation_modes = {"All On", "Compute",
                                                             "Low Double Precision"};
constexpr std::array<std::string_view, 5> virtualization_modes = {"None", "Pass-Through", "VGPU",
                                                                  "Host VGPU", "Host VSGA"};
constexpr std::array<std::string_view, 2> host_vgpu_modes = {"Non SR-IOV", "SR-IOV"};
constexpr std::array<std::string_view, 2> mode_words = {"Disabled", "Enabled"};
constexpr std::array<std::string_view, 2> supported_words = {"Not Supported", "Supported"};
// "None" alone was seen printed; the others are nvml.h's words beside the field.
constexpr std::array<std::string_view, 6> recovery_actions = {
    "None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Recover IMEX Domain"};
constexpr std::array<std::string_view, 2> peer_types = {"Direct Connected", "Switch Connected"};
constexpr std::array<std::string_view, 4> fabric_states = {"", "Not Started", "In Progress",
                                                           "Completed"};
constexpr std::array<std::string_view, 4> fabric_summaries = {"", "Healthy", "Unhealthy",
                                                              "Limited Capacity"};
constexpr std::array<std::string_view, 3> fabric_bandwidths = {"", "Degraded", "Full"};
constexpr std::array<std::string_view, 3> fabric_routes = {"", "True", "False"};
// "None" alone was seen printed; the others after NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_….
constexpr std::array<std::string_view, 9> fabric_configurations = {"",
                                                                   "None",
                                                                   "Incorrect SysGUID",
                                                                   "Incorrect Chassis SN",
                                                                   "No Partition",
                                                                   "Insufficient Nvlinks",
                                                                   "Incompatible GPU Firmware",
                                                                   "Invalid Location",
                                                                   "GPU State Invalid"};
constexpr std::array<std::string_view, 2> bridge_chips = {"PLX", "BRO4"};
constexpr std::array<std::string_view, 7> atomic_operations = {
    "FETCHADD_32", "FETCHADD_64", "SWAP_32", "SWAP_64", "CAS_32", "CAS_64", "CAS_128"};

Cell word(Words words, std::int64_t number) {
  if (std::cmp_greater_equal(number, words.size())) return Absent::failed;
  const std::string_view found = words[static_cast<std::size_t>(number)];
  if (found.empty()) return Absent::unsupported;
  return Scalar(std::string(found));
}

/// "FETCHADD_32 CAS_32" of a mask, as nvidia-smi lists them.
Cell atomics(std::int64_t mask) {
  if (mask >= 1 << atomic_operations.size()) return Absent::failed;
  std::string listed;
  for (std::size_t bit = 0; bit < atomic_operations.size(); ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    listed += (listed.empty() ? "" : " ") + std::string(atomic_operations[bit]);
  }
  if (listed.empty()) return Absent::unsupported;
  return Scalar(listed);
}

template <class T>
Cell quantity(std::int64_t number) {
  return cell_value(T(static_cast<typename T::rep>(number)));
}

constexpr bool may_be_below_zero(As as) { return as == As::celsius; }
constexpr bool is_never_zero(As as) {
  return as == As::pcie_generation || as == As::celsius_limit || as == As::megahertz_limit;
}

}  // namespace

Cell cell_as(As as, std::int64_t number) {
  if (!may_be_below_zero(as)) {
    if (number < 0) return Absent::failed;
    if (is_unavailable(static_cast<std::uint64_t>(number))) return Absent::unsupported;
  }
  if (number == 0 && is_never_zero(as)) return Absent::unsupported;
  switch (as) {
    case As::number:
      return Scalar(static_cast<std::uint64_t>(number));
    case As::yes_or_no:
      if (number > 1) return Absent::failed;
      return Scalar(number == 1);
    case As::any_yes:
      return Scalar(number != 0);
    case As::percent:
      if (number > 100) return Absent::failed;
      return quantity<Percent>(number);
    case As::percent_over_100:
      return quantity<Percent>(number);
    case As::performance_state:
      if (number == 32) return Absent::unsupported;
      if (number > 15) return Absent::failed;
      return Scalar(static_cast<std::uint64_t>(number));
    case As::pcie_generation:
      if (std::cmp_greater(number, pcie_generations.most)) return Absent::failed;
      return Scalar(static_cast<std::uint64_t>(number));
    case As::celsius:
    case As::celsius_limit:
      if (number > most_degrees || number < -most_degrees) return Absent::failed;
      return quantity<Celsius>(number);
    case As::milliwatts:
      if (number > most_milliwatts) return Absent::failed;
      return quantity<Milliwatts>(number);
    case As::of_watts:
      if (number > most_milliwatts / 1000) return Absent::failed;
      return quantity<Milliwatts>(number * 1000);
    case As::megahertz:
    case As::megahertz_limit:
      if (number > most_megahertz) return Absent::failed;
      return quantity<Megahertz>(number);
    case As::bytes:
      return quantity<Bytes>(number);
    case As::microseconds:
      return quantity<Microseconds>(number);
    case As::of_nanoseconds:
      return quantity<Microseconds>(number / 1000);
    case As::milliseconds:
      return quantity<Milliseconds>(number);
    case As::seconds:
      return quantity<Seconds>(number);
    case As::addressing_mode:
      return word(addressing_modes, number);
    case As::driver_model:
      return word(driver_models, number);
    case As::operation_mode:
      return word(operation_modes, number);
    case As::virtualization_mode:
      return word(virtualization_modes, number);
    case As::host_vgpu_mode:
      return word(host_vgpu_modes, number);
    case As::mode_word:
      return word(mode_words, number);
    case As::supported_word:
      return word(supported_words, number);
    case As::recovery_action:
      return word(recovery_actions, number);
    case As::peer_type:
      return word(peer_types, number);
    case As::fabric_state:
      return word(fabric_states, number);
    case As::fabric_summary:
      return word(fabric_summaries, number);
    case As::fabric_bandwidth:
      return word(fabric_bandwidths, number);
    case As::fabric_route:
      return word(fabric_routes, number);
    case As::fabric_configuration:
      return word(fabric_configurations, number);
    case As::bridge_chip:
      return word(bridge_chips, number);
    case As::pcie_atomics:
      return atomics(number);
  }
  return Absent::failed;
}

Cell cell_as_fraction(As as, double number) {
  if (!(number >= -9.0e15 && number <= 9.0e15)) return Absent::failed;
  if (std::fpclassify(number) == FP_SUBNORMAL) return Absent::failed;  // the bits of a whole number
  if (as == As::percent || as == As::percent_over_100) {
    if (number < 0 || (as == As::percent && number > 100)) return Absent::failed;
    return cell_value(Percent(number));
  }
  if (as == As::of_watts) return cell_as(As::milliwatts, std::llround(number * 1000));
  return cell_as(as, std::llround(number));
}

Cell cell_of_count(std::uint64_t number) {
  if (is_unavailable(number)) return Absent::unsupported;
  return Scalar(number);
}

std::optional<std::int64_t> whole_of(const FieldValue& field) {
  switch (field.value_type) {
    case value_is_unsigned:
      return field.value.as_unsigned;
    case value_is_unsigned_long:
    case value_is_unsigned_long_long:
      if (!std::in_range<std::int64_t>(field.value.as_unsigned_long)) return std::nullopt;
      return static_cast<std::int64_t>(field.value.as_unsigned_long);
    case value_is_long_long:
      return field.value.as_long;
    case value_is_int:
      return field.value.as_int;
    case value_is_unsigned_short:
      return field.value.as_unsigned_short;
    default:
      return std::nullopt;
  }
}

Cell cell_of_field(As as, const FieldValue& field) {
  if (field.value_type == value_is_double) return cell_as_fraction(as, field.value.as_double);
  const auto whole = whole_of(field);
  if (!whole) return Absent::failed;
  // NVML_POWER_SMOOTHING_ADMIN_OVERRIDE_NOT_SET and its like: all bits of the type.
  if (field.value_type == value_is_unsigned && field.value.as_unsigned == 0xFFFFFFFF) {
    return Absent::unsupported;
  }
  return cell_as(as, *whole);
}

Cell cell_of_text(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (text.empty()) return Absent::unsupported;
  return Scalar(std::string(text));
}

std::int64_t unix_ms_of(std::uint64_t time) {
  constexpr std::uint64_t year_2000 = 946'684'800;
  constexpr std::uint64_t year_2100 = 4'102'444'800;
  const auto is_of_this_century = [](std::uint64_t seconds) {
    return seconds >= year_2000 && seconds < year_2100;
  };
  if (is_of_this_century(time)) return static_cast<std::int64_t>(time) * 1000;
  if (is_of_this_century(time / 1000)) return static_cast<std::int64_t>(time);
  if (is_of_this_century(time / 1'000'000)) return static_cast<std::int64_t>(time / 1000);
  return -1;
}

std::string uuid_text(const std::uint8_t (&bytes)[16]) {
  std::string text;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

}  // namespace berth::nvml
