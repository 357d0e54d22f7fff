// Details through the fake library: what the snapshot says is what the probe reads, whatever
// driver.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "probe/nvml/answers.h"
#include "probe/nvml/api.h"
#include "probe/nvml/detail_values.h"
#include "probe/nvml/fake_machine_test.h"

namespace berth::nvml {
namespace {

using ::testing::IsEmpty;

class NvmlDetails : public NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    play(said);
  }
  void TearDown() override {
    setenv("BERTH_FAKE_NVML_NOW_MS", "1760000000000", 1);
    NvmlFake::TearDown();
  }
  /// The second of two looks, ten seconds apart: rates and windows need a look before.
  static Snapshot second_look(NvmlProbe& probe, Depth depth) {
    static_cast<void>(whole_look(probe, now, depth));
    setenv("BERTH_FAKE_NVML_NOW_MS", "1760000010000", 1);
    return whole_look(probe, WallTime{now.unix_ms + 10'000}, depth);
  }
  Snapshot said = detailed_server();
};

TEST_F(NvmlDetails, WhatTheSnapshotSaysIsWhatTheSecondLookReads) {
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  const Snapshot got = second_look(probe, Depth::lists);
  ASSERT_EQ(got.devices.size(), 2U);
  for (const auto& field : fields()) {
    EXPECT_EQ(field.read(got.devices[1], said), field.read(said.devices[1], said)) << field.key;
  }
  EXPECT_EQ(got.devices, said.devices);
  EXPECT_EQ(got.gpu_processes, said.gpu_processes);
  EXPECT_THAT(got.problems, IsEmpty());
}

/// The fake's answers, with something added to (or taken from) two counts.
struct Added {
  Function<Handle, int, FieldValue*>::Pointer real = nullptr;
  std::int64_t recoveries = 0;
  std::int64_t heat_ns = 0;
};
Added added;

Return with_added(Handle device, int count, FieldValue* fields) {
  const Return code = added.real(device, count, fields);
  for (int i = 0; code == success && i < count; ++i) {
    const std::int64_t more = fields[i].field == 59    ? added.recoveries
                              : fields[i].field == 270 ? added.heat_ns
                                                       : 0;
    fields[i].value.as_long += more;
  }
  return code;
}

TEST_F(NvmlDetails, WhatWasAddedToACountSinceTheLookBeforeIsTold) {
  auto opened = Library::open(library("all"));
  ASSERT_TRUE(opened);
  Api api = opened->api();
  added = {.real = api.nvmlDeviceGetFieldValues.call};
  api.nvmlDeviceGetFieldValues.call = with_added;
  NvmlProbe probe(api, {.proc = "/nonexistent"});
  const auto recoveries_and_heat = [&] {
    const Details details = whole_look(probe, now, Depth::details).devices.at(0).details;
    return std::pair(details.get<std::uint64_t>(Detail::window_nvlink_recoveries),
                     details.get<Microseconds>(Detail::window_throttled_hardware_thermal));
  };
  using Told = std::pair<Reading<std::uint64_t>, Reading<Microseconds>>;
  EXPECT_EQ(recoveries_and_heat(), Told(Absent::not_sampled, Absent::not_sampled));
  added.recoveries = 7;
  added.heat_ns = 5'000'000;
  EXPECT_EQ(recoveries_and_heat(), Told(std::uint64_t{7}, Microseconds(5000)));
  added.recoveries = 2;
  EXPECT_EQ(recoveries_and_heat(), Told(Absent::not_sampled, Microseconds(0)))
      << "a count that went back has begun anew";
}

TEST_F(NvmlDetails, AFirstLookHasNoRatesAndNoActivityAndSaysThatNoneWereSampledYet) {
  const Snapshot got = look("all", Depth::details);
  const Details& details = got.devices.at(0).details;
  for (const Detail detail : {Detail::pcie_sent_rate, Detail::nvlink_received_rate,
                              Detail::activity_sm, Detail::activity_dram}) {
    EXPECT_EQ(details.cell(detail), Cell(Absent::not_sampled)) << field_of(detail).key;
  }
  EXPECT_EQ(details.get<Milliwatts>(Detail::window_power_max).get(), Milliwatts(80'000))
      << "the driver's own history is there from the start";
}

TEST_F(NvmlDetails, ALookThatDoesNotAskForDetailsHasWhatADeviceIsJudgedFailedBy) {
  const Snapshot got = look("all", Depth::everything);
  std::set<Detail> asked;
  for (const Details::Entry& entry : got.devices.at(0).details.entries()) {
    asked.insert(entry.detail);
  }
  EXPECT_EQ(asked, (std::set<Detail>{Detail::recovery_action, Detail::remapped_rows_failed,
                                     Detail::unrepairable_memory}));
  EXPECT_EQ(got.devices[0].lists, Lists());
}

TEST_F(NvmlDetails, EveryDetailIsAnsweredOneWayOrTheOther) {
  for (const auto& file : std::filesystem::directory_iterator(BERTH_FAKE_NVML_LIBRARIES)) {
    const std::string list = file.path().filename();
    setenv("BERTH_FAKE_NVML_NOW_MS", "1760000000000", 1);
    NvmlProbe probe({.library = library(list), .proc = "/nonexistent"});
    const Snapshot got = second_look(probe, Depth::details);
    ASSERT_EQ(got.devices.size(), 2U) << list;
    for (std::size_t i = 0; i < detail_count; ++i) {
      const auto detail = static_cast<Detail>(i);
      if (detail == Detail::pci_path) continue;  // the kernel's
      if (detail == Detail::vgpu_licensed_product || detail == Detail::vgpu_license_status)
        continue;
      const Cell& cell = got.devices[0].details.cell(detail);
      EXPECT_TRUE(cell.get() || cell.why() != Absent::not_sampled)
          << list << ": nobody asked for " << field_of(detail).key;
    }
    EXPECT_THAT(got.problems, IsEmpty()) << list;
  }
}

TEST_F(NvmlDetails, AnOldDriverTellsWhatItKnewAndNothingElse) {
  const Details details = look("real-390.157", Depth::details).devices.at(1).details;
  EXPECT_EQ(details.cell(Detail::bar1_total), said.devices[1].details.cell(Detail::bar1_total));
  EXPECT_EQ(details.cell(Detail::throttle_supported),
            said.devices[1].details.cell(Detail::throttle_supported));
  EXPECT_EQ(details.cell(Detail::pci_subsystem_id), Cell(Scalar(std::string("10de:16c1"))))
      << "by nvmlDeviceGetPciInfo_v3, as PciInfoExt came later";
  for (const Detail newer : {Detail::pci_base_class, Detail::gsp_firmware, Detail::remap_banks_max,
                             Detail::temperature_limit_margin, Detail::activity_sm}) {
    EXPECT_EQ(details.cell(newer), Cell(Absent::unsupported)) << field_of(newer).key;
  }
}

TEST_F(NvmlDetails, TheOlderOfTwoFunctionsAnswersWhereTheNewerIsMissing) {
  const Details details = look("real-550.163.01", Depth::details).devices.at(1).details;
  const Details& all = said.devices[1].details;
  EXPECT_EQ(details.cell(Detail::remapped_rows_correctable),
            all.cell(Detail::remapped_rows_correctable));
  EXPECT_EQ(details.cell(Detail::remapped_rows_correctable_inactive), Cell(Absent::unsupported));
  EXPECT_EQ(details.cell(Detail::driver_model), all.cell(Detail::driver_model));
  EXPECT_EQ(details.cell(Detail::platform_module_id), all.cell(Detail::platform_module_id));
  EXPECT_EQ(
      details.cell(Detail::fabric_cluster),
      look("real-525.147.05", Depth::details).devices.at(1).details.cell(Detail::fabric_cluster));
}

TEST_F(NvmlDetails, AMigInstanceHasItsEnginesAndItsMemoryErrors) {
  Snapshot machine = detailed_server(1);
  machine.gpu_processes.clear();
  machine.devices[0].mig_mode = true;
  Device instance;
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = machine.devices[0].id;
  instance.partition = Partition{2, 0};
  instance.uuid = std::string("MIG-2");
  instance.id = DeviceId("MIG-2");
  instance.name = std::string("NVIDIA H100 80GB HBM3 MIG 3g.40gb");
  instance.multiprocessors = std::uint64_t{60};
  instance.memory_total = 40448_MiB;
  instance.memory_used = 26_MiB;
  instance.memory_free = 40422_MiB;
  const std::pair<Detail, std::uint64_t> told[] = {{Detail::mig_copy_engines, 3},
                                                   {Detail::mig_encoders, 0},
                                                   {Detail::mig_decoders, 3},
                                                   {Detail::mig_ofa_engines, 0},
                                                   {Detail::mig_jpeg_engines, 3},
                                                   {Detail::bar1_total, 24739ULL << 20},
                                                   {Detail::bar1_used, 0},
                                                   {Detail::bar1_free, 24739ULL << 20},
                                                   {Detail::ecc_uncorrected_volatile_sram, 0}};
  for (const auto& [detail, value] : told) instance.details.put(detail, Scalar(value));
  machine.devices.push_back(instance);
  play(machine);
  const Snapshot got = look("all", Depth::details);
  ASSERT_EQ(got.devices.size(), 2U);
  for (const auto& [detail, value] : told) {
    EXPECT_EQ(got.devices[1].details.cell(detail), Cell(Scalar(value))) << field_of(detail).key;
  }
}

TEST_F(NvmlDetails, ALostDeviceHasEveryDetailFailedAndTheNextHasItsOwn) {
  faults("nvmlDeviceGetBAR1MemoryInfo@0=15");
  const Snapshot got = look("all", Depth::lists);
  EXPECT_TRUE(got.devices.at(0).lost);
  for (const auto& entry : got.devices[0].details.entries()) {
    EXPECT_EQ(entry.cell, Cell(Absent::failed)) << field_of(entry.detail).key;
  }
  EXPECT_EQ(got.devices[0].details.entries().size(), detail_count);
  EXPECT_EQ(got.devices[0].lists,
            (Lists{Absent::failed, Absent::failed, Absent::failed, Absent::failed}));
  EXPECT_EQ(got.devices[1].details.cell(Detail::bar1_total),
            said.devices[1].details.cell(Detail::bar1_total));
  ASSERT_EQ(got.gpu_processes.size(), 1U);
  EXPECT_EQ(got.gpu_processes[0], said.gpu_processes[1]);
}

TEST_F(NvmlDetails, ACorruptedInforomIsAnAnswer) {
  faults("nvmlDeviceValidateInforom@0=14");
  EXPECT_EQ(
      look("all", Depth::details).devices.at(0).details.get<bool>(Detail::inforom_valid).get(),
      false);
}

// --- numbers and what they mean
// --------------------------------------------------------------------

TEST(NvmlDetailValues, ANumberOutOfRangeIsFailedAndNeverTakenForAnother) {
  const std::pair<As, std::int64_t> impossible[] = {
      {As::yes_or_no, 2},        {As::percent, 101},       {As::celsius, 4'294'967'295},
      {As::number, -1},          {As::peer_type, 9},       {As::recovery_action, 77},
      {As::fabric_state, 200},   {As::pcie_atomics, 1024}, {As::performance_state, 16},
      {As::milliwatts, 1 << 30}, {As::megahertz, 1 << 30}, {As::addressing_mode, -1}};
  for (const auto& [as, number] : impossible) {
    EXPECT_EQ(cell_as(as, number), Cell(Absent::failed)) << static_cast<int>(as);
  }
}

TEST(NvmlDetailValues, UnitsAreOurs) {
  EXPECT_EQ(cell_as(As::of_nanoseconds, std::int64_t{39'595'000}),
            Cell(Scalar(std::uint64_t{39'595})))
      << "microseconds";
  EXPECT_EQ(cell_as(As::of_watts, std::int64_t{12}), Cell(Scalar(std::uint64_t{12'000})));
  EXPECT_EQ(cell_as(As::celsius, std::int64_t{-8}), Cell(Scalar(std::int64_t{-8})));
  EXPECT_EQ(cell_as_fraction(As::percent_over_100, 112.5), Cell(Scalar(112.5)));
}

TEST(NvmlDetailValues, ATimeWithoutUnitIsToldByItsSize) {
  EXPECT_EQ(unix_ms_of(1'750'000'000), 1'750'000'000'000);
  EXPECT_EQ(unix_ms_of(1'750'000'000'000), 1'750'000'000'000);
  EXPECT_EQ(unix_ms_of(1'750'000'000'000'000), 1'750'000'000'000);
  EXPECT_EQ(unix_ms_of(12), -1);
}

TEST(NvmlDetailValues, AllBitsOfAFieldMeanThatNothingIsSet) {
  FieldValue field{.value_type = value_is_unsigned, .answer = success};
  field.value.as_unsigned = 0xFFFFFFFF;
  EXPECT_EQ(cell_of_field(As::number, field), Cell(Absent::unsupported));
  field.value_type = 77;
  EXPECT_EQ(cell_of_field(As::number, field), Cell(Absent::failed)) << "a type of the future";
}

}  // namespace
}  // namespace berth::nvml
