#include "guard/framework_caps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/variables.h"
#include "guard/cap.h"

namespace berth {

namespace {

using Variables = std::vector<Variable>;
using Version = std::array<std::uint64_t, 3>;

// The first releases seen to have the words: an older PyTorch (2.9.1) ends at a key that it does
// not know. JAX 0.4.30 knows the older name alone, 0.4.35 and later both.
constexpr Version torch_with_fraction{2, 10, 0};
constexpr Version jax_with_short_name{0, 4, 35};
constexpr Version jax_with_fraction_of_total{0, 4, 1};

/// "2.10.0+cu128": 2, 10, 0. Nothing: not three numbers, as a build from sources may have it.
std::optional<Version> version_in(std::string_view text) {
  const auto parts = split(text.substr(0, text.find('+')), '.');
  Version version{};
  if (parts.size() < version.size()) return std::nullopt;
  for (std::size_t at = 0; at < version.size(); ++at) {
    const auto number = parse_unsigned(parts[at]);
    if (!number) return std::nullopt;
    version[at] = *number;
  }
  return version;
}

std::optional<Version> version_of(std::string_view package, const Variables& packages) {
  const auto found = std::ranges::find(packages, package, &Variables::value_type::first);
  return found == packages.end() ? std::nullopt : version_in(found->second);
}

bool any_is_set(const auto& names, const std::vector<std::string>& environment) {
  return std::ranges::any_of(
      names, [&](std::string_view one) { return value_of(environment, one).has_value(); });
}

/// The smallest share as a fraction of its device, less a context, which no allocator counts.
/// Nothing: there is none.
std::optional<std::string> fraction_of(const std::vector<FrameworkShare>& shares) {
  double least = 1;
  for (const FrameworkShare& share : shares) {
    if (share.total.count() == 0) return std::nullopt;
    const Bytes room = context_within(share.promised, usual_of_a_context);
    const auto own = static_cast<double>(minus(share.promised, room)->count());
    least = std::min(least, own / static_cast<double>(share.total.count()));
  }
  constexpr double steps = 10'000;
  const double fraction = std::floor(least * steps) / steps;
  if (shares.empty() || fraction <= 0) return std::nullopt;
  return fmt::format("{:.4f}", fraction);
}

void add_torch(const std::string& fraction, const std::vector<std::string>& environment,
               const Variables& packages, Variables& set) {
  constexpr std::array<std::string_view, 3> own = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
                                                   "PYTORCH_HIP_ALLOC_CONF"};
  const auto version = version_of("torch", packages);
  if (!version || *version < torch_with_fraction || any_is_set(own, environment)) return;
  set.emplace_back(own[0], "per_process_memory_fraction:" + fraction);
}

/// One name of two: where both are set, JAX starts no GPU.
void add_jax(const std::string& fraction, const std::vector<std::string>& environment,
             const Variables& packages, Variables& set) {
  constexpr std::array<std::string_view, 4> own = {
      "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE",
      "XLA_PYTHON_CLIENT_ALLOCATOR"};
  const auto version = version_of("jax", packages);
  if (!version || *version < jax_with_fraction_of_total || any_is_set(own, environment)) return;
  set.emplace_back(own[*version < jax_with_short_name ? 1 : 0], fraction);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> framework_variables(
    CapTier tier, const std::vector<FrameworkShare>& shares,
    const std::vector<std::string>& environment,
    const std::vector<std::pair<std::string, std::string>>& packages) {
  Variables set;
  if (tier == CapTier::none || shares.empty()) return set;
  const bool shows_share_as_whole = tier == CapTier::shim || tier == CapTier::kernel;
  const auto fraction = shows_share_as_whole ? std::nullopt : fraction_of(shares);
  if (fraction) add_torch(*fraction, environment, packages, set);
  if (fraction) add_jax(*fraction, environment, packages, set);
  constexpr std::string_view growth = "TF_FORCE_GPU_ALLOW_GROWTH";
  if (version_of("tensorflow", packages) && !value_of(environment, growth)) {
    set.emplace_back(growth, "true");
  }
  return set;
}

}  // namespace berth
