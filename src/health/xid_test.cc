#include "health/xid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace berth {
namespace {

using Codes = std::set<std::uint64_t>;

// NVIDIA's catalogue of October 2025, code by code, by its "immediate action". Codes in none of
// these lists are CONTACT_SUPPORT there, mostly as "Unused".
const Codes ignored = {14,  37,  38,  43,  44,  63,  66,  67,  92,  93, 106,
                       107, 108, 121, 137, 141, 152, 153, 157, 160, 161};
const Codes restart_app = {8,   11,  13,  25,  31,  32,  39,  40,  41,  60,  68,  69,
                           70,  71,  72,  75,  76,  77,  80,  82,  83,  84,  85,  86,
                           88,  89,  94,  96,  97,  98,  99,  100, 101, 102, 103, 104,
                           105, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 139};
const Codes reset_gpu = {46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158};
const Codes nvlink_workflow = {74, 144, 145, 146, 147, 148, 149, 150};
// XID 45 follows from another error and 154 tells what another one takes.
const Codes about_others = {45, 154};
// No action is named: the first four are power smoothing's, without which the card works on.
const Codes power_smoothing = {162, 163, 164, 165};
const Codes nothing_named = {166, 167, 168, 169, 170, 171, 172};
constexpr std::uint64_t last_code = 172;

XidAction expected(std::uint64_t code) {
  if (ignored.contains(code) || about_others.contains(code) || power_smoothing.contains(code)) {
    return XidAction::none;
  }
  if (restart_app.contains(code)) return XidAction::restart_app;
  if (reset_gpu.contains(code)) return XidAction::reset;
  if (nvlink_workflow.contains(code)) return XidAction::check_link;
  switch (code) {
    case 48:   // a workflow that ends in a reset
    case 171:  // said beside it
    case 172:
      return XidAction::reset;
    case 54:
      return XidAction::check_power;
    case 78:
      return XidAction::update;
    case 79:   // the machine
    case 151:  // the virtual machine
      return XidAction::restart_machine;
    default:
      return XidAction::support;
  }
}

TEST(XidCatalogue, HasEveryCodeWithNvidiasImmediateAction) {
  for (std::uint64_t code = 1; code <= last_code; ++code) {
    const XidFacts facts = xid_facts(code);
    EXPECT_EQ(facts.code, code);
    EXPECT_EQ(facts.action, expected(code)) << code;
    EXPECT_THAT(std::string(facts.meaning), testing::Not(testing::HasSubstr("not in the catal")))
        << code;
  }
  for (const std::uint64_t code : {std::uint64_t{0}, last_code + 1}) {
    EXPECT_EQ(xid_facts(code).meaning, "an error that is not in the catalogue");
    EXPECT_EQ(xid_facts(code).action, XidAction::support);
  }
}

TEST(XidCatalogue, WhatIsInUseHasAMeaningOfItsOwn) {
  constexpr std::string_view unused = "a code that is not in use on cards of today";
  std::vector<Codes> in_use = {restart_app,
                               reset_gpu,
                               nvlink_workflow,
                               about_others,
                               power_smoothing,
                               nothing_named,
                               {48, 54, 78, 79, 142, 151, 159}};
  for (const Codes& codes : in_use) {
    for (const std::uint64_t code : codes) EXPECT_NE(xid_facts(code).meaning, unused) << code;
  }
  for (const std::uint64_t code : Codes{1, 14, 42, 61, 108, 138}) {
    EXPECT_EQ(xid_facts(code).meaning, unused) << code;
  }
}

TEST(XidCatalogue, WhatNvidiaIgnoresDegradesNothing) {
  for (std::uint64_t code = 1; code <= last_code; ++code) {
    const XidGravity gravity = gravity_of(xid_facts(code).action);
    if (ignored.contains(code)) {
      EXPECT_EQ(gravity, XidGravity::of_job) << code;
    }
    const bool takes_more_than_the_job =
        reset_gpu.contains(code) || nvlink_workflow.contains(code) || nothing_named.contains(code);
    if (takes_more_than_the_job) {
      EXPECT_NE(gravity, XidGravity::of_job) << code;
    }
  }
}

}  // namespace
}  // namespace berth
