#pragma once
// The facts that doctor's rules look at, and their shared functions. Pure: everything was read
// before.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host_environment/gpu_proof.h"
#include "host_environment/host_facts.h"
#include "place/visible_others.h"
#include "snapshot/finding.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What a visible-devices variable comes to on this machine, as place/visible_devices.h reads it.
struct VisibleList {
  std::string value;
  std::vector<DeviceId> devices;  // cuda:0, cuda:1, …
  std::vector<Sentence> remarks;  // what ended or emptied it or was not read
  std::string corrected;          // as it was probably meant; empty: that cannot be told
  /// Why it cannot be told which devices it names; empty: it can.
  Sentence unclear;
  /// Each entry with the device it names by itself, or why it names none.
  struct Token {
    std::string text;
    Sentence meaning;
  };
  std::vector<Token> tokens;
};

struct Examined {
  Snapshot snapshot;
  HostFacts facts;
  std::optional<VisibleList> visible;  // nothing: CUDA_VISIBLE_DEVICES is not set
  /// NVIDIA_VISIBLE_DEVICES, value and entries alone. Nothing: not set, "all", or no container.
  std::optional<VisibleList> given;
  std::vector<VisibleVariable> others = {};  // of other makers
  std::vector<GpuProof> gpu_proofs;          // empty: nobody asked for it
};

namespace doctor {

/// NVIDIA's cards that the driver answers for.
[[nodiscard]] std::vector<const Device*> working_gpus(const Examined& host);
/// Why no source at all could be asked: the process that asks them died or never came back. Null:
/// they were asked.
[[nodiscard]] const Problem* unseen_because(const Examined& host);
[[nodiscard]] bool driver_works(const Examined& host);
/// Whether the devices are a simulated or replayed server's: nothing of this machine was examined.
[[nodiscard]] bool is_elsewhere(const Examined& host);
[[nodiscard]] bool is_container(const Examined& host);
/// CUDA_VISIBLE_DEVICES is known to leave no device at all.
[[nodiscard]] bool hides_all(const Examined& host);
/// "0, 1, 0:3/0": the cards' indices (their addresses where they have none); MIG instances as
/// `berth ps` names them, CARD:GPU-INSTANCE/COMPUTE-INSTANCE.
[[nodiscard]] std::string names_of(const std::vector<const Device*>& devices);
/// As an argument of -i: "0,1,3".
[[nodiscard]] std::string index_list(const std::vector<const Device*>& devices);
/// Those that programs of this runtime compute on.
[[nodiscard]] std::vector<const Device*> devices_of(Runtime runtime, const Examined& host);
/// Of another maker than NVIDIA, on whose devices a build computes. Nothing: no file says so.
[[nodiscard]] std::optional<Runtime> other_runtime_of(const FrameworkBuild& build);
/// The device that libcuda means; null: the driver's list has none of that UUID.
[[nodiscard]] const Device* device_of(const CudaDevice& cuda, const Snapshot& snapshot);

/// Why NVIDIA's library could not be asked at all; null: it could.
[[nodiscard]] const Problem* nvml_problem(const Examined& host);
/// False as well where the kernel was not looked at.
[[nodiscard]] bool module_is_loaded(const Examined& host);
[[nodiscard]] bool has_device_file(const Examined& host, std::string_view path);
/// Whether it is one that the driver brings: of its version, or a stub of it.
[[nodiscard]] bool is_of_driver(const FoundLibrary& library);

}  // namespace doctor
}  // namespace berth
