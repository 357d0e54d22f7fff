#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace literals;

TEST(DoctorSharedMemorySmall, OnAMachineAHintInAContainerAWarning) {
  Examined host = healthy();
  host.facts.limits->shared_memory_total = host.facts.limits->shared_memory_free = Bytes{64 << 20};
  EXPECT_EQ(told(host), "hint shared_memory_small: /dev/shm has 64 MiB, 64 MiB of it free");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("remount,size=8g /dev/shm"));
  host.facts.container = std::string("docker 1a2b3c");
  EXPECT_EQ(only(host).severity, Severity::warning);
  EXPECT_THAT(commands_of(only(host)), HasSubstr("--shm-size=8g"));
  host.facts.limits->shared_memory_total = host.facts.limits->shared_memory_free = Bytes{256 << 20};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorSharedMemorySmall, FullIsToldAsSuch) {
  Examined host = healthy();
  host.facts.limits->shared_memory_free = 1_GiB;
  EXPECT_EQ(told(host), "warning shared_memory_small: /dev/shm has 32.0 GiB, 1.0 GiB of it free");
  EXPECT_EQ(only(host).title.english(), "shared memory is full");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("ls -lS /dev/shm"));
  host.facts.limits->shared_memory_free = 2_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorMemoryLow, AlmostNoneIsAvailable) {
  Examined host = healthy();
  host.facts.limits->memory_available = 1_GiB;
  EXPECT_EQ(told(host), "warning memory_low: 1.0 GiB of 64.0 GiB are available");
  host.facts.limits->swap_total = 8_GiB;
  host.facts.limits->swap_free = 5_GiB;
  EXPECT_THAT(only(host).evidence, SizeIs(1)) << "most of it is left";
  host.facts.limits->swap_free = 1_GiB;
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("1.0 GiB of 8.0 GiB of swap"));
  host.facts.limits->memory_available = 4_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "more than a twentieth";
}

TEST(DoctorMemoryLimitNear, AlmostAllOfItIsCharged) {
  Examined host = healthy();
  host.facts.limits->memory_limit = 8_GiB;
  host.facts.limits->memory_charged = Bytes{(8ULL << 30) - 1};
  EXPECT_THAT(told(host), HasSubstr("warning memory_limit_near: 8.0 GiB of 8.0 GiB are charged"));
  EXPECT_FALSE(only(host).doubt.empty());
  host.facts.limits->memory_charged = 7_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorMemoryLimitNear, LimitAboveTheMachinesMemoryLimitsNothing) {
  Examined host = healthy();
  host.facts.limits->memory_limit = host.facts.limits->memory_charged = 64_GiB;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorQuotaBelowCores, LibrariesCountTheCpusThatTheySee) {
  Examined host = healthy();
  host.facts.limits->cpu_quota = 2.0;
  EXPECT_EQ(told(host),
            "hint quota_below_cores: the control group's quota is 2 CPUs; this process sees 16 "
            "CPUs, and OMP_NUM_THREADS is not set");
  EXPECT_EQ(commands_of(only(host)), "export OMP_NUM_THREADS=2\n");
  host.facts.python->said.frameworks[0].threads = 15;
  EXPECT_EQ(only(host).rule, "quota_below_cores") << "and no second one for torch's threads";
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("15 threads"));
}

TEST(DoctorQuotaBelowCores, MoreThanHalfOfThemOrAVariableIsWell) {
  Examined host = healthy();
  host.facts.limits->cpu_quota = 9.0;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.limits->cpu_quota = 2.0;
  host.facts.variables = {{"OMP_NUM_THREADS", "2"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorThreadsOverCores, AskedForByAVariable) {
  Examined host = healthy();
  host.facts.variables = {{"OMP_NUM_THREADS", "16"}};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.variables = {{"OMP_NUM_THREADS", "32"}};
  EXPECT_EQ(told(host),
            "warning threads_over_cores: OMP_NUM_THREADS=32; this process may use 16 CPUs");
  EXPECT_EQ(only(host).steps.at(0).command, "export OMP_NUM_THREADS=16");
}

TEST(DoctorThreadsNotANumber, ZeroNothingOrAWord) {
  Examined host = healthy();
  for (const char* fits : {"1", " 8 ", "8,2"}) {
    host.facts.variables = {{"OMP_NUM_THREADS", fits}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << fits;
  }
  for (const char* bad : {"0", "", "auto", "-1", "4.5", "4,x", "0,2"}) {
    host.facts.variables = {{"OMP_NUM_THREADS", bad}};
    EXPECT_EQ(told(host),
              std::string("warning threads_not_a_number: OMP_NUM_THREADS=\"") + bad + "\"");
    EXPECT_EQ(commands_of(only(host)), "export OMP_NUM_THREADS=16\n");
  }
  host.facts.variables = {{"MKL_NUM_THREADS", "0"}, {"OPENBLAS_NUM_THREADS", "none"}};
  EXPECT_THAT(rules_of(host), testing::ElementsAre("threads_not_a_number", "threads_not_a_number"));
}

TEST(DoctorThreadsOverCores, FirstOfAListCounts) {
  Examined host = healthy();
  host.facts.variables = {{"OMP_NUM_THREADS", "32,4"}};
  EXPECT_EQ(told(host),
            "warning threads_over_cores: OMP_NUM_THREADS=32,4; this process may use 16 CPUs");
}

TEST(DoctorThreadsOverCores, ThatTorchItselfSays) {
  Examined host = healthy();
  auto& threads = host.facts.python->said.frameworks[0].threads;
  threads = 16;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.limits->cpus_allowed = std::uint64_t{8};
  host.facts.variables = {{"OMP_NUM_THREADS", "8,2"}};
  EXPECT_EQ(only(host).rule, "threads_over_cores");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("16 threads"));
  threads = 15;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "less than twice as many";
  host.facts.variables = {{"OMP_NUM_THREADS", "15"}};
  EXPECT_EQ(only(host).evidence.at(0).english(), "OMP_NUM_THREADS=15");
  EXPECT_THAT(only(host).evidence.back().english(), HasSubstr("15 threads"));
  host.facts.limits->cpu_quota = 0.5;
  host.facts.variables = {{"OMP_NUM_THREADS", "1"}};
  threads = 1;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "no program has fewer";
}

TEST(DoctorOneCpuOfMany, AffinityToASingleOne) {
  Examined host = healthy();
  host.facts.limits->cpus_allowed = std::uint64_t{1};
  EXPECT_EQ(told(host), "warning one_cpu_of_many: its affinity allows 1 of 16 CPUs");
  host.facts.limits->cpus_allowed = std::uint64_t{2};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorOpenFilesLow, FewerThanEveryLoginHas) {
  Examined host = healthy();
  host.facts.limits->open_files = std::uint64_t{256};
  EXPECT_EQ(told(host), "warning open_files_low: the limit is 256 (ulimit -n)");
  EXPECT_EQ(commands_of(only(host)), "ulimit -n 65536\n");
  host.facts.limits->open_files_hard = std::uint64_t{512};
  EXPECT_EQ(commands_of(only(host)), "ulimit -n 512\n") << "no more is allowed";
  host.facts.limits->open_files_hard = std::uint64_t{256};
  EXPECT_EQ(commands_of(only(host)), "ulimit -Hn\n") << "what is allowed is used";
  host.facts.limits->open_files = std::uint64_t{1024};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorMklMissing, TorchWithoutItWhereTheCpuIsAllThereIs) {
  Examined host = healthy();
  host.facts.limits->cpu_vendor = std::string("GenuineIntel");
  host.facts.python->said.frameworks[0].has_mkl = false;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it computes on the GPU";
  host.facts.python->said.frameworks[0].sees_gpu.reset();
  EXPECT_EQ(told(host), "hint mkl_missing: torch 2.9.1 says so, and the CPU is Intel's");
  host.facts.limits->cpu_vendor = std::string("AuthenticAMD");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorGovernorPowersave, WithADriverThatThenNeverGoesFaster) {
  Examined host = healthy();
  host.facts.limits->frequency_driver = std::string("acpi-cpufreq");
  EXPECT_EQ(told(host), "hint governor_powersave: governor powersave of driver acpi-cpufreq");
  host.facts.limits->governor = std::string("schedutil");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorGovernorPowersave, PstateDriversChooseSpeedsThemselves) {
  Examined host = healthy();
  for (const char* driver : {"intel_pstate", "amd-pstate-epp"}) {
    host.facts.limits->frequency_driver = std::string(driver);
    EXPECT_THAT(rules_of(host), IsEmpty()) << driver;
  }
}

TEST(DoctorPersistenceOff, WhereNoDisplayKeepsTheDriverAwake) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.persistence_mode = false;
  EXPECT_EQ(told(host),
            "hint persistence_off: it is off on GPU 0, 1, and no display keeps the driver awake");
  host.snapshot.devices[0].display_active = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.snapshot.devices[0].display_active = false;
  host.facts.container = std::string("docker 1a2b3c");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "the host's matter";
}

}  // namespace
}  // namespace berth::doctor
