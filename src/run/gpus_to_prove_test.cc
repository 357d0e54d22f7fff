#include "run/gpus_to_prove.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sentence.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// "A>B": A copies to B; "A": to nobody.
std::vector<std::string> wanted(const Snapshot& host, const std::string& list = "") {
  std::vector<std::string> names;
  const auto all = gpus_to_prove(host, list);
  if (!all) return {all.error().message()};
  for (const GpuToProve& one : *all) {
    names.push_back(one.device->id.text() + (one.peer ? ">" + one.peer->id.text() : ""));
  }
  return names;
}

SnapshotBuilder three() {
  return SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).gpu("C", 24_GiB);
}

TEST(GpusToProve, CopyRoundAbout) {
  EXPECT_THAT(wanted(three().build()), ElementsAre("A>B", "B>C", "C>A"));
  EXPECT_THAT(wanted(three().build(), "0,2"), ElementsAre("A>C", "C>A"));
  EXPECT_THAT(wanted(three().build(), "1"), ElementsAre("B"));
}

TEST(GpusToProve, AreThoseThatCudaComputesOn) {
  Snapshot host = three().build();
  host.devices[0].kind = DeviceKind::amd_gpu;
  host.devices[1].uuid = Absent::unsupported;
  EXPECT_THAT(wanted(host), ElementsAre("C"));
  EXPECT_THAT(wanted(host, "1"), ElementsAre(HasSubstr("no such device that CUDA")));
  EXPECT_THAT(wanted(host, "7"), ElementsAre(HasSubstr("-i 7")));
  EXPECT_THAT(wanted(Snapshot{}), IsEmpty());
}

TEST(GpusToProve, OfMigInstancesCopyToNobody) {
  Snapshot host = three().build();
  host.devices[2].parent = host.devices[1].id;
  EXPECT_THAT(wanted(host), ElementsAre("A>B", "B", "C"));
}

TEST(GpusToProve, BesideSomebodyOnlyWhatSomebodyHas) {
  for (const Rule rule : {Rule::leased, Rule::in_use, Rule::reserved, Rule::not_idle}) {
    EXPECT_TRUE(is_somebody(rule)) << name_of(rule);
  }
  for (const Rule rule : {Rule::not_permitted, Rule::lost, Rule::divided, Rule::idle_unknown}) {
    EXPECT_FALSE(is_somebody(rule)) << name_of(rule);
  }
}

}  // namespace
}  // namespace berth
