#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "cards/card.h"
#include "cards/find.h"
#include "cards/rates.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names(const std::vector<const Card*>& cards) {
  std::vector<std::string> list;
  for (const Card* card : cards) list.emplace_back(card->name);
  return list;
}

const Card& one(std::string_view name) {
  const auto found = cards_called(name);
  EXPECT_FALSE(found.empty()) << name;
  return found.empty() ? all_cards().front() : *found.front();
}

/// Bits per second and line that memory of a kind is made for, in 10^9.
const std::map<MemoryKind, std::vector<double>> data_rates = {
    {MemoryKind::gddr5, {5, 6, 7, 7.2, 7.6, 8}},
    {MemoryKind::gddr5x, {9, 10, 11, 11.4}},
    {MemoryKind::gddr6, {10, 12, 12.5, 13, 14, 14.5, 15, 15.5, 16, 17, 17.5, 18, 19, 20}},
    {MemoryKind::gddr6x, {19, 19.5, 21, 22.4, 23}},
    {MemoryKind::gddr7, {25, 28, 30}},
    {MemoryKind::hbm2, {1.4, 1.43, 1.7, 1.75, 2.2, 2.43}},
    {MemoryKind::hbm2e, {3.02, 3.19}},
    {MemoryKind::hbm3, {5.24}},
    {MemoryKind::hbm3e, {5.86, 6.25, 7.8}},
    {MemoryKind::lpddr5, {6.4}},
};

TEST(Cards, EachHasASourceAndWhatEveryCardHas) {
  EXPECT_GE(all_cards().size(), 100U);
  for (const Card& card : all_cards()) {
    EXPECT_EQ(units_of(card) == CardUnits::multiprocessors, card.has_capability()) << card.name;
    EXPECT_GT(card.source.size(), 20U) << card.name;
    EXPECT_GT(card.multiprocessors, 0) << card.name;
    EXPECT_GT(card.memory_gib, 0) << card.name;
    EXPECT_FALSE(card.form.empty()) << card.name;
    EXPECT_EQ(facts_of(card.capability).has_value(), card.has_capability()) << card.name;
  }
}

TEST(Cards, TheBandwidthIsTheBusTimesARateThatSuchMemoryHas) {
  for (const Card& card : all_cards()) {
    // AMD's documentation of ROCm tells memory and compute units alone.
    const bool is_told = card.maker() != "Huawei" &&
                         card.source != "ROCm documentation, GPU hardware specifications";
    EXPECT_EQ(card.bandwidth.has_value(), is_told) << card.name;
    EXPECT_GT(card.bandwidth.value_or(1), 0) << card.name;
    if (!card.bus_bits) continue;
    const double rate = *card.bandwidth * 8 / *card.bus_bits;
    const bool known = std::ranges::any_of(data_rates.at(*card.memory), [&](double known_rate) {
      return std::abs(rate / known_rate - 1) < 0.02;
    });
    EXPECT_TRUE(known) << card.name << ": " << rate << " Gb/s on each line of "
                       << name_of(*card.memory);
  }
}

TEST(Cards, Fp32IsTwicePerCoreAndBoostClock) {
  int held = 0;
  for (const Card& card : all_cards()) {
    if (!card.boost_mhz || !card.fp32 || !card.has_capability()) continue;
    ++held;
    const double computed = 2.0 * static_cast<double>(*cuda_cores(card)) * *card.boost_mhz * 1e-6;
    EXPECT_NEAR(computed / *card.fp32, 1, 0.03) << card.name;
  }
  EXPECT_GE(held, 60);
}

TEST(Cards, AmdsRatesArePerComputeUnitAndClock) {
  // AMD's CDNA whitepapers: operations of a compute unit in a clock.
  const auto holds = [](const Card& card, std::optional<double> rate, double operations) {
    if (!rate) return;
    const double computed = card.multiprocessors * operations * *card.boost_mhz * 1e-6;
    EXPECT_NEAR(computed / *rate, 1, 0.005) << card.name << " " << operations;
  };
  for (const Card& card : instinct_cards()) {
    if (!card.boost_mhz) continue;
    const PeakRates rates = peak_rates(card);
    const std::string_view made = card.architecture;
    const bool first = made == "CDNA";
    const bool second = made == "CDNA 2";
    const bool fourth = made == "CDNA 4";
    holds(card, rates.fp64, first ? 64 : 128);
    holds(card, rates.fp64_tensor, fourth ? 128 : 256);
    holds(card, rates.fp32, first || second ? 128 : 256);
    holds(card, rates.tf32, 1024);
    holds(card, rates.fp16, first || second ? 1024 : fourth ? 4096 : 2048);
    holds(card, rates.bf16, first ? 512 : second ? 1024 : fourth ? 4096 : 2048);
    holds(card, rates.int8, first || second ? 1024 : fourth ? 8192 : 4096);
    holds(card, rates.fp8, fourth ? 8192 : 4096);
    holds(card, rates.fp4, 16384);
  }
}

TEST(Cards, AmdsMemoryAndUnitsAreThoseOfItsOwnDocumentation) {
  // rocm.docs.amd.com, GPU specifications (GiB, compute units); the bandwidth of AMD's white papers
  // (CDNA: endnote CDNA-04; CDNA 2 and CDNA 3: the tables of products) and of the MI350's page, in
  // 10^12.
  struct Documented {
    const char* name;
    int gib, units;
    double bandwidth;
  };
  for (const Documented& each : std::vector<Documented>{{"mi100", 32, 120, 1.2288},
                                                        {"mi210", 64, 104, 1.6},
                                                        {"mi250", 128, 208, 3.2},
                                                        {"mi250x", 128, 220, 3.2},
                                                        {"mi300a", 128, 228, 5.3},
                                                        {"mi300x", 192, 304, 5.3},
                                                        {"mi325x", 256, 304, 6.0},
                                                        {"mi350p", 144, 128, 4},
                                                        {"mi350x", 288, 256, 8},
                                                        {"mi355x", 288, 256, 8}}) {
    const Card& card = one(each.name);
    EXPECT_EQ(card.memory_gib, each.gib) << each.name;
    EXPECT_EQ(card.multiprocessors, each.units) << each.name;
    EXPECT_NEAR(card.bandwidth.value_or(0) / 1000, each.bandwidth, 0.08) << each.name;
  }
  EXPECT_EQ(one("mi300x").watts, 750);
  EXPECT_EQ(one("mi325x").watts, 1000);
  EXPECT_EQ(one("mi350x").watts, 1000);
  EXPECT_EQ(one("mi355x").watts, 1400);
  EXPECT_FALSE(one("mi300a").watts) << "550 or 760 W";
  for (const Card& card : instinct_cards()) {
    EXPECT_EQ(card.source.find("press"), std::string_view::npos) << card.name;
  }
}

TEST(Cards, ThePowerLimitOfAnH20IsWhatItsDriverSays) {
  // "NVIDIA H20 … 72W / 500W | 3MiB / 97871MiB", as five machines printed it.
  EXPECT_EQ(one("h20").watts, 500);
  EXPECT_NE(one("h20").source.find("nvidia-smi"), std::string_view::npos);
}

TEST(Cards, NothingOfNvidiasIsSaidOfAmds) {
  EXPECT_EQ(instinct_cards().size(), 10U);
  int others = 0;
  for (const Card& card : all_cards()) {
    if (card.has_capability()) continue;
    ++others;
    EXPECT_FALSE(cuda_cores(card)) << card.name;
    EXPECT_FALSE(has_nvlink(card)) << card.name;
    for (const Lack lack :
         {Lack::tensor_cores, Lack::instances, Lack::nvlink, Lack::cuda_13, Lack::ecc}) {
      EXPECT_THAT(lacks_of(card), Not(Contains(lack))) << card.name << " " << name_of(lack);
    }
  }
  EXPECT_EQ(others, 57);
  EXPECT_THAT(lacks_of(one("rx 9070 xt")), IsEmpty()) << "its rates are not in the table";
  EXPECT_THAT(lacks_of(one("mi250x")), ElementsAre(Lack::tf32, Lack::fp8, Lack::fp4));
  EXPECT_THAT(lacks_of(one("mi355x")), ElementsAre(Lack::tf32));
}

TEST(Cards, AmdsAreFoundByWhatPeopleCallThem) {
  EXPECT_THAT(names(cards_called("mi300")),
              ElementsAre("AMD Instinct MI300A", "AMD Instinct MI300X"));
  EXPECT_THAT(names(cards_called("MI300X")), ElementsAre("AMD Instinct MI300X"));
  EXPECT_THAT(names(cards_called("amd instinct mi325x")), ElementsAre("AMD Instinct MI325X"));
  EXPECT_THAT(names(cards_called("mi355")), ElementsAre("AMD Instinct MI355X"));
  EXPECT_THAT(names(cards_called("mi250")), ElementsAre("AMD Instinct MI250"));
  EXPECT_THAT(names(cards_called("mi350")),
              ElementsAre("AMD Instinct MI350P", "AMD Instinct MI350X"));
  EXPECT_THAT(names(cards_called("7900 xtx")), ElementsAre("AMD Radeon RX 7900 XTX"));
  EXPECT_THAT(names(cards_called("rx 7900xt")), ElementsAre("AMD Radeon RX 7900 XT"));
  EXPECT_THAT(names(cards_called("rx 6900 xt")), ElementsAre("AMD Radeon RX 6900 XT"));
  EXPECT_THAT(names(cards_called("rx 7600")), ElementsAre("AMD Radeon RX 7600"));
  EXPECT_THAT(names(cards_called("rx 6700")), ElementsAre("AMD Radeon RX 6700"));
  EXPECT_THAT(names(cards_called("radeon rx 9070")), ElementsAre("AMD Radeon RX 9070"));
  EXPECT_THAT(names(cards_called("w7900")), ElementsAre("AMD Radeon PRO W7900"));
  EXPECT_THAT(names(cards_called("nvidia mi300x")), IsEmpty());
  EXPECT_THAT(names(cards_called("amd instinct")), IsEmpty());
}

TEST(Cards, ADeviceOfAnotherMakerIsFoundByTheWordsInItsName) {
  const auto named = [](DeviceKind kind, std::string name) {
    Device device;
    device.kind = kind;
    device.name = std::move(name);
    const Card* card = card_of(device);
    return std::string(card == nullptr ? "" : card->name);
  };
  const DeviceKind amd = DeviceKind::amd_gpu;
  EXPECT_EQ(named(amd, "AMD Instinct MI300X OAM"), "AMD Instinct MI300X");
  EXPECT_EQ(named(amd, "Advanced Micro Devices, Inc. [AMD/ATI] Navi 23 [Radeon RX 6650 XT]"),
            "AMD Radeon RX 6650 XT");
  EXPECT_EQ(named(amd, "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE]"), "") << "one of three";
  EXPECT_EQ(named(amd, "Navi 32 [Radeon RX 7700 XT / 7800 XT]"), "") << "one of two";
  EXPECT_EQ(named(amd, "AMD Instinct MI300"), "");
  EXPECT_EQ(named(DeviceKind::intel_gpu, "Intel Corporation DG2 [Arc A770]"), "Intel Arc A770");
  EXPECT_EQ(named(DeviceKind::intel_gpu, "AMD Instinct MI300X"), "") << "another maker's";
  EXPECT_EQ(named(DeviceKind::amd_partition, ""), "");
}

TEST(Cards, IntelsAreFoundByWhatPeopleCallThem) {
  EXPECT_THAT(names(cards_called("arc a770")), ElementsAre("Intel Arc A770"));
  EXPECT_THAT(names(cards_called("B580")), ElementsAre("Intel Arc B580"));
  EXPECT_THAT(names(cards_called("arc a380")), ElementsAre("Intel Arc A380"));
  EXPECT_THAT(names(cards_called("flex 170")), ElementsAre("Intel Data Center GPU Flex 170"));
  EXPECT_THAT(names(cards_called("intel max 1550")), ElementsAre("Intel Data Center GPU Max 1550"));
  EXPECT_THAT(names(cards_called("radeon a770")), IsEmpty());
  EXPECT_EQ(one("a770").maker(), "Intel");
  EXPECT_EQ(one("mi300x").maker(), "AMD");
  EXPECT_EQ(one("h100 pcie").maker(), "NVIDIA");
}

TEST(Cards, ChipsOfAscendAreFoundByTheNameThatTheirLibraryTells) {
  for (const char* name : {"310P3", "910A", "910B1", "910B2", "910B2C", "910B3", "910B4"}) {
    Device chip;
    chip.kind = DeviceKind::ascend_npu;
    chip.name = std::string("Ascend ") + name;
    const Card* found = card_of(chip);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->name, std::string("Huawei Ascend ") + name);
  }
  EXPECT_THAT(names(cards_called("ascend 910c")), ElementsAre("Huawei Ascend 910_9392"));
  EXPECT_THAT(names(cards_called("910b4")), ElementsAre("Huawei Ascend 910B4"));
  EXPECT_THAT(names(cards_called("ascend 910b")),
              ElementsAre("Huawei Ascend 910B1", "Huawei Ascend 910B2", "Huawei Ascend 910B2C",
                          "Huawei Ascend 910B3", "Huawei Ascend 910B4"));
  EXPECT_EQ(cards_called("910B").size(), 5U);
  EXPECT_EQ(one("910b3").memory_gib, 64);
  EXPECT_EQ(one("910b4").memory_gib, 32);
  // Ascend910B1.ini, …: cube_freq.
  EXPECT_EQ(one("910b1").boost_mhz, 1850);
  EXPECT_EQ(one("910b2").boost_mhz, 1800);
  EXPECT_EQ(one("910b4").boost_mhz, 1500);
  EXPECT_EQ(one("310p3").boost_mhz, 1060);
  EXPECT_EQ(peak_rates(one("910a")).fp16, 256);
  EXPECT_FALSE(peak_rates(one("910b2")).fp16) << "nothing of Huawei's own says it";
  EXPECT_FALSE(one("910b2").bandwidth || one("910b2").memory);
}

TEST(Cards, WhatNoSourceSaysOfARadeonOrAnArcIsAbsent) {
  EXPECT_EQ(one("7900 xtx").bandwidth, 960);
  EXPECT_FALSE(one("7900 xtx").bus_bits);
  EXPECT_EQ(one("rx 6950 xt").bus_bits, 256);
  EXPECT_FALSE(one("rx 6600").watts);
  EXPECT_EQ(one("b570").watts, 150) << "XPU Manager: 0xE20C";
  EXPECT_FALSE(one("max 1100").bus_bits);
  EXPECT_FALSE(peak_rates(one("rx 9070 xt")).fp16);
  for (const char* name : {"rx 6700", "rx 7700 xt", "rx 9070 gre", "r9700"}) {
    EXPECT_FALSE(one(name).bandwidth || one(name).memory || one(name).watts) << name;
  }
  EXPECT_EQ(one("rx 6700").memory_gib, 10);
  // No document of theirs was found that could be read.
  for (const char* name : {"rx 6400", "flex 140", "max 1350"}) {
    EXPECT_THAT(names(cards_called(name)), IsEmpty()) << name;
  }
}

TEST(Cards, NoTwoHaveTheSameNameMemoryAndId) {
  std::map<std::string, std::string_view> seen;
  for (const Card& card : all_cards()) {
    const std::string key = std::string(card.name) + "/" + std::to_string(card.memory_gib);
    EXPECT_TRUE(seen.emplace(key, card.name).second) << key;
  }
}

TEST(Cards, CoresAreThoseThatTheVendorCounts) {
  // From the products' pages and data sheets, which count cores and not multiprocessors.
  const std::map<std::string_view, std::uint64_t> counted = {
      {"GeForce GTX 970", 1664},
      {"GeForce GTX 1080 Ti", 3584},
      {"GeForce RTX 2080 Ti", 4352},
      {"GeForce RTX 3060 Ti", 4864},
      {"GeForce RTX 3090", 10496},
      {"GeForce RTX 4060", 3072},
      {"GeForce RTX 4070 Ti", 7680},
      {"GeForce RTX 4090", 16384},
      {"GeForce RTX 5070 Ti", 8960},
      {"GeForce RTX 5090", 21760},
      {"Quadro P6000", 3840},
      {"Quadro RTX 5000", 3072},
      {"RTX A4000", 6144},
      {"RTX A6000", 10752},
      {"RTX 4500 Ada Generation", 7680},
      {"RTX 6000 Ada Generation", 18176},
      {"RTX PRO 4500 Blackwell", 10496},
      {"RTX PRO 6000 Blackwell Server Edition", 24064},
      {"Tesla K80", 2496},
      {"Tesla M60", 2048},
      {"Tesla P4", 2560},
      {"Tesla P100-PCIE-16GB", 3584},
      {"Tesla V100-SXM2-16GB", 5120},
      {"Tesla T4", 2560},
      {"A2", 1280},
      {"A10", 9216},
      {"A30", 3584},
      {"A100-SXM4-40GB", 6912},
      {"L4", 7424},
      {"L40S", 18176},
      {"L20", 11776},
      {"H100 PCIe", 14592},
      {"H100 80GB HBM3", 16896},
      {"Orin", 2048},
  };
  for (const auto& [name, cores] : counted) {
    EXPECT_EQ(cuda_cores(one(name)), cores) << name;
    EXPECT_EQ(one(name).name, name);
  }
}

TEST(Cards, TensorRatesAreThePublishedDenseOnes) {
  // FP16 with FP32 accumulation in teraflops: data sheets and whitepapers, half of the sparse ones.
  const std::map<std::string_view, double> published = {
      {"Tesla V100-SXM2-16GB", 125},
      {"Tesla V100-PCIE-16GB", 112},
      {"Tesla V100S-PCIE-32GB", 130},
      {"Tesla T4", 65},
      {"GeForce RTX 2080 Ti", 53.8},
      {"TITAN RTX", 130.5},
      {"Quadro RTX 5000", 89.2},
      {"Quadro RTX 4000", 57},
      {"GeForce RTX 3090", 71},
      {"GeForce RTX 3080 Ti", 68},
      {"RTX A6000", 154.8},
      {"RTX A5000", 111.1},
      {"A2", 18},
      {"A10", 125},
      {"A10G", 70},
      {"A30", 165},
      {"A40", 149.7},
      {"A100-SXM4-80GB", 312},
      {"GeForce RTX 4090", 165.2},
      {"GeForce RTX 4080", 97.5},
      {"RTX 6000 Ada Generation", 364.2},
      {"L4", 121},
      {"L40", 181},
      {"L40S", 366},
      {"L20", 119.5},
      {"H100 80GB HBM3", 989.4},
      {"GeForce RTX 5090", 209.5},
      {"GeForce RTX 5080", 112.6},
      {"RTX PRO 6000 Blackwell Workstation Edition", 500},
  };
  for (const auto& [name, teraflops] : published) {
    const auto rate = peak_rates(one(name)).fp16;
    ASSERT_TRUE(rate) << name;
    EXPECT_NEAR(*rate / teraflops, 1, 0.02) << name;
  }
}

TEST(Cards, OtherRatesAreThePublishedOnes) {
  EXPECT_NEAR(*peak_rates(one("Tesla P4")).int8, 22, 0.4);
  EXPECT_NEAR(*peak_rates(one("Tesla P40")).int8, 47, 0.9);
  EXPECT_NEAR(*peak_rates(one("P100 SXM2")).fp16, 21.2, 0.3);
  EXPECT_NEAR(*peak_rates(one("P100 SXM2")).fp64, 5.3, 0.1);
  EXPECT_NEAR(*peak_rates(one("Tesla K80")).fp64, 1.455, 0.02);
  EXPECT_NEAR(*peak_rates(one("Tesla T4")).int8, 130, 1.3);
  EXPECT_NEAR(*peak_rates(one("A100-SXM4-40GB")).tf32, 156, 1.5);
  EXPECT_NEAR(*peak_rates(one("A100-SXM4-40GB")).int8, 624, 6);
  EXPECT_NEAR(*peak_rates(one("A100-SXM4-40GB")).fp64, 9.7, 0.1);
  EXPECT_NEAR(*peak_rates(one("A100-SXM4-40GB")).fp64_tensor, 19.5, 0.2);
  EXPECT_NEAR(*peak_rates(one("L4")).fp8, 242, 3);
  EXPECT_NEAR(*peak_rates(one("4090")).fp8, 330.3, 3);
  EXPECT_NEAR(*peak_rates(one("4090")).int8, 660.6, 7);
  EXPECT_NEAR(*peak_rates(one("5090")).fp4, 1676, 17);
  EXPECT_NEAR(*peak_rates(one("Orin")).int8, 85, 1);
  EXPECT_EQ(peak_rates(one("RTX PRO 4000 Blackwell")).fp16, std::nullopt);
  // Where products of integers go at half the rate as well.
  EXPECT_NEAR(*peak_rates(one("L40")).int8, 362, 1);
  EXPECT_NEAR(*peak_rates(one("L40")).tf32, 90.5, 1);
  EXPECT_NEAR(*peak_rates(one("L20")).int8, 239, 1);
  EXPECT_NEAR(*peak_rates(one("A10G")).int8, 140, 1);
  EXPECT_NEAR(*peak_rates(one("L40S")).int8, 733, 2);
}

TEST(Cards, KnowWhatTheyLack) {
  EXPECT_THAT(
      lacks_of(one("1080 ti")),
      ElementsAre(Lack::tensor_cores, Lack::fast_fp16, Lack::bf16, Lack::tf32, Lack::fp8, Lack::fp4,
                  Lack::fast_fp64, Lack::ecc, Lack::instances, Lack::nvlink, Lack::cuda_13));
  EXPECT_THAT(lacks_of(one("T4")), Contains(Lack::bf16));
  EXPECT_THAT(lacks_of(one("T4")), Not(Contains(Lack::tensor_cores)));
  EXPECT_THAT(lacks_of(one("T4")), Not(Contains(Lack::cuda_13)));
  EXPECT_THAT(lacks_of(one("1660 ti")), Contains(Lack::tensor_cores));
  EXPECT_THAT(lacks_of(one("V100-SXM2-16GB")), Contains(Lack::cuda_13));
  EXPECT_THAT(lacks_of(one("H100 SXM")), ElementsAre(Lack::fp4));
  EXPECT_THAT(lacks_of(one("H800")), Contains(Lack::fast_fp64));
  EXPECT_THAT(lacks_of(one("B200")), IsEmpty());
  for (const char* switchable : {"4090", "3090 Ti", "RTX A6000", "L40S"}) {
    EXPECT_THAT(lacks_of(one(switchable)), Not(Contains(Lack::ecc))) << switchable;
  }
  EXPECT_THAT(lacks_of(one("3090")), Contains(Lack::ecc));
  for (const char* bridged : {"Quadro GP100", "Quadro GV100"}) {
    EXPECT_THAT(lacks_of(one(bridged)), Not(Contains(Lack::nvlink))) << bridged;
    EXPECT_EQ(one(bridged).nvlink, std::nullopt);
  }
}

TEST(Cards, AreFoundByWhatPeopleCallThem) {
  for (const char* name :
       {"3090", "rtx 3090", "RTX3090", "NVIDIA GeForce RTX 3090", "geforce 3090"}) {
    EXPECT_THAT(names(cards_called(name)), ElementsAre("GeForce RTX 3090")) << name;
  }
  EXPECT_THAT(names(cards_called("3090ti")), ElementsAre("GeForce RTX 3090 Ti"));
  EXPECT_THAT(names(cards_called("4070 ti super")), ElementsAre("GeForce RTX 4070 Ti SUPER"));
  EXPECT_THAT(names(cards_called("4070tisuper")), ElementsAre("GeForce RTX 4070 Ti SUPER"));
  EXPECT_THAT(names(cards_called("h100 sxm")), ElementsAre("H100 80GB HBM3"));
  EXPECT_THAT(names(cards_called("H100")), ElementsAre("H100 PCIe", "H100 80GB HBM3", "H100 NVL"));
  EXPECT_THAT(names(cards_called("a100 80g")), ElementsAre("A100 80GB PCIe", "A100-SXM4-80GB"));
  EXPECT_THAT(names(cards_called("a100 40 gb pcie")), ElementsAre("A100-PCIE-40GB"));
  EXPECT_THAT(names(cards_called("a100 80")), ElementsAre("A100 80GB PCIe", "A100-SXM4-80GB"));
  EXPECT_THAT(names(cards_called("h100 pcie")), ElementsAre("H100 PCIe"));
  EXPECT_EQ(cards_called("h100 pcie").front()->bandwidth, 2039);
  EXPECT_THAT(cards_called("80"), IsEmpty()) << "a size alone names no card";
  EXPECT_THAT(names(cards_called("A10")), ElementsAre("A10"));
  EXPECT_THAT(names(cards_called("rtx 6000 ada")), ElementsAre("RTX 6000 Ada Generation"));
  EXPECT_THAT(names(cards_called("p100 sxm2")), ElementsAre("Tesla P100-SXM2-16GB"));
  EXPECT_THAT(names(cards_called("4060 ti 16gb")), ElementsAre("GeForce RTX 4060 Ti"));
  EXPECT_EQ(cards_called("4060 ti 16gb").front()->memory_gib, 16);
}

TEST(Cards, NonsenseIsNoCard) {
  for (const char* name : {"", " ", "nvidia", "rtx", "9999", "h100 h100x", "\xff\xfe", "3090\n1"}) {
    EXPECT_THAT(cards_called(name), IsEmpty()) << name;
  }
  EXPECT_THAT(cards_called(std::string(1 << 20, '3')), IsEmpty());
  EXPECT_EQ(similar_names("rtx 3091", 3).front(), "GeForce RTX 3090");
  EXPECT_EQ(similar_names("h10", 2).front(), "H100 PCIe");
  EXPECT_EQ(similar_names(std::string(1 << 20, '3'), 3).size(), 3U);
}

Device device(std::string name, std::string pci_id, std::uint64_t mib) {
  Device gpu;
  gpu.kind = DeviceKind::nvidia_gpu;
  gpu.name = std::move(name);
  gpu.pci_id = std::move(pci_id);
  gpu.memory_total = Bytes(mib << 20);
  return gpu;
}

TEST(Cards, AreFoundByWhatADriverReports) {
  // As real machines reported them.
  struct Reported {
    const char* name;
    const char* id;
    std::uint64_t mib;
  };
  for (const Reported& real :
       std::vector<Reported>{{"NVIDIA GeForce RTX 2080 SUPER", "10de:1e81", 8192},
                             {"NVIDIA L40S", "10de:26b9", 46068},
                             {"NVIDIA H100 80GB HBM3", "10de:2330", 81559},
                             {"NVIDIA A100-SXM4-40GB", "10de:20b0", 40960},
                             {"NVIDIA GB200", "10de:2941", 189471},
                             {"NVIDIA RTX A6000", "10de:2230", 49140},
                             {"NVIDIA RTX 6000 Ada Generation", "10de:26b1", 49140},
                             {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "10de:2bb5", 97887},
                             {"NVIDIA GeForce RTX 4090", "10de:2684", 24564},
                             {"Tesla T4", "10de:1eb8", 15360}}) {
    const Card* card = card_of(device(real.name, real.id, real.mib));
    ASSERT_NE(card, nullptr) << real.name;
    EXPECT_TRUE(std::string(real.name).ends_with(card->name)) << real.name;
    const double mib = static_cast<double>(usable_memory(*card).count()) / (1 << 20);
    EXPECT_NEAR(mib / static_cast<double>(real.mib), 1, 0.01) << real.name;
  }
  EXPECT_EQ(card_of(device("NVIDIA GeForce RTX 3080", "10de:220a", 12288))->memory_gib, 12);
  EXPECT_EQ(card_of(device("NVIDIA GeForce RTX 4060 Ti", "10de:0000", 16380))->memory_gib, 16);
  EXPECT_EQ(card_of(device("GA100 [A100 SXM4 80GB]", "10de:20b2", 81920))->name, "A100-SXM4-80GB");
  EXPECT_EQ(card_of(device("NVIDIA GeForce RTX 3080 Laptop GPU", "10de:24dc", 8192)), nullptr);
  Device instance = device("NVIDIA H100 80GB HBM3", "10de:2330", 9984);
  instance.kind = DeviceKind::nvidia_mig;
  EXPECT_EQ(card_of(instance), nullptr);
}

TEST(CoresOfProduct, KnowsTheCoresOfProductsNotOfTheFullDie) {
  EXPECT_EQ(cores_of_product("GeForce GTX 1080 Ti"), 3584U);
  EXPECT_EQ(cores_of_product("NVIDIA GeForce RTX 2080 Ti"), 4352U);
  EXPECT_EQ(cores_of_product("NVIDIA GeForce RTX 3090"), 10496U);
  EXPECT_EQ(cores_of_product("A100-SXM4-40GB"), 6912U);
  EXPECT_EQ(cores_of_product("NVIDIA A100 80GB PCIe"), 6912U);
  EXPECT_EQ(cores_of_product("NVIDIA H100 80GB HBM3"), 16896U);
  EXPECT_EQ(cores_of_product("NVIDIA H100 PCIe"), 14592U);
}

TEST(CoresOfProduct, TakesTheLongestNameThatFits) {
  EXPECT_EQ(cores_of_product("GeForce RTX 2080"), 2944U);
  EXPECT_EQ(cores_of_product("GeForce RTX 2080 SUPER"), 3072U);
  EXPECT_EQ(cores_of_product("GeForce RTX 3090 Ti"), 10752U);
}

TEST(CoresOfProduct, KnowsNothingOfAnUnknownProduct) {
  EXPECT_EQ(cores_of_product("NVIDIA A1000 Laptop GPU"), std::nullopt);
  EXPECT_EQ(cores_of_product("NVIDIA T400"), std::nullopt);
  EXPECT_EQ(cores_of_product(""), std::nullopt);
}

}  // namespace
}  // namespace berth
