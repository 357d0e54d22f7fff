// links: berth_probe
// The kernel's texts about PCI functions, and the pci.ids list.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "probe/pci/parse.h"

namespace fuzz_pci {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace pci = berth::pci;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto address = berth::normal_pci_address(text)) {
    BERTH_CHECK(berth::normal_pci_address(*address) == address, "what is normal stays as it is");
  }
  const auto number = pci::parse_id(text);
  const auto makers = pci::makers_in(text);
  BERTH_CHECK(!makers || !makers->empty(), "a bus without functions is not known");
  const auto generation = pci::generation_from_speed(text);
  BERTH_CHECK(!generation || (*generation >= 1 && *generation <= 6), "a generation there is");
  for (const std::uint32_t vendor : {0x10deU, 0x1002U, number.value_or(0x8086U)}) {
    const auto name = pci::name_in_pci_ids(text, vendor, 0x2330);
    BERTH_CHECK(!name || name->find('\n') == std::string::npos, "a name is part of one line");
  }
  return 0;
}

}  // namespace fuzz_pci
