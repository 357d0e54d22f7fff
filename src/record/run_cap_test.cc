#include "record/run_cap.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;
using namespace literals;

const RunCap watched{.tier = CapTier::watchdog};

/// Of a run on one device each of these.
Summary seen(std::vector<Reading<Bytes>> own) {
  Summary summary;
  for (const Reading<Bytes>& one : own) summary.devices.push_back({.own_memory_peak = one});
  return summary;
}

CapProof proof(const RunCap& cap, const Summary& summary, bool simulated = false) {
  return outcome_of(cap, {}, summary, simulated).proof;
}

TEST(RunCap, OfTheWatchdogIsProvedWhereItCouldReadWhatTheRunHas) {
  EXPECT_EQ(proof(watched, seen({2_GiB, 3_GiB})), (CapProof{Proved::yes, {}}));
}

TEST(RunCap, IsNotProvedWhereNobodyTellsWhatTheRunHas) {
  const CapProof untold = proof(watched, seen({2_GiB, Absent::unsupported}));
  EXPECT_EQ(untold.proved, Proved::no);
  EXPECT_THAT(untold.why.english(), HasSubstr("not supported by this device"));
}

TEST(RunCap, IsNotKnownWhereNothingWasSeenOrMeasured) {
  EXPECT_EQ(proof(watched, Summary()).proved, Proved::unknown);
  EXPECT_EQ(proof(watched, seen({2_GiB, Absent::not_sampled})).proved, Proved::unknown);
  EXPECT_EQ(proof(watched, seen({2_GiB}), true).why, "the figures are simulated");
}

TEST(RunCap, OfMpsIsProvedByWhatWasMeasured) {
  const auto of_mps = [](std::vector<Reading<Bytes>> own) {
    return outcome_of({.tier = CapTier::mps}, {10_GiB}, seen(std::move(own)), false).proof.proved;
  };
  EXPECT_EQ(of_mps({9_GiB}), Proved::yes);
  EXPECT_EQ(of_mps({12_GiB}), Proved::no);
  EXPECT_EQ(of_mps({Absent::not_sampled}), Proved::unknown);
}

TEST(RunCap, OfTheShimIsProvedWhereItIsInEachProcess) {
  const RunCap shim{.tier = CapTier::shim};
  const auto of_shim = [&](const CapSeen& told) {
    return outcome_of(shim, {10_GiB}, seen({4_GiB}), false, told).proof;
  };
  const CapSeen whole{.devices = {{4_GiB, 2}}, .in_processes = true, .gap = {}};
  EXPECT_EQ(of_shim(whole), (CapProof{Proved::yes, {}}));
  EXPECT_EQ(of_shim({.devices = {{4_GiB, 0}}, .in_processes = true, .gap = Sentence("process 7")}),
            (CapProof{Proved::no, Sentence("process 7")}));
  EXPECT_EQ(of_shim({.devices = {{1_GiB, 0}}, .in_processes = true, .gap = {}}).proved, Proved::no);
  EXPECT_EQ(of_shim({}).proved, Proved::unknown);
  const CapOutcome outcome = outcome_of(shim, {10_GiB}, seen({4_GiB}), false, whole);
  EXPECT_EQ(outcome.devices[0].highest_charge, Reading<Bytes>(4_GiB));
  EXPECT_EQ(outcome.devices[0].refusals, 2U);
}

TEST(RunCap, OfNothingIsNeverProved) {
  EXPECT_EQ(proof({.tier = CapTier::none}, seen({2_GiB})).proved, Proved::no);
}

TEST(RunCap, TellsLimitAndTheMostOfEachDevice) {
  const CapOutcome outcome = outcome_of(watched, {10_GiB, 5_GiB}, seen({2_GiB}), false);
  ASSERT_EQ(outcome.devices.size(), 2U);
  EXPECT_EQ(outcome.devices[0], (CapOnDevice{.limit = 10_GiB,
                                             .highest_measured = 2_GiB,
                                             .highest_charge = Absent::unsupported}));
  EXPECT_EQ(outcome.devices[1].highest_measured, Reading<Bytes>(Absent::not_sampled));
}

}  // namespace
}  // namespace berth
