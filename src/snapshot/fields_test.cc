#include "snapshot/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "snapshot/sample_test.h"

namespace berth {
namespace {

const Snapshot nothing;

TEST(Fields, EveryStoredFieldIsReadBackAsWritten) {
  for (const Field& field : fields()) {
    if (field.write == nullptr) continue;
    Device device;
    EXPECT_EQ(field.read(device, nothing), Cell(Absent::not_sampled)) << field.key;
    ASSERT_TRUE(fill(field, device, 7)) << field.key;
    const Cell cell = field.read(device, nothing);
    ASSERT_TRUE(cell.has_value()) << field.key;
    Device copy;
    ASSERT_TRUE(field.write(copy, cell)) << field.key;
    EXPECT_EQ(copy, device) << field.key;
  }
}

TEST(Fields, StoredOnesAreThoseThatAreNeitherDerivedNorADetail) {
  std::vector<const Field*> expected;
  for (const Field& field : fields()) {
    if (field.write != nullptr && !field.detail) expected.push_back(&field);
  }
  EXPECT_GT(expected.size(), 50U);
  EXPECT_TRUE(std::ranges::equal(stored_fields(), expected));
}

TEST(Fields, EachStoredFieldHasAMemberOfItsOwn) {
  for (const Field& written : fields()) {
    if (written.write == nullptr) continue;
    Device device;
    fill(written, device, 7);
    for (const Field& other : fields()) {
      if (other.write == nullptr || other.key == written.key) continue;
      EXPECT_FALSE(other.read(device, nothing).has_value()) << written.key << ", " << other.key;
    }
  }
}

TEST(Fields, AbsenceKeepsItsReason) {
  for (const Field& field : fields()) {
    if (field.write == nullptr) continue;
    Device device;
    for (const Absent why : {Absent::unsupported, Absent::no_permission, Absent::failed}) {
      ASSERT_TRUE(field.write(device, Cell(why))) << field.key;
      EXPECT_EQ(field.read(device, nothing), Cell(why)) << field.key;
    }
  }
}

TEST(Fields, NamesAreUniqueAndFound) {
  std::set<std::string_view> keys;
  std::set<std::string_view> metrics;
  for (const Field& field : fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    if (!field.metric.empty()) {
      EXPECT_TRUE(metrics.insert(field.metric).second) << field.metric;
    }
    EXPECT_EQ(find_field(field.key), &field) << field.key;
    if (!field.smi.empty()) {
      EXPECT_EQ(find_field(field.smi), &field) << field.smi;
    }
    EXPECT_FALSE(field.header.empty()) << field.key;
    EXPECT_FALSE(field.help.empty()) << field.key;
  }
  EXPECT_EQ(find_field("no.such"), nullptr);
  EXPECT_EQ(find_field(""), nullptr);
}

TEST(Fields, MetricsOfOneFamilyStandTogether) {
  std::set<std::string_view> families;
  std::string_view last;
  for (const Field& field : fields()) {
    if (field.metric.empty()) continue;
    const std::string_view family = field.metric.substr(0, field.metric.find('{'));
    EXPECT_EQ(families.insert(family).second, family != last) << field.key;
    last = family;
    const bool has_label = family.size() != field.metric.size();
    EXPECT_EQ(field.metric.ends_with("\"}"), has_label) << field.key;
  }
}

TEST(Fields, AliasesOfNvidiaSmiAreFound) {
  ASSERT_NE(find_field("gpu_name"), nullptr);
  EXPECT_EQ(find_field("gpu_name")->key, "name");
  EXPECT_EQ(find_field("clocks.gr")->key, "clock_graphics_megahertz");
  EXPECT_EQ(find_field("power.limit")->key, "power_limit_requested_milliwatts");
  EXPECT_EQ(find_field("gpu.power.current_limit")->key, "power_limit_milliwatts");
}

TEST(Fields, NumbersThatWouldLoseSomethingAreRefused) {
  Device device;
  const Field& total = *find_field("memory_total_bytes");
  EXPECT_FALSE(total.write(device, Scalar(std::int64_t{-1})));
  EXPECT_FALSE(total.write(device, Scalar(1.5)));
  EXPECT_FALSE(total.write(device, Scalar(1e300)));
  EXPECT_TRUE(total.write(device, Scalar(4096.0)));
  EXPECT_EQ(device.memory_total, Reading<Bytes>(Bytes{4096}));
}

TEST(Fields, OfVersionsADeviceHasItsOwnVendors) {
  Snapshot both;
  both.host.software_of(Runtime::cuda) = {.driver = std::string("590.48.01"),
                                          .runtime = std::string("13.1")};
  both.host.software_of(Runtime::rocm) = {.driver = std::string("6.10.5"),
                                          .runtime = std::string("6.3.0-39")};
  const auto of = [&](DeviceKind kind, std::string_view key) {
    Device device;
    device.kind = kind;
    device.index = kind == DeviceKind::amd_gpu ? 1 : 0;
    both.devices = {device, Device{.kind = DeviceKind::nvidia_gpu, .index = 7}};
    return find_field(key)->read(device, both);
  };
  EXPECT_EQ(of(DeviceKind::nvidia_mig, "driver_version"), Cell(Scalar("590.48.01")));
  EXPECT_EQ(of(DeviceKind::nvidia_gpu, "cuda_version"), Cell(Scalar("13.1")));
  EXPECT_EQ(of(DeviceKind::amd_gpu, "driver_version"), Cell(Scalar("6.10.5")));
  EXPECT_EQ(of(DeviceKind::amd_gpu, "cuda_version"), Cell(Absent::unsupported));
  EXPECT_EQ(of(DeviceKind::intel_gpu, "driver_version"), Cell(Absent::not_sampled));
  EXPECT_EQ(of(DeviceKind::amd_gpu, "count"), Cell(Scalar(std::uint64_t{1})));
}

}  // namespace
}  // namespace berth
