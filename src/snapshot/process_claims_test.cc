#include "snapshot/process_claims.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

constexpr pid_t keeper = 100;
constexpr pid_t job = 110;

/// Alice's run has A, and a process with these ancestors is on it.
Snapshot host_with(pid_t pid, std::vector<pid_t> ancestors, GpuUse use = GpuUse::compute) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .claim("alice", std::nullopt, keeper)
                      .process(pid, "alice", 1_GiB, use)
                      .build();
  host.claims[0].job = ProcessId{.pid = job};
  host.processes[0].ancestors = std::move(ancestors);
  return host;
}

/// The user of the claim; empty: a stranger.
std::string whose(pid_t pid, const Snapshot& host) {
  const Claim* claim = ProcessClaims(host).of(pid);
  return claim != nullptr ? claim->user : "";
}

TEST(ProcessClaims, KeeperJobAndWhatTheyStartedAreOfTheRun) {
  EXPECT_EQ(whose(keeper, host_with(keeper, {50, 1})), "alice");
  EXPECT_EQ(whose(job, host_with(job, {keeper, 50, 1})), "alice");
  EXPECT_EQ(whose(140, host_with(140, {keeper, 50, 1})), "alice") << "the keeper adopted it";
  EXPECT_EQ(whose(140, host_with(140, {130, job, keeper, 50, 1})), "alice");
}

TEST(ProcessClaims, WhatTheJobStartedIsOfTheRunWithoutTheKeeperToo) {
  // `berth claim` keeps a job that it has not started. A keeper may have been killed.
  EXPECT_EQ(whose(140, host_with(140, {130, job, 1})), "alice");
}

TEST(ProcessClaims, OrphanOfARunWhoseKeeperAndJobHaveEndedIsAStranger) {
  EXPECT_EQ(whose(140, host_with(140, {1})), "");
}

TEST(ProcessClaims, StrangerAndUnknownProcessAreOfNoRun) {
  const Snapshot host = host_with(140, {130, 50, 1});
  EXPECT_EQ(whose(140, host), "");
  EXPECT_EQ(whose(999, host), "");
  EXPECT_EQ(whose(0, host), "");
  EXPECT_EQ(whose(-1, host), "");
}

TEST(ProcessClaims, NumberAloneTellsKeeperAndJobWhereProcShowsNothing) {
  const Snapshot host = host_with(140, {});
  EXPECT_EQ(whose(keeper, host), "alice");
  EXPECT_EQ(whose(job, host), "alice");
}

TEST(ProcessClaims, WhatIsInTheJobsContainerIsOfTheRun) {
  Snapshot host = host_with(140, {130, 1});  // the engine's, none of the keeper's
  host.claims[0].container = std::string(64, 'a');
  EXPECT_EQ(whose(140, host), "");
  host.processes[0].enclosure = Enclosure{.runtime = "docker", .id = std::string(64, 'b')};
  EXPECT_EQ(whose(140, host), "") << "another's container";
  host.processes[0].enclosure->id = std::string(64, 'a');
  EXPECT_EQ(whose(140, host), "alice");
  host.claims[0].container.clear();
  host.processes[0].enclosure->id.clear();
  EXPECT_EQ(whose(140, host), "") << "no container is everybody's";
}

TEST(ProcessClaims, MpsClientIsOfItsRunAndTheServerOfNone) {
  EXPECT_EQ(whose(140, host_with(140, {job, keeper, 1}, GpuUse::mps)), "alice");
  Snapshot host = host_with(140, {1}, GpuUse::compute);
  host.gpu_processes[0].server = true;
  EXPECT_EQ(whose(140, host), "");
}

TEST(ProcessClaims, ProcessElsewhereIsUnderNobodysLease) {
  Snapshot host = host_with(job, {keeper, 1});
  host.host.process_view = std::string("namespace");
  host.processes[0].uid = Absent::failed;  // nobody here is known to be the one
  EXPECT_EQ(whose(job, host), "");
  host.processes[0].uid = uid_t{1000};
  EXPECT_EQ(whose(job, host), "alice");
}

TEST(ProcessClaims, LeaseWithoutAKeeperAdoptsNobody) {
  Snapshot host = host_with(140, {1, 0});
  host.claims[0].keeper.reset();
  host.claims[0].job = ProcessId{};
  EXPECT_EQ(whose(140, host), "");
  EXPECT_EQ(whose(0, host), "");
}

TEST(ProcessClaims, FirstProcessIsAJobInAContainerAlone) {
  Snapshot host = host_with(140, {1});
  host.claims[0].job = ProcessId{.pid = 1};
  host.host.process_view = std::string("namespace");
  EXPECT_EQ(whose(140, host), "alice");
  host.host.process_view = std::string("whole");
  EXPECT_EQ(whose(140, host), "") << "it has started everybody's";
}

TEST(ProcessClaims, RunStartedBelowAnotherHasItsOwnProcesses) {
  Snapshot host = host_with(140, {300, 200, job, keeper, 1});
  Claim inner = host.claims[0];
  inner.user = "bob";
  inner.keeper = ProcessId{.pid = 200};
  inner.job = ProcessId{.pid = 300};
  inner.devices = {{DeviceId("B"), {}}};
  host.claims.push_back(inner);
  EXPECT_EQ(whose(140, host), "bob");
  host.processes[0].ancestors = {120, job, keeper, 1};
  EXPECT_EQ(whose(140, host), "alice");
}

TEST(ProcessClaims, OnADeviceOnlyItsOwnLeasesCount) {
  const Snapshot host = host_with(140, {job, keeper, 1});
  const ProcessClaims runs(host);
  EXPECT_EQ(runs.of(140, DeviceId("A")), &host.claims[0]);
  EXPECT_EQ(runs.of(140, DeviceId("B")), nullptr) << "outside its lease";
}

TEST(ProcessClaims, AnswersAmongTheClaimsThatItIsGiven) {
  const Snapshot host = host_with(140, {job, keeper, 1});
  EXPECT_EQ(ProcessClaims(host, {}).of(140), nullptr);
  const std::vector<Claim> others = {{.id = "other", .keeper = ProcessId{.pid = job}}};
  EXPECT_EQ(ProcessClaims(host, others).of(140), &others[0]);
}

TEST(ProcessClaims, OfTwoWithOneNumberTheFirstCounts) {
  Snapshot host = host_with(140, {job, keeper, 1});
  host.claims.push_back(host.claims[0]);
  host.processes.push_back(host.processes[0]);
  const ProcessClaims runs(host);
  EXPECT_EQ(runs.of(140), &host.claims[0]);
  EXPECT_EQ(runs.process(140), &host.processes[0]);
}

}  // namespace
}  // namespace berth
