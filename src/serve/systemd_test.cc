#include "serve/systemd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::serve {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ServiceUnit, MayOpenWhatEachDriversLibraryOpens) {
  const std::string unit = service_unit(ServiceScope::system, "/usr/bin/berth");
  EXPECT_THAT(unit, AllOf(HasSubstr("\nDeviceAllow=char-nvidiactl rw\n"),
                          HasSubstr("\nDeviceAllow=/dev/davinci_manager rw\n"),
                          HasSubstr("\nDeviceAllow=/dev/hisi_hdc rw\n"),
                          HasSubstr("\nDeviceAllow=/dev/davinci0 rw\n"),
                          HasSubstr("\nDeviceAllow=/dev/iluvatar1 rw\n"),
                          HasSubstr("\nDeviceAllow=/dev/itrctl rw\n")));
  EXPECT_THAT(unit, Not(HasSubstr("/dev/kfd"))) << "AMD's cards are read from the kernel's files";
  EXPECT_THAT(unit, Not(HasSubstr("@devices@")));
}

}  // namespace
}  // namespace berth::serve
