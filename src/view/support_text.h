#pragma once
// The file that `berth support` writes. It has parts with borders, so that a person can read it
// before sending it. The list of its contents is shown first.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "view/style.h"

namespace berth {

struct SupportPart {
  std::string name;     // "doctor"
  std::string origin;   // the command or the file that it is from
  std::string text;     // cleaned already
  std::string problem;  // why there is nothing, or not all; empty: it is whole
};

struct SupportFile {
  std::string version;  // of berth
  WallTime made;
  std::optional<std::string> simulated;
  std::vector<SupportPart> parts;
  std::size_t secrets = 0;  // masked
  std::size_t names = 0;    // replaced
  bool keeps_names = false;
  bool knows_users = true;  // false: no snapshot told who is on the machine
};

/// Longer parts are cut in their middle, which they then say.
inline constexpr std::size_t longest_part = 256 << 10;
[[nodiscard]] std::string shortened(std::string text, std::size_t most = longest_part);

/// Always in English: it is for the people who answer the report.
[[nodiscard]] std::string support_file_text(const SupportFile& file);
[[nodiscard]] std::string render_support_list(const SupportFile& file, const std::string& path,
                                              const Style& style);

}  // namespace berth
