#pragma once
// A sweep: one command for each point of a grid of parameters. Pure; app/verb_sweep.cc starts them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

/// So many points at most: each is a run with a record of its own.
constexpr std::size_t most_points = 10'000;

struct SweepParameter {
  std::string name;
  std::vector<std::string> values;
  friend bool operator==(const SweepParameter&, const SweepParameter&) = default;
};
/// "lr=0.1,0.01", "seed=1..3". invalid: says what is wrong.
[[nodiscard]] Result<SweepParameter> parse_parameter(std::string_view text);

/// One point: a value for each parameter, in their order, and the command with them put in.
struct SweepPoint {
  std::vector<std::string> values;
  std::vector<std::string> command;
  friend bool operator==(const SweepPoint&, const SweepPoint&) = default;
};

/// All points, the last parameter changing fastest. "{name}" in the command is replaced; "{{"
/// stands for a brace. invalid: too many points (says how many), or a name twice. Also a name that
/// the command does not use, or a "{name}" that nobody sets.
[[nodiscard]] Result<std::vector<SweepPoint>> points_of(
    const std::vector<SweepParameter>& parameters, const std::vector<std::string>& command);

/// Tells one sweep from another: the same words in the same folder go on with it. It finds its runs
/// again by their names, whatever was killed.
[[nodiscard]] std::string sweep_id(const std::vector<SweepParameter>& parameters,
                                   const std::vector<std::string>& words, std::string_view folder);

/// "sweep-ID.2-17": the run of point 17 in the second time through.
struct SweepName {
  std::string sweep;
  std::size_t time = 1;
  std::size_t point = 0;
  friend bool operator==(const SweepName&, const SweepName&) = default;
};
[[nodiscard]] std::string typed(const SweepName& name);
/// Nothing: some other run's name.
[[nodiscard]] std::optional<SweepName> sweep_name_in(std::string_view text);

}  // namespace berth
