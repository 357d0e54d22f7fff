#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EndedBySignal, EachSignalIsNamedAndAShellsCodeIsOne) {
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGSEGV})}),
              ElementsAre("segmentation_fault"));
  EXPECT_THAT(causes_of({.run = ended_run({.code = 139})}), ElementsAre("segmentation_fault"));
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGHUP})}), ElementsAre("terminal_closed"));
  EXPECT_THAT(causes_of({.run = ended_run({.signal = SIGUSR2})}), ElementsAre("signal"));
  EXPECT_EQ(cause_to_tell(explain_death({.run = ended_run({.signal = SIGINT})})), std::nullopt);
  EXPECT_TRUE(cause_to_tell(explain_death({.run = ended_run({.signal = SIGSEGV})})));
}

TEST(EndedBySignal, SaysWhichItWasAndWhatToTry) {
  const Finding found = first_cause({.run = ended_run({.signal = SIGSEGV})});
  EXPECT_THAT(evidence_in(found), HasSubstr("it was ended by SIGSEGV (11)"));
  EXPECT_THAT(steps_in(found), HasSubstr("export PYTHONFAULTHANDLER=1"));
  EXPECT_THAT(evidence_in(first_cause({.run = ended_run({.code = 139})})),
              HasSubstr("it exited with 139, as a shell does"));
}

TEST(EndedBySignal, AnExitCodeOfItsOwnIsNone) {
  EXPECT_THAT(causes_of({.run = ended_run({.code = 1})}), IsEmpty());
  EXPECT_THAT(causes_of({.run = ended_run({.code = 255})}), IsEmpty());
}

}  // namespace
}  // namespace berth
