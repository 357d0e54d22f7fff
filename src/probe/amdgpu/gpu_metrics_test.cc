#include "probe/amdgpu/gpu_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace berth::amdgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

/// gpu_metrics of a card's capture.
std::string captured_metrics(const std::string& name) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto folder = (program / __FILE__).parent_path() / "../../../tests/data/amdgpu";
  const std::string text = read_file(folder / (name + ".tree")).value_or("");
  const std::size_t at = text.find("device/gpu_metrics hex");
  std::string digits;
  bool first = true;
  for (const std::string_view line : split(std::string_view(text).substr(at), '\n')) {
    if (!std::exchange(first, false) && !line.starts_with("|")) break;
    if (line.starts_with("|")) digits += line.substr(1);
  }
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// All ones, with a header.
std::string block(unsigned size, unsigned format, unsigned content) {
  std::string bytes(size, '\xff');
  bytes[0] = static_cast<char>(size & 0xffU);
  bytes[1] = static_cast<char>(size >> 8U);
  bytes[2] = static_cast<char>(format);
  bytes[3] = static_cast<char>(content);
  return bytes;
}

void put_number(std::string& bytes, std::size_t at, std::uint64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(number >> (8 * i));
}

TEST(GpuMetrics, OfACardThatWasCaptured) {
  const auto card = parse_gpu_metrics(captured_metrics("rx7800xt"));
  ASSERT_TRUE(card);
  EXPECT_FALSE(card->is_apu);
  EXPECT_THAT(card->throttle, Optional(ClockReasons{0}));
  EXPECT_FALSE(card->energy) << "the unit is not documented for this chip";
  EXPECT_THAT(card->partitions_busy, IsEmpty());
}

TEST(GpuMetrics, OfAnApuInHundredths) {
  std::string bytes = block(120, 2, 1);
  put_number(bytes, 28, 1234, 2);
  put_number(bytes, 40, 3103, 2);
  const auto apu = parse_gpu_metrics(bytes);
  ASSERT_TRUE(apu);
  EXPECT_TRUE(apu->is_apu);
  EXPECT_THAT(apu->busy, Optional(Percent{12.34}));
  EXPECT_THAT(apu->power, Optional(Milliwatts{3103}));
  ASSERT_TRUE(parse_gpu_metrics(captured_metrics("phoenix")));
  EXPECT_TRUE(parse_gpu_metrics(captured_metrics("phoenix"))->is_apu);
}

TEST(GpuMetrics, AllOnesIsAbsent) {
  for (const auto& [size, format, content] : {std::tuple{96U, 1U, 1U},
                                              {120U, 1U, 3U},
                                              {288U, 1U, 4U},
                                              {1664U, 1U, 6U},
                                              {2208U, 1U, 7U},
                                              {3360U, 1U, 8U},
                                              {168U, 2U, 4U},
                                              {264U, 3U, 0U}}) {
    const auto none = parse_gpu_metrics(block(size, format, content));
    ASSERT_TRUE(none) << size;
    EXPECT_FALSE(none->busy || none->power || none->energy || none->clock || none->throttle ||
                 none->residencies || none->hotspot || none->pcie_replays)
        << size;
    EXPECT_THAT(none->partitions_busy, IsEmpty()) << size;
  }
}

TEST(GpuMetrics, AnUnknownRevisionOrSizeIsNotRead) {
  EXPECT_FALSE(parse_gpu_metrics(block(1664, 1, 9))) << "a list of attributes";
  EXPECT_FALSE(parse_gpu_metrics(block(360, 1, 6))) << "an earlier layout of the same revision";
  EXPECT_FALSE(parse_gpu_metrics(block(120, 1, 3).substr(0, 119))) << "cut off";
  EXPECT_FALSE(parse_gpu_metrics(block(120, 4, 0)));
  EXPECT_FALSE(parse_gpu_metrics("ab"));
  EXPECT_FALSE(parse_gpu_metrics(""));
}

TEST(GpuMetrics, OfADividedCard) {
  for (const auto& [size, content, count_at, stats_at, stride] :
       {std::tuple{1664U, 6U, 306U, 312U, 168U},
        {2208U, 7U, 338U, 344U, 232U},
        {3360U, 8U, 338U, 344U, 376U},
        {3872U, 8U, 338U, 344U, 440U}}) {
    std::string bytes = block(size, 1, content);
    put_number(bytes, count_at, 3, 2);
    put_number(bytes, stats_at, 40, 4);  // of two chiplets
    put_number(bytes, stats_at + 4, 60, 4);
    put_number(bytes, stats_at + 2 * stride, 7, 4);
    const auto metrics = parse_gpu_metrics(bytes);
    ASSERT_TRUE(metrics) << size;
    EXPECT_THAT(metrics->partitions_busy,
                ElementsAre(Optional(Percent{50}), std::nullopt, Optional(Percent{7})))
        << size;
  }
}

TEST(GpuMetrics, EnergyIsInUnitsThatTheHeaderDocuments) {
  std::string bytes = block(2208, 1, 7);
  put_number(bytes, 24, std::uint64_t{3} << 16U, 8);
  put_number(bytes, 10, 132, 2);
  const auto metrics = parse_gpu_metrics(bytes);
  EXPECT_THAT(metrics->energy, Optional(Millijoules{3000}));
  EXPECT_THAT(metrics->power, Optional(Milliwatts{132'000}));
}

TEST(GpuMetrics, WhatGrewHasHeldTheClocksBack) {
  const Residencies before{.processor_hot = 1, .power = 5, .heat = 9};
  EXPECT_EQ(reasons_between(before, before), ClockReasons{0});
  Residencies now = before;
  ++now.power;
  EXPECT_TRUE(has_any(reasons_between(before, now), ClockReason::power_cap));
  EXPECT_FALSE(has_any(reasons_between(before, now), ClockReason::hardware_thermal));
  now = before;
  ++now.heat_of_memory;
  EXPECT_TRUE(has_any(reasons_between(before, now), ClockReason::hardware_thermal));
}

TEST(GpuMetrics, BitsOfThrottleHaveTheirKinds) {
  const auto reasons = [](std::uint64_t bits) {
    std::string bytes = block(120, 1, 3);
    put_number(bytes, 112, bits, 8);
    return parse_gpu_metrics(bytes)->throttle.value_or(ClockReasons{~std::uint64_t{0}});
  };
  EXPECT_EQ(reasons(0), ClockReasons{0});
  EXPECT_TRUE(has_any(reasons(1), ClockReason::power_cap));
  EXPECT_TRUE(has_any(reasons(std::uint64_t{1} << 36U), ClockReason::hardware_thermal));
  EXPECT_FALSE(has_any(reasons(std::uint64_t{1} << 36U), ClockReason::power_cap));
}

}  // namespace
}  // namespace berth::amdgpu
