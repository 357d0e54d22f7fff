#include "run/slurm/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

using testing::HasSubstr;
using testing::Not;

TEST(SlurmSite, NamesEachCardByItsFileInPciOrder) {
  SnapshotBuilder builder;
  builder.gpu("A", 80_GiB).with([](Device& device) {
    device.name = std::string("NVIDIA H100 80GB HBM3");
    device.pci_address = std::string("00000000:5b:00.0");
    device.minor_number = std::uint64_t{0};
  });
  builder.gpu("B", 80_GiB).with([](Device& device) {
    device.name = std::string("NVIDIA H100 80GB HBM3");
    device.pci_address = std::string("00000000:1b:00.0");
    device.minor_number = std::uint64_t{3};
  });
  builder.gpu("C", 80_GiB).with([](Device& device) {
    device.minor_number = Absent::no_permission;
  });
  const auto site = slurm_site(builder.build(), "n1", "/opt/a b/berth");
  ASSERT_TRUE(site) << site.error().message();
  EXPECT_EQ(site->gres,
            "NodeName=n1 AutoDetect=off Name=gpu Type=nvidia_h100_80gb_hbm3 File=/dev/nvidia3\n"
            "NodeName=n1 AutoDetect=off Name=gpu Type=nvidia_h100_80gb_hbm3 File=/dev/nvidia0\n");
  EXPECT_THAT(site->node, HasSubstr("NodeName=n1 Gres=gpu:nvidia_h100_80gb_hbm3:2\n"));
  EXPECT_THAT(site->health, HasSubstr("'/opt/a b/berth' health"));
  EXPECT_THAT(site->health, Not(HasSubstr("@")));
  EXPECT_THAT(site->around_job, Not(HasSubstr("@")));
  EXPECT_THAT(site->around_job,
              HasSubstr("-- '/opt/a b/berth' stop --slurm-job \"$SLURM_JOB_ID\""));
}

TEST(SlurmSite, BesideLinkedCardsOneWithoutLinksSaysThatItHasNone) {
  SnapshotBuilder builder;
  const auto add = [&](const char* id, std::uint64_t number, Reading<std::vector<NvLink>> links) {
    builder.gpu(id, 80_GiB).with([&](Device& device) {
      device.pci_address = fmt::format("00000000:0{}:00.0", number);
      device.minor_number = number;
      device.lists.nvlinks = std::move(links);
    });
  };
  const auto link_to = [](const char* address) {
    return std::vector<NvLink>{{0, true, {}, std::string(address)}};
  };
  add("A", 1, link_to("00000000:02:00.0"));
  add("B", 2, link_to("00000000:01:00.0"));
  add("alone", 3, std::vector<NvLink>{});
  add("unread", 4, Absent::no_permission);
  const auto site = slurm_site(builder.build(), "n1", "berth");
  ASSERT_TRUE(site) << site.error().message();
  EXPECT_THAT(site->gres, HasSubstr("File=/dev/nvidia1 Links=-1,1,0,0\n"));
  EXPECT_THAT(site->gres, HasSubstr("File=/dev/nvidia2 Links=1,-1,0,0\n"));
  EXPECT_THAT(site->gres, HasSubstr("File=/dev/nvidia3 Links=0,0,-1,0\n"));
  EXPECT_THAT(site->gres, HasSubstr("File=/dev/nvidia4\n"));
}

TEST(SlurmSite, RefusesACardInPartsWhichAFileNamesWhole) {
  SnapshotBuilder builder;
  builder.gpu("A", 80_GiB).with([](Device& device) { device.minor_number = std::uint64_t{0}; });
  builder.gpu("part", 20_GiB).with([](Device& device) { device.parent = DeviceId("A"); });
  const auto site = slurm_site(builder.build(), "n1", "berth");
  ASSERT_FALSE(site);
  EXPECT_THAT(site.error().message(), HasSubstr("AutoDetect=nvml"));
}

TEST(SlurmSite, SaysWhereThereIsNothingToName) {
  EXPECT_FALSE(slurm_site(Snapshot(), "n1", "berth"));
}

}  // namespace
}  // namespace berth
