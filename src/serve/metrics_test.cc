#include "serve/metrics.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "serve/exposition_reader_test.h"
#include "snapshot/builder.h"
#include "snapshot/sample_test.h"

namespace berth::serve {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using enum MetricsProfile;

const std::vector<MetricsProfile> every_profile = {berth, dcgm, nvidia_smi};

std::string metrics_page_of(const Snapshot& snapshot,
                            std::vector<MetricsProfile> profiles = every_profile,
                            MetricsFormat format = MetricsFormat::text_0_0_4) {
  return metrics_page({.snapshot = snapshot, .version = "1.2.3"},
                      {.profiles = std::move(profiles), .per_process = true}, format);
}

ReadPage read_metrics(const Snapshot& snapshot,
                      std::vector<MetricsProfile> profiles = every_profile) {
  return read_page(metrics_page_of(snapshot, std::move(profiles)));
}

/// Lines that only one of two pages has.
std::set<std::string> difference(const std::string& a, const std::string& b) {
  std::set<std::string> lines;
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    std::set<std::string_view> there;
    for (const std::string_view line : split(*other, '\n')) there.insert(line);
    for (const std::string_view line : split(*one, '\n')) {
      if (!line.starts_with("#") && !there.contains(line)) lines.emplace(line);
    }
  }
  return lines;
}

SnapshotBuilder h100_builder(const std::string& id = "GPU-1b2c") {
  SnapshotBuilder builder;
  builder.gpu(id, 80_GiB).with([](Device& device) {
    device.name = std::string("NVIDIA H100");
    device.pci_address = std::string("00000000:3b:00.0");
  });
  return builder;
}

TEST(Metrics, WritesReadingsInBaseUnits) {
  const Snapshot host = h100_builder()
                            .with([](Device& device) {
                              device.power_draw = Milliwatts{651'230};
                              device.utilization_gpu = Percent{97};
                              device.clock_sm = 1980_MHz;
                              device.energy = Millijoules{12};
                              device.temperature = Celsius{-5};
                              device.details.set(Detail::throttled_power_cap,
                                                 Reading<Microseconds>(Microseconds{1'500'000}));
                            })
                            .build();
  const std::string page = metrics_page_of(host, {berth});
  const std::string labels = "{device=\"0\",uuid=\"GPU-1b2c\",name=\"NVIDIA H100\"} ";
  EXPECT_THAT(page, HasSubstr("\nberth_device_power_watts" + labels + "651.23\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_device_utilization_ratio" + labels + "0.97\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_device_sm_clock_hertz" + labels + "1980000000\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_device_energy_joules_total" + labels + "0.012\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_device_temperature_celsius" + labels + "-5\n"));
  EXPECT_THAT(page, HasSubstr("name=\"NVIDIA H100\",reason=\"power_cap\"} 1.5\n"));
}

TEST(Metrics, WritesNothingForWhatIsAbsent) {
  const std::string before = metrics_page_of(h100_builder().build());
  const Snapshot host = h100_builder()
                            .with([](Device& device) {
                              device.memory_used = Absent::failed;
                              device.utilization_gpu = Absent::unsupported;
                              device.power_draw = Absent::no_permission;
                            })
                            .build();
  const std::string page = metrics_page_of(host);
  for (const char* name : {"berth_device_memory_used_bytes", "berth_device_utilization_ratio",
                           "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL",
                           "nvidia_smi_memory_used_bytes", "nvidia_smi_utilization_gpu_ratio"}) {
    EXPECT_THAT(before, HasSubstr(std::string(name) + "{"));
    EXPECT_THAT(page, Not(HasSubstr(name)));
  }
  EXPECT_THAT(page, Not(HasSubstr("NaN")));
  EXPECT_THAT(page, Not(HasSubstr("power_watts")));
}

TEST(Metrics, AChangedReadingChangesItsSeriesAndNoOther) {
  // Families that follow from readings, and are none themselves.
  const std::vector<std::string> derived = {
      "berth_device_state",        "berth_devices{",
      "berth_device_health",       "berth_device_finding",
      "berth_device_not_examined", "berth_device_memory_unexplained_bytes"};
  std::size_t tried = 0;
  for (const Field& field : fields()) {
    if (field.metric.empty() || field.write == nullptr) continue;
    Snapshot host = h100_builder().build();
    ASSERT_TRUE(field.write(host.devices[0], Scalar(std::uint64_t{3})) ||
                field.write(host.devices[0], Scalar(false)))
        << field.key;
    Snapshot changed = host;
    ASSERT_TRUE(field.write(changed.devices[0], Scalar(std::uint64_t{4})) ||
                field.write(changed.devices[0], Scalar(true)));
    const std::string family(field.metric.substr(0, field.metric.find('{')));
    bool seen = false;
    for (const std::string& line :
         difference(metrics_page_of(host, {berth}), metrics_page_of(changed, {berth}))) {
      const bool own = line.starts_with(family + "{");
      const bool follows = std::ranges::any_of(
          derived, [&](const std::string& name) { return line.starts_with(name); });
      seen = seen || own;
      // The throttle mask has a row per bit.
      EXPECT_TRUE(own || follows) << field.key << " changed " << line;
    }
    EXPECT_TRUE(seen) << field.key << " has no series " << family;
    ++tried;
  }
  EXPECT_GT(tried, 100U);
}

TEST(Metrics, EachThrottleReasonHasItsSeries) {
  const auto masked = [](std::uint64_t mask) {
    return metrics_page_of(
        h100_builder().with([&](Device& d) { d.throttle_reasons = ClockReasons(mask); }).build(),
        {berth});
  };
  EXPECT_THAT(difference(masked(0), masked(0x4)),
              ::testing::IsSubsetOf(difference(masked(0), masked(0x4 | 0x40))));
  EXPECT_THAT(masked(0x44), HasSubstr("reason=\"power_cap\"} 1\n"));
  EXPECT_THAT(masked(0x44), HasSubstr("reason=\"hardware_thermal\"} 1\n"));
  EXPECT_THAT(masked(0x44), HasSubstr("reason=\"idle\"} 0\n"));
}

TEST(Metrics, EscapesLabelsOfStrangers) {
  Snapshot host = h100_builder().process(7, "a\"b\\c\nd\xFF\x1b[31m", 1_GiB).build();
  host.simulated = "line\nbreak";
  const std::string page = metrics_page_of(host);
  EXPECT_THAT(page, HasSubstr("{user=\"a\\\"b\\\\c\\\\x0Ad\\\\xFF\\\\x1B[31m\"}"));
  EXPECT_EQ(read_page(page).all_faults(), "");
}

TEST(Metrics, SimulatedIsSaidInEveryProfile) {
  Snapshot host = h100_builder().build();
  for (const MetricsProfile profile : every_profile) {
    EXPECT_EQ(read_metrics(host, {profile}).value("berth_simulated"), 0);
    host.simulated = "lab";
    EXPECT_EQ(read_metrics(host, {profile}).value("berth_simulation_info{scenario=\"lab\"}"), 1);
    EXPECT_EQ(read_metrics(host, {profile}).value("berth_simulated"), 1);
    host.simulated.reset();
  }
}

TEST(Metrics, StateOfADeviceIsOneOfAll) {
  Snapshot host = h100_builder().claim("alice").build();
  const ReadPage page = read_metrics(host, {berth});
  const std::string labels = "device=\"0\",uuid=\"GPU-1b2c\",name=\"NVIDIA H100\"";
  EXPECT_EQ(page.value("berth_device_state{" + labels + ",state=\"leased\"}"), 1);
  EXPECT_EQ(page.value("berth_device_state{" + labels + ",state=\"free\"}"), 0);
  EXPECT_EQ(page.value("berth_devices{state=\"leased\"}"), 1);
  EXPECT_EQ(page.value("berth_devices{state=\"lost\"}"), 0);
  EXPECT_EQ(page.value("berth_leases"), 1);
}

TEST(Metrics, UsersAreSummedUpOverDevices) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .process(1, "alice", 3_GiB)
                            .process(2, "bob", 1_GiB)
                            .gpu("B", 80_GiB)
                            .process(3, "alice", 4_GiB)
                            .claim("carol", 2_GiB)
                            .build();
  const ReadPage page = read_metrics(host, {berth});
  EXPECT_EQ(page.value("berth_user_memory_used_bytes{user=\"alice\"}"), (7_GiB).count());
  EXPECT_EQ(page.value("berth_user_devices{user=\"alice\"}"), 2);
  EXPECT_EQ(page.value("berth_user_processes{user=\"alice\"}"), 2);
  EXPECT_EQ(page.value("berth_user_leased_devices{user=\"alice\"}"), 0);
  EXPECT_EQ(page.value("berth_user_leased_devices{user=\"carol\"}"), 1);
  EXPECT_EQ(page.value("berth_lease_memory_promised_bytes{lease=\"lease-0\",user=\"carol\"}"),
            (2_GiB).count());
}

TEST(Metrics, AUsersDeviceIsIdleWhereNoLookOfTheWindowSawMoreThanIdleLoad) {
  const auto idle_at = [](double load, double load_before) {
    WindowKeeper window;
    const auto look = [&](double percent) {
      return h100_builder()
          .process(1, "alice", 3_GiB)
          .utilization(Percent{percent})
          .with([](Device& device) { device.utilization_history = Absent::unsupported; })
          .build();
    };
    window.add(look(load_before), Instant(std::chrono::seconds(1)));
    const Snapshot last = look(load);
    window.add(last, Instant(std::chrono::seconds(2)));
    const std::string page =
        metrics_page({.snapshot = last, .window = &window.statistics(), .version = "1.2.3"},
                     {.profiles = {berth}}, MetricsFormat::text_0_0_4);
    return read_page(page).value("berth_user_idle_devices{user=\"alice\"}");
  };
  EXPECT_EQ(idle_at(5, 0), 1) << "as `berth idle`: 5 % are nothing";
  EXPECT_EQ(idle_at(7, 0), 0);
  EXPECT_EQ(idle_at(0, 7), 0) << "within the minute";
}

TEST(Metrics, MemoryOfAUserIsUnknownOnceAProcessHidesItsOwn) {
  Snapshot host = h100_builder().process(1, "alice", 3_GiB).process(2, "alice", 1_GiB).build();
  EXPECT_TRUE(read_metrics(host).value("berth_user_memory_used_bytes{user=\"alice\"}"));
  host.gpu_processes[1].memory = Absent::no_permission;
  EXPECT_FALSE(read_metrics(host).value("berth_user_memory_used_bytes{user=\"alice\"}"));
  EXPECT_EQ(read_metrics(host).value("berth_user_processes{user=\"alice\"}"), 2);
}

TEST(Metrics, AProcessOfNobodyKnownIsCountedApart) {
  Snapshot host = h100_builder().process(1, "alice", 3_GiB).build();
  host.processes[0].user = Absent::no_permission;
  EXPECT_EQ(read_metrics(host).value("berth_processes_of_unknown_user"), 1);
  EXPECT_FALSE(read_metrics(host).value("berth_user_processes{user=\"alice\"}"));
}

TEST(Metrics, QueueSaysHowLongTheFirstHasWaited) {
  Snapshot host = h100_builder().build();
  EXPECT_EQ(read_metrics(host).value("berth_queue_length"), 0);
  EXPECT_FALSE(read_metrics(host).value("berth_queue_longest_wait_seconds"));
  host.waiters = {{.id = "b", .since = {host.taken.unix_ms - 1'000}},
                  {.id = "a", .since = {host.taken.unix_ms - 61'500}}};
  EXPECT_EQ(read_metrics(host).value("berth_queue_length"), 2);
  EXPECT_EQ(read_metrics(host).value("berth_queue_longest_wait_seconds"), 61.5);
}

TEST(Metrics, ProcessesHaveSeriesOnlyWhereAskedForAndNoMoreThanTheBound) {
  SnapshotBuilder builder = h100_builder();
  for (int pid = 1; pid <= 5; ++pid)
    builder.process(pid, "alice", Bytes(1000U * static_cast<unsigned>(pid)));
  const Snapshot host = builder.build();
  MetricsOptions options{.profiles = every_profile};
  EXPECT_THAT(metrics_page({.snapshot = host}, options, MetricsFormat::text_0_0_4),
              Not(HasSubstr("pid=")));
  options.per_process = true;
  options.most_processes = 2;
  const std::string page = metrics_page({.snapshot = host}, options, MetricsFormat::text_0_0_4);
  EXPECT_THAT(page, HasSubstr("\nberth_series_left_out{of=\"processes\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("pid=\"5\",user=\"alice\"} 5000\n"));
  EXPECT_THAT(page, HasSubstr("pid=\"4\""));
  EXPECT_THAT(page, Not(HasSubstr("berth_process_memory_used_bytes{device=\"0\",uuid=\"GPU-1b2c\","
                                  "name=\"NVIDIA H100\",pid=\"3\"")));
}

TEST(Metrics, PodsHaveSeriesOfTheirOwnAndOthersKeepTheirLabels) {
  Snapshot host = h100_builder()
                      .process(1, "alice", 1_GiB)
                      .process(2, "alice", 1_GiB)
                      .process(3, "bob", 1_GiB)
                      .build();
  const std::string without = metrics_page({.snapshot = host}, {}, MetricsFormat::text_0_0_4);
  EXPECT_THAT(without, Not(HasSubstr("berth_pod_")));
  const auto put_into = [&](std::size_t at, std::string uid, Reading<std::string> name) {
    host.processes.at(at).enclosure =
        Enclosure{.runtime = "kubernetes", .id = "4f", .pod_uid = std::move(uid), .name = name};
  };
  put_into(0, "2f5c", std::string("team-a/llm-0/worker"));
  put_into(1, "2f5c", std::string("team-a/llm-0/worker"));
  put_into(2, "77aa", Absent::no_permission);
  const std::string labels = "{device=\"0\",uuid=\"GPU-1b2c\",name=\"NVIDIA H100\",";
  const std::string worker =
      "namespace=\"team-a\",pod=\"llm-0\",container=\"worker\",pod_uid=\"2f5c\"} ";
  std::string page = metrics_page({.snapshot = host}, {}, MetricsFormat::text_0_0_4);
  EXPECT_THAT(page, HasSubstr("\nberth_pod_memory_used_bytes" + labels + worker + "2147483648\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_pod_processes" + labels + worker + "2\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_pod_processes" + labels + "pod_uid=\"77aa\"} 1\n"));
  std::istringstream lines(without);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(page, HasSubstr(line)) << "it changed where pods have names";
  }
  page = metrics_page({.snapshot = host}, {.most_pods = 1}, MetricsFormat::text_0_0_4);
  EXPECT_THAT(page, HasSubstr("\nberth_series_left_out{of=\"pods\"} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("77aa")));
}

TEST(Metrics, FindingsOfHealthAreGauges) {
  Snapshot host = h100_builder()
                      .with([](Device& device) {
                        device.details.set(Detail::remapped_rows_pending, Reading<bool>(true));
                      })
                      .build();
  const std::string labels = "device=\"0\",uuid=\"GPU-1b2c\",name=\"NVIDIA H100\"";
  const ReadPage page = read_metrics(host, {berth});
  EXPECT_EQ(page.value("berth_device_health{" + labels + ",health=\"degraded\"}"), 1);
  EXPECT_EQ(page.value("berth_device_health{" + labels + ",health=\"ok\"}"), 0);
  EXPECT_EQ(page.value("berth_device_finding{" + labels +
                       ",code=\"row_remap_pending\",health=\"degraded\"}"),
            1);
}

TEST(Metrics, ADeviceThatCouldNotBeJudgedIsNotOk) {
  const Snapshot host =
      h100_builder().with([](Device& device) { device.ecc_uncorrected = Absent::failed; }).build();
  const std::string labels = "device=\"0\",uuid=\"GPU-1b2c\",name=\"NVIDIA H100\"";
  const ReadPage page = read_metrics(host, {berth});
  EXPECT_EQ(page.value("berth_device_health{" + labels + ",health=\"unknown\"}"), 1);
  EXPECT_EQ(page.value("berth_device_health{" + labels + ",health=\"ok\"}"), 0);
}

TEST(Metrics, OfALedgerThatCouldNotBeReadThereAreNoNumbers) {
  Snapshot host = h100_builder().process(5, "alice", 1_GiB).build();
  host.sources = {{"nvml", true}, {"ledger", false}};
  const std::string page = metrics_page({.snapshot = host}, {}, MetricsFormat::text_0_0_4);
  EXPECT_THAT(page, HasSubstr("berth_probe_success{probe=\"ledger\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("berth_user_processes{user=\"alice\"} 1\n"));
  for (const char* unknown : {"\nberth_leases ", "\nberth_queue_length ", "\nberth_device_leases{",
                              "\nberth_user_leased_devices{", "\nberth_user_devices{"}) {
    EXPECT_THAT(page, Not(HasSubstr(unknown)));
  }
  host.sources[1].succeeded = true;
  EXPECT_THAT(metrics_page({.snapshot = host}, {}, MetricsFormat::text_0_0_4),
              HasSubstr("\nberth_leases 0\n"));
}

TEST(Metrics, AFailedSourceIsSaid) {
  Snapshot host = h100_builder().build();
  host.sources = {{"nvml", true}, {"pci", true}, {"nvml", false}};
  host.problems = {{"nvml", std::nullopt, "timeout", Sentence("it hung"), {}}};
  const ReadPage page = read_metrics(host);
  EXPECT_EQ(page.value("berth_probe_success{probe=\"nvml\"}"), 0);
  EXPECT_EQ(page.value("berth_probe_success{probe=\"pci\"}"), 1);
  EXPECT_EQ(page.value("berth_problems{probe=\"nvml\",code=\"timeout\"}"), 1);
  EXPECT_EQ(page.value("nvidia_smi_last_collect_success"), 0);
}

TEST(Metrics, XidsAreCountersWithTheirLastTime) {
  Snapshot host = h100_builder().build();
  const std::vector<XidCount> xids = {{"00000000:3b:00.0", 31, 4, WallTime{1'500}},
                                      {"00000000:3b:00.0", 79, 1, WallTime{2'500}},
                                      {"00000000:ff:00.0", 79, 2, WallTime{500}}};
  const ReadPage page = read_page(metrics_page(
      {.snapshot = host, .xids = xids}, {.profiles = every_profile}, MetricsFormat::text_0_0_4));
  const std::string labels = "device=\"0\",uuid=\"GPU-1b2c\",name=\"NVIDIA H100\"";
  EXPECT_EQ(page.value("berth_xid_errors_total{" + labels + ",xid=\"31\"}"), 4);
  EXPECT_EQ(page.value("berth_xid_last_timestamp_seconds{" + labels + ",xid=\"31\"}"), 1.5);
  EXPECT_EQ(page.value("berth_xid_errors_total{uuid=\"00000000:ff:00.0\",xid=\"79\"}"), 2);
  EXPECT_EQ(page.value("nvidia_smi_xid_errors_total{uuid=\"1b2c\",xid=\"79\"}"), 1);
  EXPECT_EQ(
      page.value("DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",UUID=\"GPU-1b2c\",pci_bus_id=\"00000000:3B:"
                 "00.0\",device=\"nvidia0\",modelName=\"NVIDIA H100\",err_code=\"79\",err_msg="
                 "\"it has fallen off the bus\"}"),
      79);
}

TEST(Metrics, DcgmHasMebibytesAndItsLabelsInOrder) {
  Snapshot host = h100_builder().used(Bytes{(10ULL << 30) + 5}).build();
  host.host.name = std::string("box");
  host.host.software_of(Runtime::cuda).driver = std::string("590.48.01");
  EXPECT_THAT(
      metrics_page_of(host, {dcgm}),
      HasSubstr("\nDCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-1b2c\",pci_bus_id=\"00000000:3B:"
                "00.0\",device=\"nvidia0\",modelName=\"NVIDIA H100\",hostname=\"box\","
                "DCGM_FI_DRIVER_VERSION=\"590.48.01\"} 10240\n"));
  const auto labelled = [&](std::string label) {
    return metrics_page({.snapshot = host},
                        {.profiles = {dcgm}, .dcgm_hostname_label = std::move(label)},
                        MetricsFormat::text_0_0_4);
  };
  EXPECT_THAT(labelled("Hostname"), HasSubstr("Hostname=\"box\""));
  EXPECT_THAT(labelled(""), Not(HasSubstr("\"box\"")));
}

TEST(Metrics, DcgmNamesTheContainerThatIsAloneOnADevice) {
  Snapshot host = h100_builder().process(1, "alice", 1_GiB).process(2, "bob", 1_GiB).build();
  const auto put_into = [&](std::size_t at, std::string name) {
    host.processes.at(at).enclosure =
        Enclosure{.runtime = "kubernetes", .id = "4f", .pod_uid = "2f5c", .name = std::move(name)};
  };
  put_into(0, "team-a/llm-0/worker");
  EXPECT_THAT(metrics_page_of(host, {dcgm}),
              HasSubstr("container=\"worker\",namespace=\"team-a\",pod=\"llm-0\"} 0\n"));
  put_into(1, "team-a/llm-0/worker");
  EXPECT_THAT(metrics_page_of(host, {dcgm}), HasSubstr(",pod=\"llm-0\"} "));
  put_into(1, "team-a/llm-1/worker");
  EXPECT_THAT(metrics_page_of(host, {dcgm}), Not(HasSubstr("pod=")));
}

TEST(Metrics, InstancesHaveLabelsOfTheirOwn) {
  Snapshot host = h100_builder()
                      .with([](Device& device) { device.mig_mode = true; })
                      .gpu("MIG-1", 10_GiB)
                      .with([](Device& device) {
                        device.kind = DeviceKind::nvidia_mig;
                        device.parent = DeviceId("GPU-1b2c");
                        device.index = 0;
                        device.partition = Partition{9, 0};
                        device.name = std::string("NVIDIA H100 MIG 1g.10gb");
                      })
                      .build();
  const std::string page = metrics_page_of(host);
  EXPECT_THAT(page, HasSubstr("berth_device_memory_total_bytes{device=\"0:0\",uuid=\"MIG-1\","));
  EXPECT_THAT(page, HasSubstr("GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"9\"} 10240\n"));
  EXPECT_THAT(page,
              HasSubstr("\nnvidia_smi_mig_info{uuid=\"1b2c\",mig_uuid=\"MIG-1\","
                        "gpu_instance_id=\"9\",compute_instance_id=\"0\",profile=\"1g.10gb\"} "
                        "1\n"));
  EXPECT_EQ(read_page(page).all_faults(), "");
}

TEST(Metrics, NvidiaSmiNamesFollowFromItsColumns) {
  const Snapshot host =
      h100_builder()
          .with([](Device& device) {
            device.performance_state = std::uint64_t{2};
            device.compute_mode = std::string("Exclusive_Process");
            device.pci_id = std::string("10de:2330");
            device.details.set(Detail::encoder_sessions, Reading<std::uint64_t>(3U));
            device.details.set(Detail::recovery_action,
                               Reading<std::string>(std::string("Drain and Reset")));
            device.details.set(Detail::inforom_ecc, Reading<std::string>(std::string("7.16")));
          })
          .build();
  const ReadPage page = read_metrics(host, {nvidia_smi});
  const auto value = [&](const std::string& name) {
    return page.value("nvidia_smi_" + name + "{uuid=\"1b2c\"}");
  };
  EXPECT_EQ(value("pstate"), 2);
  EXPECT_EQ(value("compute_mode"), 3);
  EXPECT_EQ(value("pci_device_id"), 0x233010DE);
  EXPECT_EQ(value("encoder_stats_session_count"), 3);
  EXPECT_EQ(value("gpu_recovery_action"), 4);
  EXPECT_EQ(value("inforom_ecc"), 7.16);
  EXPECT_EQ(value("memory_total_bytes"), (80_GiB).count());
  EXPECT_FALSE(value("name"));
}

TEST(Metrics, OnlyATextThatIsANumberIsOne) {
  const auto value = [](const std::string& text) {
    const Snapshot host = h100_builder()
                              .with([&](Device& device) {
                                device.details.set(Detail::inforom_ecc, Reading<std::string>(text));
                              })
                              .build();
    return read_metrics(host, {nvidia_smi}).value("nvidia_smi_inforom_ecc{uuid=\"1b2c\"}");
  };
  EXPECT_EQ(value("7.16"), 7.16);
  EXPECT_EQ(value("0012"), 12);
  for (const char* text : {"", ".", "7.", ".5", "1.2.3", "7a", "-1", "N/A", "1234567890123456"}) {
    EXPECT_FALSE(value(text)) << text;
  }
}

TEST(Metrics, OpenMetricsEndsCountersInTotalAndThePageInEof) {
  const Snapshot host = h100_builder().with([](Device& d) { d.energy = Millijoules{5}; }).build();
  const std::string page = metrics_page_of(host, every_profile, MetricsFormat::openmetrics_1_0);
  EXPECT_THAT(page, HasSubstr("# TYPE berth_device_energy_joules counter\n"));
  EXPECT_THAT(page, HasSubstr("\nberth_device_energy_joules_total{"));
  EXPECT_THAT(page, HasSubstr("# TYPE berth_device info\n"));
  EXPECT_THAT(page, HasSubstr("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION unknown\n"));
  EXPECT_EQ(read_page(page, true).all_faults(), "");
}

TEST(Metrics, ProfilesStandInOneOrderEachOnce) {
  const Snapshot host = h100_builder().build();
  EXPECT_EQ(metrics_page_of(host, {nvidia_smi, berth, berth}),
            metrics_page_of(host, {berth, nvidia_smi}));
  EXPECT_EQ(metrics_page_of(host), metrics_page_of(host));
}

TEST(Metrics, FreshnessAndCostOfTheDaemonAreSaid) {
  const Snapshot host = h100_builder().build();
  const Scrape scrape{
      .snapshot = host,
      .age = std::chrono::milliseconds(1'250),
      .interval = std::chrono::seconds(1),
      .look_duration = std::chrono::microseconds(12'300),
      .daemon = {.looks = 9,
                 .looks_failed = 2,
                 .samples_lost = 3,
                 .requests = 4,
                 .cpu_time = std::chrono::milliseconds(70),
                 .resident = 9_MiB,
                 .started = {host.taken.unix_ms - 5'000}},
      .history = HistoryFigures{.used = 1_MiB, .limit = 2_MiB, .disk_free = Absent::failed}};
  const ReadPage page = read_page(metrics_page(scrape, {}, MetricsFormat::text_0_0_4));
  EXPECT_EQ(page.value("berth_snapshot_age_seconds"), 1.25);
  EXPECT_EQ(page.value("berth_snapshot_timestamp_seconds"), 1'760'000'000);
  EXPECT_EQ(page.value("berth_look_duration_seconds"), 0.0123);
  EXPECT_EQ(page.value("berth_looks_total"), 9);
  EXPECT_EQ(page.value("berth_looks_failed_total"), 2);
  EXPECT_EQ(page.value("berth_daemon_cpu_seconds_total"), 0.07);
  EXPECT_EQ(page.value("berth_history_limit_bytes"), (2_MiB).count());
  EXPECT_FALSE(page.value("berth_history_disk_free_bytes"));
}

TEST(Metrics, NegotiationGivesOpenMetricsToWhoPrefersIt) {
  using enum MetricsFormat;
  const std::vector<std::pair<std::string_view, MetricsFormat>> cases = {
      {"", text_0_0_4},
      {"*/*", text_0_0_4},
      {"text/html,application/xhtml+xml,*/*;q=0.8", text_0_0_4},
      {"application/openmetrics-text", openmetrics_1_0},
      {"application/openmetrics-text; version=1.0.0; charset=utf-8", openmetrics_1_0},
      {"application/openmetrics-text;version=2.0.0", text_0_0_4},
      {"application/openmetrics-text;q=0", text_0_0_4},
      {"text/plain;version=0.0.4;q=0.5,APPLICATION/OpenMetrics-Text;version=\"1.0.0\"",
       openmetrics_1_0},
      {"text/plain;version=0.0.4,application/openmetrics-text;q=0.5", text_0_0_4},
      {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
       "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
       openmetrics_1_0},
      {";;;q=,=,", text_0_0_4},
      {"application/openmetrics-text;q=nan", text_0_0_4},
  };
  for (const auto& [accept, wanted] : cases) EXPECT_EQ(negotiated(accept), wanted) << accept;
}

TEST(Metrics, UnknownProfilesAreRefusedByName) {
  EXPECT_THAT(*profiles_from("dcgm, berth,dcgm"), ElementsAre(dcgm, berth));
  EXPECT_FALSE(profiles_from(""));
  const auto refused = profiles_from("berth,nope\n");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("profile \"nope\\x0A\"; there are berth, dcgm"));
}

TEST(Metrics, PagesOfWholeSnapshotsAreStrictlyWellFormed) {
  const Snapshot host = full_snapshot();
  EXPECT_EQ(read_metrics(host).all_faults(), "");
  EXPECT_EQ(read_page(metrics_page_of(host, every_profile, MetricsFormat::openmetrics_1_0), true)
                .all_faults(),
            "");
  EXPECT_EQ(read_metrics(Snapshot{}).all_faults(), "");
}

/// Anything that a probe could leave behind, and more.
Snapshot random_snapshot(std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint64_t>(random() % limit);
  };
  const std::vector<std::string> texts = {"",         "alice", "a\"b",  "\\",      "\n",
                                          "\xC3\x28", "名前",  "GPU-1", "GPU-1\n", "x,y=\"z\""};
  const auto text = [&] { return texts[below(static_cast<std::uint32_t>(texts.size()))]; };
  Snapshot host;
  host.taken = {static_cast<std::int64_t>(random())};
  for (std::uint64_t i = below(5); i > 0; --i) {
    Device device;
    device.id = DeviceId(text());
    device.kind = below(3) == 0 ? DeviceKind::nvidia_mig : DeviceKind::nvidia_gpu;
    if (below(3) != 0) device.index = static_cast<int>(below(4));
    if (below(3) == 0) device.parent = DeviceId(text());
    if (below(3) == 0) device.partition = Partition{static_cast<std::uint32_t>(below(3)), 0};
    device.lost = below(8) == 0;
    for (const Field& field : fields()) {
      if (field.write == nullptr || below(3) == 0) continue;
      const std::vector<Scalar> values = {~std::uint64_t{0}, below(200), true, text(),
                                          std::int64_t{-7},  1e300,      -0.25};
      field.write(device, values[below(7)]);
    }
    host.devices.push_back(std::move(device));
  }
  for (std::uint64_t i = below(9); i > 0; --i) {
    const auto pid = static_cast<pid_t>(below(5));
    host.gpu_processes.push_back(
        {.device = DeviceId(text()), .pid = pid, .memory = Bytes{below(9)}});
    host.processes.push_back({.id = {pid, 1}, .user = text(), .command = {{text()}}});
    host.claims.push_back({.id = text(), .user = text(), .devices = {{DeviceId(text()), {}}}});
    host.sources.push_back({text(), below(2) == 0});
    host.problems.push_back({text(), {}, text(), {}, {}});
  }
  return host;
}

TEST(Metrics, PagesOfRandomSnapshotsAreStrictlyWellFormed) {
  std::mt19937 random(20251009);
  for (int i = 0; i < 80; ++i) {
    const Snapshot host = random_snapshot(random);
    WindowKeeper window;
    window.add(host, Instant(std::chrono::seconds(i)));
    const std::vector<XidCount> xids = {{"a\"", 1, 1, {}}, {"b", 1, 1, {}}};
    const Scrape scrape{.snapshot = host, .window = &window.statistics(), .xids = xids};
    for (const MetricsFormat format : {MetricsFormat::text_0_0_4, MetricsFormat::openmetrics_1_0}) {
      const std::string page =
          metrics_page(scrape, {.profiles = every_profile, .per_process = true}, format);
      const ReadPage read = read_page(page, format == MetricsFormat::openmetrics_1_0);
      ASSERT_EQ(read.all_faults(), "") << "snapshot " << i;
    }
  }
}

}  // namespace
}  // namespace berth::serve
