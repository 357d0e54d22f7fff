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
  add_holders(snapshot, {claim_of(of_the_directory, "10023"), claim_of(10'024, "10024")}, {waiter});
  ASSERT_EQ(snapshot.claims.size(), 2U);
  EXPECT_EQ(snapshot.claims[0].user, "zhang");
  EXPECT_EQ(snapshot.claims[1].user, "10024") << "another's name is not his";
  EXPECT_EQ(snapshot.waiters.at(0).user, "zhang");
}

TEST(Holders, KeepTheNameThatThePasswordFileGives) {
  Snapshot snapshot = with_a_process_of("zhang");
  add_holders(snapshot, {claim_of(of_the_directory, "local")}, {});
  EXPECT_EQ(snapshot.claims.at(0).user, "local");
}

TEST(Holders, StayNumbersWhereNobodyKnowsMore) {
  Snapshot snapshot = with_a_process_of("10023");
  snapshot.processes[0].user = Absent::no_permission;
  add_holders(snapshot, {claim_of(of_the_directory, "10023")}, {});
  EXPECT_EQ(snapshot.claims.at(0).user, "10023");
}

}  // namespace
}  // namespace berth
