#include "snapshot/holders.h"

#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

constexpr uid_t of_the_directory = 10'023;

Snapshot with_a_process_of(const std::string& name) {
  Snapshot snapshot = SnapshotBuilder().gpu("A", 8_GiB).process(7, name, 1_GiB).build();
  snapshot.processes[0].uid = of_the_directory;
  return snapshot;
}

Claim claim_of(uid_t uid, const std::string& user) {
  Claim claim;
  claim.uid = uid;
  claim.user = user;
  return claim;
}

TEST(Holders, ByNumberAloneAreCalledAsTheirProcessesAre) {
  Snapshot snapshot = with_a_process_of("zhang");
  Waiter waiter;
  waiter.uid = of_the_directory;
  waiter.user = "10023";
  HolderNames names;
  add_holders(snapshot, {claim_of(of_the_directory, "10023"), claim_of(10'024, "10024")}, {waiter},
              names);
  ASSERT_EQ(snapshot.claims.size(), 2U);
  EXPECT_EQ(snapshot.claims[0].user, "zhang");
  EXPECT_EQ(snapshot.claims[1].user, "10024") << "another's name is not his";
  EXPECT_EQ(snapshot.waiters.at(0).user, "zhang");
}

TEST(Holders, KeepTheNameThatThePasswordFileGives) {
  Snapshot snapshot = with_a_process_of("zhang");
  HolderNames names;
  add_holders(snapshot, {claim_of(of_the_directory, "local")}, {}, names);
  EXPECT_EQ(snapshot.claims.at(0).user, "local");
}

TEST(Holders, StayNumbersWhereNobodyKnowsMore) {
  Snapshot snapshot = with_a_process_of("10023");
  snapshot.processes[0].user = Absent::no_permission;
  HolderNames names;
  add_holders(snapshot, {claim_of(of_the_directory, "10023")}, {}, names);
  EXPECT_EQ(snapshot.claims.at(0).user, "10023");
}

TEST(Holders, OnASimulatedServerHaveNoneOfItsPeoplesNames) {
  Snapshot snapshot = with_a_process_of("alice");
  snapshot.simulated = "server-8xh100";
  HolderNames names;
  add_holders(snapshot, {claim_of(of_the_directory, "10023")}, {}, names);
  EXPECT_EQ(snapshot.claims.at(0).user, "10023");
}

/// What the holder of one lease is called in that look.
std::string name_in(Snapshot look, HolderNames& names) {
  add_holders(look, {claim_of(of_the_directory, "10023")}, {}, names);
  return look.claims.at(0).user;
}

TEST(Holders, KeepTheirNameWhileTheyHaveNoProcess) {
  HolderNames names;
  const Snapshot quiet = SnapshotBuilder().gpu("A", 8_GiB).build();
  EXPECT_EQ(name_in(quiet, names), "10023") << "nobody has told yet";
  EXPECT_EQ(name_in(with_a_process_of("zhang"), names), "zhang");
  EXPECT_EQ(name_in(quiet, names), "zhang");
  EXPECT_EQ(name_in(with_a_process_of("10023"), names), "zhang")
      << "a directory service that does not answer takes no name away";
}

TEST(Holders, WhoIsGivenAnotherNameIsCalledByTheNewOne) {
  HolderNames names;
  EXPECT_EQ(name_in(with_a_process_of("zhang"), names), "zhang");
  EXPECT_EQ(name_in(with_a_process_of("zhang.wei"), names), "zhang.wei");
  EXPECT_EQ(name_in(SnapshotBuilder().gpu("A", 8_GiB).build(), names), "zhang.wei");
}

TEST(HolderNames, AreNoMoreThanTheirLimitAndForgetTheOldestFirst) {
  HolderNames names;
  Snapshot look = with_a_process_of("zhang");
  names.learn(look);
  for (std::size_t more = 0; more < HolderNames::most; ++more) {
    look.processes[0].uid = static_cast<uid_t>(20'000 + more);
    names.learn(look);
  }
  EXPECT_EQ(names.name_of(of_the_directory), std::nullopt);
  EXPECT_EQ(names.name_of(20'000), "zhang");
  EXPECT_EQ(names.name_of(static_cast<uid_t>(20'000 + HolderNames::most - 1)), "zhang");
}

}  // namespace
}  // namespace berth
