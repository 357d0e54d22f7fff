#pragma once
// The GPUs of the amdgpu driver, from three places. The bus has a folder each, DRM the device
// files, the KFD what ROCm's programs count. A card may be several GPUs to them: in CPX each
// chiplet has a node of its own at the card's address. The KFD's own unique_id tells no card: where
// cards are divided, several have the same.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/units.h"
#include "snapshot/device.h"

namespace berth::amdgpu {

/// amdgpu, or a driver that was made of it and has its files.
struct Driver {
  DeviceKind kind;                        // of a whole card
  std::array<std::string_view, 2> names;  // as /sys/bus/pci/drivers calls it
  /// No capture of a fork's cards was found. Only cards that have the files are read, and none is
  /// divided. Their processes' fdinfo is not believed to tell of them.
  bool is_fork = false;
};
inline constexpr Driver amds{.kind = DeviceKind::amd_gpu, .names = {"amdgpu", ""}};
/// Source: hy-smi (a renamed rocm-smi), and exporters that read the files without it.
inline constexpr Driver hygons{
    .kind = DeviceKind::hygon_dcu, .names = {"hycu", "hydcu"}, .is_fork = true};

/// Whether the card in this folder of /sys has amdgpu's files under this driver.
[[nodiscard]] bool has_files_of(const Driver& driver, const std::string& folder);

/// A GPU as ROCm's programs count it.
struct Node {
  int runtime_index = 0;
  std::string gpu_id;           // in the names of its processes' files
  std::uint32_t partition = 0;  // of its card
  std::optional<std::uint64_t> render_minor;
  std::string chip;  // "gfx942"
  Bytes memory;      // a share of the card's where it is divided; 0: not told
  bool has_processor = false;
  std::vector<NvLink> links;  // xGMI
};

struct Card {
  std::string folder;   // below /sys
  std::string driver;   // "amdgpu"
  std::string address;  // as Device::pci_address
  /// Its unique_id. An APU and many cards have none, or 0.
  Reading<std::string> number = Absent::unsupported;
  std::string card_file;  // "/dev/dri/card1"; empty: none
  std::optional<std::uint64_t> render_minor;
  std::vector<Node> nodes;  // by partition; empty: ROCm does not know it
  /// Files of the sensors' folder by what they are; the folder has another number after each boot.
  struct Sensors {
    std::string folder;
    std::string edge, junction, memory;  // "temp2_"; empty: it has none
  };
  std::optional<Sensors> sensors;  // nothing: not looked for yet, as that wakes the card

  [[nodiscard]] bool is_divided() const { return nodes.size() > 1; }
  /// By which its processes are told.
  [[nodiscard]] std::vector<std::string> device_files(const Node* partition) const;
};

/// Display and compute functions that the driver has, by address.
[[nodiscard]] std::vector<Card> cards_of_bus(const std::string& sys, const Driver& driver = amds);
/// Adds what the KFD has of them, and has forgotten what it had.
void add_nodes(std::vector<Card>& cards, const std::string& sys);
/// Tells two states of the topology apart; empty: it cannot be told.
[[nodiscard]] std::string topology_state(const std::string& sys);
/// Looks for the card's sensors where that has not been done.
[[nodiscard]] const Card::Sensors& sensors_of(Card& card);

}  // namespace berth::amdgpu
