#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EndedByBerth, ATimeLimitIsNamedAndNotTakenForASignal) {
  const RunRecord late = ended_run({.signal = SIGTERM}, end_cause::time_limit);
  const DeathEvidence evidence{.run = late,
                               .events = {event_at_the_end("time_limit", "the time is over")}};
  EXPECT_THAT(causes_of(evidence), ElementsAre("time_limit"));
  EXPECT_EQ(evidence_in(first_cause(evidence)), "the time is over\n");
  EXPECT_THAT(steps_in(first_cause(evidence)), HasSubstr("berth run --time 12h"));
  EXPECT_EQ(cause_to_tell(explain_death(evidence)), std::nullopt)
      << "the line about the end says it already";
}

TEST(EndedByBerth, AStopIsNamedWithWhoCanHaveWishedIt) {
  const RunRecord stopped = ended_run({.signal = SIGKILL}, end_cause::stopped);
  EXPECT_THAT(causes_of({.run = stopped}), ElementsAre("stopped"));
  EXPECT_THAT(evidence_in(first_cause({.run = stopped})), HasSubstr("the wish to stop it"));
  EXPECT_THAT(first_cause({.run = stopped}).meaning.english(), HasSubstr("ada"));
}

TEST(EndedByBerth, ASignalThatSomebodyElseSentIsNotBerths) {
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGTERM})}), ElementsAre("terminated"));
}

}  // namespace
}  // namespace berth
