#pragma once
// CDI specifications (Container Device Interface, cncf-tags/container-device-interface): files by
// which container engines give devices to containers. Read as far as berth needs them, and checked
// for what engines refuse whole files for.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

struct CdiDevice {
  std::string name;                // "0", "gpu0", "GPU-…"; what stands behind "nvidia.com/gpu="
  std::vector<std::string> nodes;  // device files on the host
  friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

struct CdiSpec {
  std::string path;
  std::string version;  // "0.6.0"
  std::string kind;     // "nvidia.com/gpu"
  std::vector<CdiDevice> devices;
  /// The newest version that one of its fields needs; empty: the first will do. An engine that does
  /// not know a field refuses the whole file. It says only that the file's devices cannot be
  /// resolved.
  std::string needs;
  std::string needed_by;  // that field: "containerEdits.additionalGids"
  /// A field of no version, which every engine refuses; empty: none.
  std::string unknown_field;
  friend bool operator==(const CdiSpec&, const CdiSpec&) = default;
};

/// YAML or JSON (which YAML contains). invalid: neither, or no specification; says where.
[[nodiscard]] Result<CdiSpec> parse_cdi_spec(std::string_view text);

struct CdiSpecs {
  std::vector<CdiSpec> specs;
  /// Files that could not be read or understood, a sentence each, in English.
  std::vector<std::string> problems;
  friend bool operator==(const CdiSpecs&, const CdiSpecs&) = default;
};

/// Whether the file needs a newer version than it says it has: every engine refuses it then.
[[nodiscard]] bool needs_more_than_it_says(const CdiSpec& spec);

/// Where engines look that were told nothing else.
[[nodiscard]] std::vector<std::string> usual_cdi_folders();
/// `root` stands before each path.
[[nodiscard]] CdiSpecs read_cdi_specs(const std::vector<std::string>& folders,
                                      const std::string& root = "");

/// What a device is called there: "nvidia.com/gpu=0". By its UUID, else by its device file, where
/// that is the only one of its kind in the entry. Nothing: no specification of this kind knows it.
[[nodiscard]] std::optional<std::string> cdi_name_of(std::string_view uuid,
                                                     std::string_view device_file,
                                                     std::string_view kind,
                                                     const std::vector<CdiSpec>& specs);

}  // namespace berth
