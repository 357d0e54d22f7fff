#include "snapshot/details.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

TEST(Details, TakeOnlyWhatIsMissingFromAnEarlierLook) {
  Details earlier;
  earlier.set(Detail::fabric_state, Reading<std::string>(std::string("Completed")));
  earlier.set(Detail::recovery_action, Reading<std::string>(std::string("None")));
  Details now;
  now.set(Detail::recovery_action, Reading<std::string>(std::string("Reset")));
  now.set(Detail::unrepairable_memory, Reading<bool>(Absent::failed));
  now.add_missing(earlier);
  EXPECT_EQ(now.get<std::string>(Detail::recovery_action), std::string("Reset"));
  EXPECT_EQ(now.get<std::string>(Detail::fabric_state), std::string("Completed"));
  EXPECT_EQ(now.get<bool>(Detail::unrepairable_memory).why(), Absent::failed);
  EXPECT_EQ(now.entries().size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(now.entries(), {}, &Details::Entry::detail));
}

}  // namespace
}  // namespace berth
