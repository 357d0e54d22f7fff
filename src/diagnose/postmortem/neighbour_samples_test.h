#pragma once
// A minute of a run's samples beside a neighbour who grows. For tests only.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/postmortem/ended_run_test.h"
#include "diagnose/postmortem/neighbour.h"

namespace berth {

inline constexpr std::uint64_t one_mebibyte = 1 << 20;

/// What is in use on the one device, the run's own, and whose the rest is.
struct MemorySecond {
  std::uint64_t used_mib = 0;
  std::uint64_t own_mib = 0;
  std::vector<std::pair<std::string, std::uint64_t>> users_mib = {};
};

inline Sample sample_of_second(std::size_t second, const MemorySecond& one) {
  Sample sample{.at = {run_began.unix_ms + static_cast<std::int64_t>(second) * 1000}};
  sample.devices.resize(1);
  sample.devices[0].memory_used = Bytes(one.used_mib * one_mebibyte);
  if (one.own_mib > 0) {
    sample.processes.push_back(
        {.device = 0, .pid = 4711, .memory = Bytes(one.own_mib * one_mebibyte)});
  }
  for (const auto& [user, held] : one.users_mib) {
    sample.others.push_back({.device = 0, .user = user, .memory = Bytes(held * one_mebibyte)});
  }
  return sample;
}

/// A minute in which both grow evenly to what they had last.
inline std::vector<Sample> minute_of_samples(const MemorySecond& first, const MemorySecond& last) {
  std::vector<Sample> samples;
  for (std::size_t second = 0; second < 60; ++second) {
    const auto between = [&](std::uint64_t from, std::uint64_t to) {
      return from + (to - from) * std::min<std::size_t>(second, 50) / 50;
    };
    MemorySecond now{.used_mib = between(first.used_mib, last.used_mib),
                     .own_mib = between(first.own_mib, last.own_mib),
                     .users_mib = second < 30 ? first.users_mib : last.users_mib};
    samples.push_back(sample_of_second(second, now));
  }
  return samples;
}

inline std::vector<NeighbourGrowth> growths_in(const std::vector<Sample>& samples) {
  NeighbourWatch watch;
  for (const Sample& sample : samples) watch.add(sample);
  return watch.growths();
}

/// Own 12 GiB; others from 2 to 11.8 GiB of 24.
inline const std::vector<Sample> grown_neighbour = minute_of_samples(
    {.used_mib = 14 * 1024, .own_mib = 12 * 1024}, {.used_mib = 24'371, .own_mib = 12 * 1024});

}  // namespace berth
