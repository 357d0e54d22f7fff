// links: berth_run
// The script that a run is about to start, and the names of installed packages.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "host_environment/gather.h"
#include "run/run.h"

namespace fuzz_script {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto line = berth::find_visible_devices_assignment(text)) {
    BERTH_CHECK(line->number >= 1 && line->number <= 1 + std::count(text.begin(), text.end(), '\n'),
                "the line is one of the script's");
    BERTH_CHECK(line->text.find("CUDA_VISIBLE_DEVICES") != std::string::npos,
                "and names the variable");
  }
  const auto package = berth::package_from_directory(text);
  BERTH_CHECK(!package || !package->first.empty(), "a package has a name");
  return 0;
}

}  // namespace fuzz_script
