// links: berth_probe
// What container runtimes write: files of a user's own runtime are that user's to write.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "probe/containers/parse.h"

namespace fuzz_containers {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::containers;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& names : {docker_names(text), storage_names(text, "77"), bundle_names(text)}) {
    if (!names) continue;
    BERTH_CHECK(!names->name || !names->name->empty(), "no name is empty");
    BERTH_CHECK(!names->image || !names->image->empty(), "no image is empty");
  }
  const auto root = docker_data_root(text);
  BERTH_CHECK(!root || root->starts_with('/'), "a path is whole");
  (void)name_in_log_link(text, "77");
  (void)name_in_log_folder(text, "77");
  return 0;
}

}  // namespace fuzz_containers
