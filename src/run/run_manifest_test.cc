#include "run/run_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/cap.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

JobSpec job_of_a_share() {
  JobSpec job;
  job.request.memory = 8_GiB;
  job.priority = Priority::low;
  job.time_limit = std::chrono::hours(2);
  job.cap_action = CapAction::stop;
  return job;
}

Manifest manifest_of(const std::string& run) {
  Manifest manifest;
  manifest.id = run;
  manifest.command = {"/no/such/program", "--epochs", "3"};
  return manifest;
}

TEST(ClaimTerms, SayWhoTheRunIsAndWhatHoldsItsShare) {
  Manifest manifest = manifest_of("20260101-a");
  manifest.cap = RunCap{.tier = CapTier::shim};
  AcquireOptions options;
  set_claim_terms(manifest, job_of_a_share(), options);
  EXPECT_EQ(options.claim.run, "20260101-a");
  EXPECT_EQ(options.claim.command, command_for_others(manifest.command));
  EXPECT_EQ(options.claim.held_by, CapTier::shim);
  EXPECT_EQ(options.priority, Priority::low);
}

TEST(ClaimTerms, PromiseNoEndOfAProgramThatNobodyEnds) {
  AcquireOptions options;
  set_claim_terms(manifest_of("20260101-a"), job_of_a_share(), options);
  EXPECT_EQ(options.claim.held_by, std::nullopt);
  EXPECT_EQ(options.time_limit, std::nullopt);
}

TEST(ClaimTerms, AProgramThatRunsAlreadyIsWatchedAndNotEnded) {
  const auto cap = cap_of_running_program(job_of_a_share());
  ASSERT_TRUE(cap && *cap);
  EXPECT_EQ((*cap)->tier, CapTier::watchdog);
  EXPECT_FALSE((*cap)->stops);
  JobSpec by_shim = job_of_a_share();
  by_shim.cap = CapTier::shim;
  EXPECT_FALSE(cap_of_running_program(by_shim));
}

}  // namespace
}  // namespace berth
