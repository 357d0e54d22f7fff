#pragma once
// Readers of the small files by which Python packages say what they were built for, and of pip's
// settings. Pure; the files are whatever lies in an environment that a stranger may have made.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "host_environment/host_facts.h"

namespace berth {

/// torch/version.py: `cuda = '12.1'`, `cuda: Optional[str] = None`, `hip = …`.
struct TorchVersionFile {
  std::string version;
  Reading<std::optional<TwoPart>> cuda;
  bool is_rocm = false;
};
[[nodiscard]] TorchVersionFile parse_torch_version(std::string_view text);

/// tensorflow/python/platform/build_info.py, a dict in one line or many.
struct TensorFlowBuildFile {
  Reading<std::optional<TwoPart>> cuda;
  std::optional<int> cudnn_major;
  std::vector<ComputeCapability> architectures;
  bool has_ptx = false;
};
[[nodiscard]] TensorFlowBuildFile parse_tensorflow_build(std::string_view text);

/// index-url of a pip.conf's [global] or [install] section; empty: none.
[[nodiscard]] std::string parse_pip_index(std::string_view text);

/// Whether a .condarc names channels, or where those that have a name alone are (a mirror).
[[nodiscard]] bool names_conda_channels(std::string_view text);

// What a framework itself says when it is imported. The import is done by a child of the
// interpreter, which has a bounded time: it may hang or crash.

/// Imports the found framework in a child of the interpreter. Asks it for is_available,
/// device_count and the architectures, no more. Nothing is computed on a device.
[[nodiscard]] ImportAnswer ask_by_import(const PythonEnvironment& python,
                                         const std::vector<std::string>& environment, Clock& clock,
                                         Duration patience);
/// What that child printed: lines "framework<TAB>key<TAB>value".
[[nodiscard]] std::vector<FrameworkSaid> parse_import_answer(std::string_view text);
/// The last line that says something.
[[nodiscard]] std::string last_line_of(std::string_view text);

}  // namespace berth
