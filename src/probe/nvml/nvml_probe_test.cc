// The probe against a table of functions: what one answer, and one wrong answer, does to a look.

#include "probe/nvml/nvml_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "probe/nvml/answers.h"
#include "probe/nvml/api.h"
#include "probe/nvml/whole_look_test.h"

namespace berth::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime now{1'760'000'000'000};
constexpr std::uint64_t now_us = 1'760'000'000'000'000;

// What the table's functions answer from; plain functions cannot capture.
struct Script {
  unsigned devices = 2;
  Return init = success;
  Return handle = success;       // of device 1
  Return temperature = success;  // of device 1
  Return memory_v2 = success;    // of device 1
  std::uint64_t memory_total = 1000;
  Return uuid = success;            // of device 1
  const char* uuid_text = nullptr;  // of every device
  int temperature_calls = 0;
  int memory_v2_calls = 0;
  int name_calls = 0;
  int inits = 0;
  Return cuda_version = success;
  int cuda_version_calls = 0;
  std::vector<ProcessV2> compute;
  std::vector<ProcessV2> graphics;
  unsigned grows_after_asking = 0;  // entries that appear between two calls
  std::size_t stride = sizeof(ProcessV2);
  std::vector<ProcessUtilization> busy;
  std::vector<unsigned long long> asked_since;
  std::vector<Sample> samples;
};
Script script;

Handle handle_of(unsigned index) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(index + 1));
}
unsigned index_of(Handle handle) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(handle) - 1);
}

Return list(std::vector<ProcessV2>& from, unsigned* count, void* out) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(from.size());
  if (from.size() > room) {
    from.resize(from.size() + script.grows_after_asking,
                ProcessV2{99, 1, no_instance, no_instance});
    script.grows_after_asking = 0;
    return insufficient_size;
  }
  auto* bytes = static_cast<unsigned char*>(out);
  for (const ProcessV2& process : from) {
    std::memset(bytes, 0, script.stride);
    std::memcpy(bytes, &process, sizeof process);
    bytes += script.stride;
  }
  return success;
}

Api small_api() {
  Api api;
  api.nvmlInit_v2.call = [] {
    ++script.inits;
    return script.init;
  };
  api.nvmlShutdown.call = [] { return success; };
  api.nvmlSystemGetCudaDriverVersion_v2.call = [](int* out) {
    ++script.cuda_version_calls;
    *out = 13000;
    return script.cuda_version;
  };
  api.nvmlDeviceGetCount_v2.call = [](unsigned* out) {
    *out = script.devices;
    return success;
  };
  api.nvmlDeviceGetHandleByIndex_v2.call = [](unsigned index, Handle* out) {
    *out = handle_of(index);
    return index == 1 ? script.handle : success;
  };
  api.nvmlDeviceGetUUID.call = [](Handle handle, char* out, unsigned length) {
    const std::string text =
        script.uuid_text != nullptr ? script.uuid_text : "GPU-" + std::to_string(index_of(handle));
    std::strncpy(out, text.c_str(), length);
    return index_of(handle) == 1 ? script.uuid : success;
  };
  api.nvmlDeviceGetName.call = [](Handle, char* out, unsigned length) {
    ++script.name_calls;
    std::strncpy(out, "NVIDIA Test", length);
    return success;
  };
  api.nvmlDeviceGetPciInfo_v3.call = [](Handle handle, PciInfoV3* out) {
    *out = {.domain = 0, .bus = 0x3B + index_of(handle), .device_and_vendor = 0x233010DE};
    return success;
  };
  api.nvmlDeviceGetTemperature.call = [](Handle handle, unsigned, unsigned* out) {
    *out = 40;
    if (index_of(handle) != 1) return success;
    ++script.temperature_calls;
    return script.temperature;
  };
  api.nvmlDeviceGetMemoryInfo_v2.call = [](Handle handle, MemoryV2* out) {
    if (index_of(handle) == 1) ++script.memory_v2_calls;
    out->total = script.memory_total;
    out->reserved = 10;
    out->used = 90;
    out->free = 900;
    return index_of(handle) == 1 ? script.memory_v2 : success;
  };
  api.nvmlDeviceGetMemoryInfo.call = [](Handle, MemoryV1* out) {
    *out = {script.memory_total, 900, 100};
    return success;
  };
  api.nvmlDeviceGetComputeRunningProcesses_v3.call = [](Handle, unsigned* count, void* out) {
    return list(script.compute, count, out);
  };
  api.nvmlDeviceGetGraphicsRunningProcesses_v3.call = [](Handle, unsigned* count, void* out) {
    return list(script.graphics, count, out);
  };
  api.nvmlDeviceGetProcessUtilization.call = [](Handle, ProcessUtilization* out, unsigned* count,
                                                unsigned long long since) {
    script.asked_since.push_back(since);
    if (script.busy.empty()) return not_found;
    *count = static_cast<unsigned>(script.busy.size());
    std::copy(script.busy.begin(), script.busy.end(), out);
    return success;
  };
  api.nvmlDeviceGetSamples.call = [](Handle, unsigned, unsigned long long, unsigned* type,
                                     unsigned* count, Sample* out) {
    if (script.samples.empty()) return not_found;
    *type = value_is_unsigned;
    const auto room = std::min<std::size_t>(*count, script.samples.size());
    *count = static_cast<unsigned>(out == nullptr ? script.samples.size() : room);
    if (out != nullptr) std::copy_n(script.samples.begin(), room, out);
    return success;
  };
  return api;
}

class NvmlProbeTest : public ::testing::Test {
 protected:
  void SetUp() override { script = {}; }
  Snapshot look() { return whole_look(probe, now); }
  NvmlProbe probe{small_api(), {.proc = "/nonexistent"}};
};

TEST_F(NvmlProbeTest, ReadsIdentityMemoryAndTemperature) {
  const Snapshot got = look();
  ASSERT_EQ(got.devices.size(), 2U);
  const Device& device = got.devices[1];
  EXPECT_EQ(device.id, DeviceId("GPU-1"));
  EXPECT_EQ(device.index, 1);
  EXPECT_EQ(device.pci_address.get(), "00000000:3c:00.0");
  EXPECT_EQ(device.pci_id.get(), "10de:2330");
  EXPECT_EQ(device.temperature.get(), Celsius(40));
  EXPECT_EQ(device.memory_used.get(), Bytes(90));
  EXPECT_EQ(device.memory_reserved.get(), Bytes(10));
  EXPECT_EQ(device.fan_speed.why(), Absent::unsupported) << "the library has no such function";
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_THAT(got.sources, ElementsAre(SourceReport{"nvml", true}));
}

TEST_F(NvmlProbeTest, EachReturnCodeBecomesItsReason) {
  const std::map<Return, Absent> reasons = {{not_supported, Absent::unsupported},
                                            {function_not_found, Absent::unsupported},
                                            {deprecated, Absent::unsupported},
                                            {no_permission, Absent::no_permission},
                                            {not_found, Absent::not_sampled},
                                            {no_data, Absent::not_sampled},
                                            {unknown, Absent::failed},
                                            {invalid_argument, Absent::failed},
                                            {timed_out, Absent::failed},
                                            {4711, Absent::failed}};
  for (const auto& [code, why] : reasons) {
    script = {};
    script.temperature = code;
    NvmlProbe fresh(small_api(), {.proc = "/nonexistent"});
    const Snapshot got = whole_look(fresh, now);
    EXPECT_EQ(got.devices[1].temperature, Reading<Celsius>(why)) << "code " << code;
    EXPECT_EQ(got.devices[0].temperature.get(), Celsius(40)) << "code " << code;
    EXPECT_EQ(got.devices[1].memory_total.get(), Bytes(1000)) << "code " << code;
  }
}

TEST_F(NvmlProbeTest, AFailedReadingIsNamedInAProblemOfItsDevice) {
  script.temperature = unknown;
  const Snapshot got = look();
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].device, DeviceId("GPU-1"));
  EXPECT_THAT(got.problems[0].message.english(),
              HasSubstr("nvmlDeviceGetTemperature: Unknown Error (999)"));
}

TEST_F(NvmlProbeTest, OneLostAnswerMakesTheDeviceLostAndHidesNoOther) {
  script.devices = 3;
  script.temperature = gpu_is_lost;
  const Snapshot got = look();
  ASSERT_EQ(got.devices.size(), 3U);
  EXPECT_TRUE(got.devices[1].lost);
  EXPECT_EQ(got.devices[1].id, DeviceId("GPU-1"));
  EXPECT_EQ(got.devices[1].memory_total, Reading<Bytes>(Absent::failed));
  EXPECT_FALSE(got.devices[2].lost);
  EXPECT_EQ(got.devices[2].temperature.get(), Celsius(40));
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].code, "device_lost");
}

TEST_F(NvmlProbeTest, ALostDeviceWithoutHandleKeepsTheIdentityOfAnEarlierLook) {
  (void)look();
  NvmlProbe fresh(small_api(), {.proc = "/nonexistent"});
  script.handle = gpu_is_lost;
  const Snapshot got = whole_look(fresh, now);
  EXPECT_TRUE(got.devices[1].lost);
  EXPECT_EQ(got.devices[1].id, DeviceId("nvml-index-1")) << "nothing was known of it";
  EXPECT_TRUE(look().devices[1].id == DeviceId("GPU-1")) << "the first probe has its handle still";
}

TEST_F(NvmlProbeTest, TwoDevicesThatClaimOneUuidKeepDifferentIds) {
  script.uuid_text = "GPU-same";
  const Snapshot got = look();
  EXPECT_EQ(got.devices[0].id, DeviceId("GPU-same"));
  EXPECT_EQ(got.devices[1].id, DeviceId("00000000:3c:00.0"));
}

TEST_F(NvmlProbeTest, WhatIsUnsupportedIsAskedOnceAndFactsAreReadOnce) {
  script.temperature = not_supported;
  (void)look();
  const int names = script.name_calls;
  (void)look();
  EXPECT_EQ(script.temperature_calls, 1);
  EXPECT_EQ(script.name_calls, names);
  EXPECT_EQ(script.memory_v2_calls, 2);
}

TEST_F(NvmlProbeTest, AReadingThatFailedIsAskedAgain) {
  script.temperature = unknown;
  (void)look();
  script.temperature = success;
  EXPECT_EQ(look().devices[1].temperature.get(), Celsius(40));
}

TEST_F(NvmlProbeTest, FallsBackToTheOlderMemoryLayout) {
  script.memory_v2 = argument_version_mismatch;
  const Device device = look().devices[1];
  EXPECT_EQ(device.memory_used.get(), Bytes(100)) << "version 1 counts what is reserved";
  EXPECT_EQ(device.memory_reserved, Reading<Bytes>(Absent::unsupported));
}

TEST_F(NvmlProbeTest, AChipWithoutMemoryOfItsOwnHasNoneAndNotZeroBytes) {
  script.memory_total = 0;
  for (const Return code : {success, function_not_found}) {
    script.memory_v2 = code;
    const Device device = look().devices[1];
    EXPECT_EQ(device.memory_total, Reading<Bytes>(Absent::unsupported)) << code;
    EXPECT_EQ(device.memory_used, Reading<Bytes>(Absent::unsupported)) << code;
    EXPECT_EQ(device.memory_free, Reading<Bytes>(Absent::unsupported)) << code;
  }
}

TEST_F(NvmlProbeTest, UninitialisedMeansInitialisingAtTheNextLook) {
  (void)look();
  script.temperature = uninitialized;
  (void)look();
  script.temperature = success;
  const Snapshot got = look();
  EXPECT_EQ(script.inits, 2);
  EXPECT_EQ(got.devices[1].temperature.get(), Celsius(40));
}

TEST_F(NvmlProbeTest, TheVersionOfCudaIsAskedOncePerDriverUntilItIsTold) {
  const auto cuda = [&] { return look().host.software_of(Runtime::cuda).runtime; };
  script.cuda_version = unknown;
  EXPECT_EQ(cuda(), Reading<std::string>(Absent::failed));
  script.cuda_version = success;
  EXPECT_EQ(cuda(), Reading<std::string>("13.0"));
  EXPECT_EQ(cuda(), Reading<std::string>("13.0"));
  EXPECT_EQ(script.cuda_version_calls, 2);
  script.temperature = uninitialized;  // a driver that was loaded anew may be another version
  (void)look();
  script.temperature = success;
  (void)look();
  EXPECT_EQ(script.cuda_version_calls, 3);
}

TEST_F(NvmlProbeTest, MergesComputeAndGraphicsOfOneProcess) {
  script.compute = {{7, 100, no_instance, no_instance}, {8, value_not_available, no_instance, 0}};
  script.graphics = {{7, 100, no_instance, no_instance}, {9, 5, no_instance, no_instance}};
  script.devices = 1;
  const auto got = look().gpu_processes;
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].use, GpuUse::both);
  EXPECT_EQ(got[0].memory.get(), Bytes(100));
  EXPECT_EQ(got[0].partition, std::nullopt);
  EXPECT_EQ(got[1].memory, Reading<Bytes>(Absent::unsupported)) << "~0 is not a size";
  EXPECT_EQ(got[2].use, GpuUse::graphics);
}

TEST_F(NvmlProbeTest, AListWithANumberThatNoProcessHasWasNotRead) {
  for (const unsigned impossible : {0U, 0xA5A5A5A5U, 0x80000000U}) {
    script.compute = {{100, 5, no_instance, no_instance},
                      {impossible, 5, no_instance, no_instance}};
    const Snapshot got = look();
    EXPECT_THAT(got.gpu_processes, IsEmpty()) << impossible;
    EXPECT_EQ(got.devices[0].process_count, Reading<std::uint64_t>(Absent::failed)) << impossible;
    EXPECT_THAT(got.problems, Not(IsEmpty())) << impossible;
  }
}

TEST_F(NvmlProbeTest, AProcessWithMoreMemoryThanItsDeviceHasIsThereWithoutIt) {
  script.compute = {{100, script.memory_total, no_instance, no_instance},
                    {200, script.memory_total + 1, no_instance, no_instance}};
  const Snapshot got = look();
  ASSERT_GE(got.gpu_processes.size(), 2U);
  EXPECT_EQ(got.gpu_processes[0].memory, Reading<Bytes>(Bytes(script.memory_total)));
  EXPECT_EQ(got.gpu_processes[1].memory, Reading<Bytes>(Absent::failed));
}

TEST_F(NvmlProbeTest, AProcessListThatGrowsWhileAskingIsReadWhole) {
  script.devices = 1;
  for (unsigned pid = 100; pid < 140; ++pid)
    script.compute.push_back({pid, 1, no_instance, no_instance});
  script.grows_after_asking = 5;
  EXPECT_EQ(look().gpu_processes.size(), 41U) << "40, and the one pid of those that came";
}

TEST_F(NvmlProbeTest, EntriesOfEarly535DriversHaveAFifthMember) {
  Api api = small_api();
  api.nvmlDeviceGetConfComputeMemSizeInfo.call = [](Handle, void*) { return success; };
  for (const std::size_t stride : {sizeof(ProcessV3Of535), sizeof(ProcessV2)}) {
    script = {};
    script.devices = 1;
    script.stride = stride;
    script.compute = {{7, 100, no_instance, no_instance}, {8, 200, no_instance, no_instance}};
    NvmlProbe of_535(api, {.proc = "/nonexistent"});
    const Snapshot got = whole_look(of_535, now);
    ASSERT_EQ(got.gpu_processes.size(), 2U) << stride;
    EXPECT_EQ(got.gpu_processes[1].pid, 8) << stride;
    EXPECT_EQ(got.gpu_processes[1].memory.get(), Bytes(200)) << stride;
  }
}

TEST_F(NvmlProbeTest, ProcessUtilisationDropsGarbageAndAsksOnFromTheLastSample) {
  script.devices = 1;
  script.compute = {{7, 1, no_instance, no_instance}, {8, 1, no_instance, no_instance}};
  script.busy = {{7, now_us - 500'000, 60, 0, 0, 0},
                 {7, now_us - 900'000, 10, 0, 0, 0},
                 {8, now_us - 500'000, 4'000'000, 0, 0, 0},
                 {8, 12, 50, 0, 0, 0}};
  const auto first = look().gpu_processes;
  EXPECT_EQ(first[0].utilization_sm.get(), Percent(60));
  EXPECT_EQ(first[1].utilization_sm, Reading<Percent>(Absent::not_sampled));
  script.busy.clear();
  EXPECT_EQ(look().gpu_processes[0].utilization_sm, Reading<Percent>(Absent::not_sampled));
  EXPECT_THAT(script.asked_since, ElementsAre(now_us - 2'000'000, now_us - 500'000));
}

TEST_F(NvmlProbeTest, HistoryIsNewestFirstAndEmptyIsNotAbsent) {
  EXPECT_EQ(look().devices[0].utilization_history.get(), std::vector<UtilizationSample>{});
  script.samples = {{now_us - 2'000'000, {.as_unsigned = 30}},
                    {now_us - 1'000'000, {.as_unsigned = 250}},
                    {now_us - 500'000, {.as_unsigned = 10}}};
  EXPECT_THAT(*look().devices[0].utilization_history.get(),
              ElementsAre(UtilizationSample{Milliseconds(500), Percent(10)},
                          UtilizationSample{Milliseconds(2000), Percent(30)}));
}

TEST_F(NvmlProbeTest, HistoryLeavesOutWhatWasStampedBeforeTheClockWasSet) {
  script.samples = {{90'000'000, {.as_unsigned = 30}}, {now_us - 500'000, {.as_unsigned = 10}}};
  EXPECT_THAT(*look().devices[0].utilization_history.get(),
              ElementsAre(UtilizationSample{Milliseconds(500), Percent(10)}));
}

TEST_F(NvmlProbeTest, EachFailureToStartIsAProblemWithARemedy) {
  const std::map<Return, std::string> codes = {{driver_not_loaded, "driver_not_loaded"},
                                               {version_mismatch, "version_mismatch"},
                                               {no_permission, "no_permission"},
                                               {gpu_is_lost, "device_lost"},
                                               {unknown, "driver_failed"}};
  for (const auto& [code, word] : codes) {
    script.init = code;
    const Snapshot got = look();
    ASSERT_EQ(got.problems.size(), 1U) << code;
    EXPECT_EQ(got.problems[0].code, word);
    EXPECT_FALSE(got.problems[0].remedy.empty()) << word;
    EXPECT_THAT(got.sources, ElementsAre(SourceReport{"nvml", false}));
    EXPECT_EQ(got.host.software_of(Runtime::cuda).driver, Reading<std::string>(Absent::failed));
  }
}

TEST_F(NvmlProbeTest, ASkippedDeviceIsARowWithoutAnyCall) {
  ASSERT_EQ(probe.open(), 2);
  const Device device = probe.skipped_device(1);
  EXPECT_EQ(device.id, DeviceId("nvml-index-1"));
  EXPECT_EQ(device.memory_free, Reading<Bytes>(Absent::failed));
  EXPECT_EQ(script.name_calls, 0);
}

}  // namespace
}  // namespace berth::nvml
