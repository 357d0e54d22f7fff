// links: berth_guard
// Files that a loader would take: a driver's library, the shim's template, the loader's cache.
// LD_LIBRARY_PATH decides which file is read, so it may be anybody's.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/loader.h"
#include "guard/elf_image.h"
#include "guard/shared_object.h"

namespace fuzz_elf {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  (void)berth::libraries_in_cache(file);
  const auto object = berth::read_shared_object(file);
  if (!object) return 0;
  const berth::SharedObject driver{
      .machine = object->machine,
      .exports = {{.name = "cuInit", .bytes = {}},
                  {.name = "cudbgData", .is_data = true, .alignment = 16, .bytes = "content"}}};
  const auto image = berth::make_guard_image(file, driver, "/driver", true);
  if (!image) return 0;
  const auto read = berth::read_shared_object(*image);
  BERTH_CHECK(!read || read->exports.size() <= 2, "an image shows nothing of its template's own");
  return 0;
}

}  // namespace fuzz_elf
