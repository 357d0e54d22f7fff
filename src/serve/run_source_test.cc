#include "serve/run_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::serve {
namespace {

TEST(StateDirectories, AreThoseOfPeopleWhereverTheirHomesLie) {
  const auto found = state_directories_of_all(
      "root:x:0:0::/root:/bin/bash\n"
      "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
      "alice:x:1001:1001::/home/alice:/bin/bash\n"
      "bob:x:1002:1005::/nfs/people/bob:/bin/zsh\n"
      "kiosk:x:1003:1003::/:/bin/false\n"
      "broken:x:no:1::/home/broken:/bin/sh\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/home/alice/.local/state/berth");
  EXPECT_EQ(found[1].path, "/nfs/people/bob/.local/state/berth");
  EXPECT_EQ(found[1].as, uid_t{1002});
  EXPECT_EQ(found[1].gid, gid_t{1005});
}

}  // namespace
}  // namespace berth::serve
