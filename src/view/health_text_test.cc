#include "view/health_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HealthText, SaysWhatCouldNotBeExamined) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  EXPECT_THAT(render_health(health_of(host), host, {.width = 80}), Not(HasSubstr("examined")));
  host.devices[0].temperature = Absent::failed;
  host.xids = Absent::no_permission;
  EXPECT_THAT(render_health(health_of(host), host, {.width = 80}),
              HasSubstr("      could not be examined: temperature: reading it failed; kernel log: "
                        "no\n        permission to read it\n"));
}

TEST(HealthText, ADeviceThatCouldNotBeJudgedIsCalledUnknown) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.devices[0].ecc_uncorrected = Absent::failed;
  EXPECT_THAT(
      render_health(health_of(host), host, {.width = 80}),
      ::testing::AllOf(HasSubstr("   0  unknown  NVIDIA Test GPU"),
                       HasSubstr("could not be examined: memory errors: reading it failed")));
  EXPECT_THAT(health_json(health_of(host), host), HasSubstr("\"state\": \"unknown\""));
}

TEST(HealthText, AnErrorBeforeTheDriverWasLoadedIsToldAsThat) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.devices[0].pci_address = std::string("00000000:3b:00.0");
  host.xids = std::vector<XidEvent>{{.pci_address = "00000000:3b:00.0", .code = 62, .at = {1000}}};
  host.driver_loaded = WallTime{60'000};
  const std::string text = render_health(health_of(host), host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("XID 62, once, before the driver was loaded: its internal "));
  EXPECT_THAT(text, HasSubstr("notice"));
  const std::string json = health_json(health_of(host), host);
  EXPECT_THAT(json, HasSubstr("\"state\": \"notice\""));
  EXPECT_THAT(json, Not(HasSubstr("degraded")));
  EXPECT_THAT(json, HasSubstr("\"before_driver_load\": true"));
}

}  // namespace
}  // namespace berth
