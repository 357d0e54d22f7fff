#include "diagnose/doctor/cuda_tables.h"

#include <algorithm>
#include <array>

namespace berth::doctor {

namespace {

struct Toolkit {
  TwoPart cuda;
  std::string_view own;
};
// CUDA Toolkit 13.1 release notes, "CUDA Toolkit and Corresponding Driver Versions", the GA column
// for Linux x86-64; read 2026-11. 11.0's is its first public build's.
constexpr std::array<Toolkit, 22> toolkits = {{
    {{11, 0}, "450.36.06"}, {{11, 1}, "455.23"},    {{11, 2}, "460.27.03"}, {{11, 3}, "465.19.01"},
    {{11, 4}, "470.42.01"}, {{11, 5}, "495.29.05"}, {{11, 6}, "510.39.01"}, {{11, 7}, "515.43.04"},
    {{11, 8}, "520.61.05"}, {{12, 0}, "525.60.13"}, {{12, 1}, "530.30.02"}, {{12, 2}, "535.54.03"},
    {{12, 3}, "545.23.06"}, {{12, 4}, "550.54.14"}, {{12, 5}, "555.42.02"}, {{12, 6}, "560.28.03"},
    {{12, 8}, "570.26"},    {{12, 9}, "575.51.03"}, {{13, 0}, "580.65.06"}, {{13, 1}, "590.44.01"},
    {{10, 2}, "440.33"},    {{10, 1}, "418.39"},
}};

// The same notes, "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version
// Compatibility". Before 11 there was none: each toolkit wanted its own driver.
std::string_view family_minimum(TwoPart cuda, std::string_view own) {
  switch (cuda.major) {
    case 11:
      return cuda.minor == 0 ? "450.36.06" : "450.80.02";
    case 12:
      return "525.60.13";
    case 13:
      return "580";
    default:
      return own;
  }
}

// PyTorch, RELEASE.md, "Release Compatibility Matrix" as of 2.14 (2026-09). Experimental versions
// of Python are left out. The default is the build on the package index itself.
constexpr std::array<TorchBuild, 40> builds = {{
    {{2, 14}, {13, 2}, {3, 10}, {3, 15}, false}, {{2, 14}, {13, 0}, {3, 10}, {3, 15}, true},
    {{2, 14}, {12, 6}, {3, 10}, {3, 15}, false}, {{2, 13}, {13, 2}, {3, 10}, {3, 15}, false},
    {{2, 13}, {13, 0}, {3, 10}, {3, 15}, true},  {{2, 13}, {12, 6}, {3, 10}, {3, 15}, false},
    {{2, 12}, {13, 2}, {3, 10}, {3, 14}, false}, {{2, 12}, {13, 0}, {3, 10}, {3, 14}, true},
    {{2, 12}, {12, 6}, {3, 10}, {3, 14}, false}, {{2, 11}, {13, 0}, {3, 10}, {3, 14}, true},
    {{2, 11}, {12, 8}, {3, 10}, {3, 14}, false}, {{2, 11}, {12, 6}, {3, 10}, {3, 14}, false},
    {{2, 10}, {13, 0}, {3, 10}, {3, 14}, false}, {{2, 10}, {12, 8}, {3, 10}, {3, 14}, true},
    {{2, 10}, {12, 6}, {3, 10}, {3, 14}, false}, {{2, 9}, {13, 0}, {3, 10}, {3, 14}, false},
    {{2, 9}, {12, 8}, {3, 10}, {3, 14}, true},   {{2, 9}, {12, 6}, {3, 10}, {3, 14}, false},
    {{2, 8}, {12, 9}, {3, 9}, {3, 13}, false},   {{2, 8}, {12, 8}, {3, 9}, {3, 13}, true},
    {{2, 8}, {12, 6}, {3, 9}, {3, 13}, false},   {{2, 7}, {12, 8}, {3, 9}, {3, 13}, false},
    {{2, 7}, {12, 6}, {3, 9}, {3, 13}, true},    {{2, 7}, {11, 8}, {3, 9}, {3, 13}, false},
    {{2, 6}, {12, 6}, {3, 9}, {3, 13}, false},   {{2, 6}, {12, 4}, {3, 9}, {3, 13}, true},
    {{2, 6}, {11, 8}, {3, 9}, {3, 13}, false},   {{2, 5}, {12, 4}, {3, 9}, {3, 12}, true},
    {{2, 5}, {12, 1}, {3, 9}, {3, 12}, false},   {{2, 5}, {11, 8}, {3, 9}, {3, 12}, false},
    {{2, 4}, {12, 4}, {3, 8}, {3, 12}, false},   {{2, 4}, {12, 1}, {3, 8}, {3, 12}, true},
    {{2, 4}, {11, 8}, {3, 8}, {3, 12}, false},   {{2, 3}, {12, 1}, {3, 8}, {3, 12}, true},
    {{2, 3}, {11, 8}, {3, 8}, {3, 12}, false},   {{2, 2}, {12, 1}, {3, 8}, {3, 12}, true},
    {{2, 2}, {11, 8}, {3, 8}, {3, 12}, false},   {{2, 1}, {12, 1}, {3, 8}, {3, 11}, true},
    {{2, 1}, {11, 8}, {3, 8}, {3, 11}, false},   {{2, 0}, {11, 8}, {3, 8}, {3, 11}, false},
}};

}  // namespace

std::optional<DriverNeeds> driver_needs(TwoPart cuda) {
  const auto at = std::ranges::find(toolkits, cuda, &Toolkit::cuda);
  if (at != toolkits.end()) return DriverNeeds{family_minimum(cuda, at->own), at->own};
  return std::nullopt;
}

bool runs_on(ComputeCapability device, const std::vector<ComputeCapability>& architectures,
             bool has_ptx) {
  for (const ComputeCapability code : architectures) {
    if (code.major == device.major && code.minor <= device.minor) return true;
  }
  return has_ptx && !architectures.empty() && *std::ranges::max_element(architectures) <= device;
}

std::span<const TorchBuild> torch_builds() { return builds; }

// Sources: PyTorch's .ci/manywheel/build_cuda.sh of the releases, and RELEASE.md, "PyTorch CUDA
// Support Matrix" (2.12 to 2.14). CUDA 12.8 lost Maxwell to Volta in 2.7 and got Volta back in 2.8.
// CUDA 13 has nothing older than Turing.
std::vector<ComputeCapability> torch_architectures(TwoPart torch, TwoPart cuda) {
  if (cuda == TwoPart{11, 8} || cuda == TwoPart{12, 1} || cuda == TwoPart{12, 4} ||
      cuda == TwoPart{12, 6}) {
    return {{5, 0}, {6, 0}, {7, 0}, {7, 5}, {8, 0}, {8, 6}, {9, 0}};
  }
  if (cuda == TwoPart{12, 8} || cuda == TwoPart{12, 9}) {
    std::vector<ComputeCapability> list = {{7, 5}, {8, 0}, {8, 6}, {9, 0}, {10, 0}, {12, 0}};
    if (torch >= TwoPart{2, 8}) list.insert(list.begin(), {7, 0});
    return list;
  }
  if (cuda.major == 13) return {{7, 5}, {8, 0}, {8, 6}, {9, 0}, {10, 0}, {12, 0}};
  return {};
}

}  // namespace berth::doctor
