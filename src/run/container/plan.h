#pragma once
// What `berth run -- docker run …` makes of a command line. Options that contradict the lease are
// refused before the job waits for anything. Options that give the container its devices are added
// once these are known. Pure.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host_environment/cdi.h"
#include "place/job_spec.h"
#include "run/container/command.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What the command's engine is, as far as the plan has to know.
struct ContainerEngine {
  /// Where it is asked: "unix:///run/docker.sock", "tcp://gpu3:2375"; empty: the program itself.
  std::string endpoint;
  std::string endpoint_by;  // "DOCKER_HOST", "--context lab": who says so
  /// The CDI files that it reads; none where it knows no CDI.
  CdiSpecs cdi;
  std::vector<std::string> cdi_folders;
  /// A file of NVIDIA's container toolkit, which lets the engine take --gpus; empty: there is none.
  std::string toolkit;
};

/// Text of a file named on the command line; nothing: it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

/// The parts of the command that contradict the lease, each with its reason, and the line without
/// them. Nothing: it fits. `job` is the whole job, for that line.
[[nodiscard]] std::optional<Error> contradiction_in(const ContainerCommand& command,
                                                    const ContainerEngine& engine,
                                                    const JobSpec& job, const ReadText& read);

/// What a run puts into the command of its container.
struct ContainerTerms {
  std::string run;
  std::string cid_file;  // where the engine is to write the container's id
};

struct ContainerStart {
  std::vector<std::string> command;
  std::vector<std::string> added;  // what was put in, as typed
  std::string cid_file;            // of the command itself, where that names one
};

/// not_found: nothing gives this engine one of the devices; says what to do. Without devices it is
/// kept off all of them.
[[nodiscard]] Result<ContainerStart> start_container_with(const ContainerCommand& command,
                                                          const std::vector<DeviceId>& devices,
                                                          const Snapshot& snapshot,
                                                          const ContainerEngine& engine,
                                                          const ContainerTerms& terms);

/// "nvidia.com/gpu=0" for each, as these files name it. Nothing: they do not know one of them.
[[nodiscard]] std::optional<std::vector<std::string>> cdi_names(
    const std::vector<DeviceId>& devices, const Snapshot& snapshot,
    const std::vector<CdiSpec>& specs);

/// The label by which a container of a run is found.
inline constexpr std::string_view container_label = "berth.run";

/// Whether an engine that is asked there is on this machine.
[[nodiscard]] bool is_local_endpoint(std::string_view endpoint);

}  // namespace berth
