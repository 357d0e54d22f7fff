#include "probe/sysfs/bus.h"

#include <algorithm>

#include "base/fd.h"
#include "probe/pci/parse.h"
#include "probe/sysfs/files.h"

namespace berth::sysfs {

bool has_function_of(std::uint32_t vendor, bool (*is_sought)(std::uint32_t pci_class),
                     const std::string& sys) {
  const std::string folder = sys + "/bus/pci/devices";
  return std::ranges::any_of(entries_in(folder), [&](const std::string& entry) {
    const std::string function = folder + "/" + entry;
    return hex_of(function + "/vendor") == vendor &&
           (is_sought == nullptr || is_sought(hex_of(function + "/class").value_or(0)));
  });
}

}  // namespace berth::sysfs
