#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EndUnknown, IsSaidOfARunWhoseKeeperLeftNoEnd) {
  RunRecord unknown = ended_run({});
  unknown.end->known = false;
  EXPECT_THAT(causes_of({.run = unknown}), ElementsAre("end_unknown"));
  const Finding found = first_cause({.run = unknown});
  EXPECT_THAT(evidence_in(found), HasSubstr("its keeper has gone without writing the end"));
  EXPECT_THAT(steps_in(found), HasSubstr("uptime -s"));
}

TEST(EndUnknown, IsNotSaidWhereTheEndOrItsCauseIsKnown) {
  EXPECT_THAT(causes_of({.run = ended_run({.code = 1})}), IsEmpty());
  RunRecord unknown = ended_run({});
  unknown.end->known = false;
  EXPECT_THAT(causes_of({.run = unknown, .events = {event_at_the_end("gpu_lost", "GPU 0: lost")}}),
              ElementsAre("device_lost"));
}

}  // namespace
}  // namespace berth
