#include "probe/sysfs/files.h"

#include "base/fd.h"
#include "base/text.h"
#include "probe/pci/parse.h"

namespace berth::sysfs {

namespace {

/// `T` of what is told in `per_unit`-ths of it. Beyond `most` it is nonsense.
template <class T>
Reading<T> quantity_of(const Reading<std::uint64_t>& told, std::uint64_t per_unit,
                       std::uint64_t most) {
  if (!told.get()) return told.why();
  const std::uint64_t units = *told.get() / per_unit;
  if (units > most) return Absent::failed;
  return T(static_cast<typename T::rep>(units));
}

}  // namespace

Absent why_absent(const Error& error) {
  switch (error.code()) {
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return Absent::unsupported;
    case ErrorCode::no_permission:  // of a GPU also while it sleeps or is being reset
      return Absent::no_permission;
    default:
      return Absent::failed;
  }
}

Reading<std::string> line_of(const std::string& path) {
  constexpr std::size_t longest = 4096;
  const auto text = read_proc_file(path, longest);
  if (!text) return why_absent(text.error());
  const std::string_view line = trimmed(*text);
  return line.empty() ? Reading<std::string>(Absent::unsupported) : std::string(line);
}

Reading<std::uint64_t> number_of(const std::string& path) {
  const Reading<std::string> line = line_of(path);
  if (!line.get()) return line.why();
  const auto number = parse_unsigned(*line.get());
  return number ? Reading<std::uint64_t>(*number) : Absent::failed;
}

std::optional<std::uint32_t> hex_of(const std::string& path) {
  const Reading<std::string> line = line_of(path);
  return line.get() ? pci::parse_id(*line.get()) : std::nullopt;
}

Reading<Bytes> bytes_of(const Reading<std::uint64_t>& told) {
  return quantity_of<Bytes>(told, 1, std::uint64_t{1} << 50U);
}

Reading<Milliwatts> power_of(const Reading<std::uint64_t>& microwatts) {
  constexpr std::uint64_t per_milliwatt = 1000;
  constexpr std::uint64_t most = 20'000'000;
  return quantity_of<Milliwatts>(microwatts, per_milliwatt, most);
}

Reading<Celsius> heat_of(const Reading<std::uint64_t>& millidegrees) {
  constexpr std::uint64_t per_degree = 1000;
  constexpr std::uint64_t most = 250;
  return quantity_of<Celsius>(millidegrees, per_degree, most);
}

Reading<Megahertz> clock_of(const Reading<std::uint64_t>& told, std::uint64_t per_megahertz) {
  constexpr std::uint64_t most = 100'000;
  return quantity_of<Megahertz>(told, per_megahertz, most);
}

}  // namespace berth::sysfs
