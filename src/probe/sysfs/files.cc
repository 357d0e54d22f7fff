#include "probe/sysfs/files.h"

#include "base/fd.h"
#include "base/text.h"
#include "probe/pci/parse.h"

namespace berth::sysfs {

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

}  // namespace berth::sysfs
