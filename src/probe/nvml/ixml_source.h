#pragma once
// IxmlSource: Iluvatar's cards. Their driver's libixml.so has NVML's functions under NVML's names,
// so NvmlProbe asks it; what differs is here.
//
// Sources: the header of go-ixml (Deep-Spark/ix-device-plugin) and the backend in nvtop. No card
// was seen: its numbers are taken to be the library's.

#include <memory>
#include <optional>
#include <string>

#include "probe/device_source.h"
#include "probe/nvml/nvml_probe.h"

namespace berth {

class IxmlSource final : public DeviceSource {
 public:
  explicit IxmlSource(const Sources& sources);

  /// Where the driver puts it below `root`. By its full path: the library of another project has
  /// the same name (libupnp's). Nothing: it is not installed.
  [[nodiscard]] static std::optional<std::string> library_in(const std::string& root);
  /// Whether the bus has such a card and the library is there.
  [[nodiscard]] static bool sees_any(const Sources& sources, const pci::Makers& makers);

  void on_answer(std::function<void()> act) override { probe_.on_answer(std::move(act)); }
  /// Problem codes: those of NvmlProbe.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override { return probe_.is_open(); }
  void observe_host(Host&, const Wanted&, std::vector<Problem>&) override {}
  void wake_device(int index) override { probe_.wake_device(index); }
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  NvmlProbe probe_;
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_ixml_source(const Sources& sources) {
  return std::make_unique<IxmlSource>(sources);
}

}  // namespace berth
