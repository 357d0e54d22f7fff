// The neighbour who grew, by the run's samples.

#include "diagnose/postmortem/neighbour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/postmortem/neighbour_samples_test.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::IsEmpty;

TEST(NeighbourWatch, IsWhatIsInUseLessTheRunsOwn) {
  const auto growths = growths_in(grown_neighbour);
  ASSERT_EQ(growths.size(), 1U);
  EXPECT_EQ(growths[0].before, Bytes((2 * 1024 + 401) * one_mebibyte))
      << "the most of the first three looks";
  EXPECT_EQ(growths[0].last, Bytes((24'371 - 12 * 1024) * one_mebibyte));
  EXPECT_THAT(growths_in(minute_of_samples({.used_mib = 3072, .own_mib = 1024},
                                           {.used_mib = 22 * 1024, .own_mib = 20 * 1024})),
              IsEmpty())
      << "all that grew was the run's own";
}

TEST(NeighbourWatch, AProcessThatEndsIsNotTakenForAGrowingNeighbour) {
  std::vector<Sample> samples = minute_of_samples({.used_mib = 20 * 1024, .own_mib = 18 * 1024},
                                                  {.used_mib = 20 * 1024, .own_mib = 18 * 1024});
  // The driver lists it no more and its memory is not free yet; then one of two goes that way.
  for (std::size_t at = 55; at < 60; ++at)
    samples[at] = sample_of_second(at, {.used_mib = 20 * 1024});
  EXPECT_THAT(growths_in(samples), IsEmpty());
  samples[57].processes.push_back({.device = 0, .pid = 4712, .memory = 1_GiB});
  EXPECT_THAT(growths_in(samples), IsEmpty());
}

TEST(NeighbourWatch, OneOddLookAndUnknownMemoryProveNothing) {
  std::vector<Sample> odd =
      minute_of_samples({.used_mib = 4096, .own_mib = 2048}, {.used_mib = 4096, .own_mib = 2048});
  odd[58] = sample_of_second(58, {.used_mib = 20 * 1024, .own_mib = 2048});
  EXPECT_THAT(growths_in(odd), IsEmpty()) << "its own has not been listed yet";
  std::vector<Sample> unknown = grown_neighbour;
  for (Sample& sample : unknown) sample.processes[0].memory = Absent::unsupported;
  EXPECT_THAT(growths_in(unknown), IsEmpty());
}

}  // namespace
}  // namespace berth
