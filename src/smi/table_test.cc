#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "smi/example_cards.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using namespace literals;

using ::testing::HasSubstr;
using ::testing::Not;

std::string table_of(const Snapshot& snapshot) { return render_table(snapshot, {}, {}); }

std::string driver(const std::string& version, const std::string& cuda) {
  Snapshot host = example::workstation();
  host.host.software_of(Runtime::cuda).driver = version;
  host.host.software_of(Runtime::cuda).runtime = cuda;
  return table_of(host);
}

TEST(SmiTable, IsDrawnAsDriver595DrawsIt) {
  EXPECT_EQ(driver("595.71.05", "13.2"), R"(Wed Jun 24 10:26:34 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 595.71.05              Driver Version: 595.71.05      CUDA Version: 13.2     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 2080 ...    Off |   00000000:0C:00.0  On |                  N/A |
| 37%   40C    P8             37W /  250W |     214MiB /   8192MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            1696      G   /usr/bin/gnome-shell                    176MiB |
|    0   N/A  N/A            4584      G   /usr/bin/Xwayland                         3MiB |
|    0   N/A  N/A          190709      C   ..._v12/ollama_llama_server_rocm       2492MiB |
+-----------------------------------------------------------------------------------------+
)");
}

TEST(SmiTable, IsDrawnAsDriver535DrawsIt) {
  const std::string drawn = driver("535.183.01", "12.2");
  EXPECT_THAT(drawn, HasSubstr(R"(
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
)"));
  EXPECT_THAT(drawn, HasSubstr(R"(
|   0  NVIDIA GeForce RTX 2080 ...    Off | 00000000:0C:00.0  On |                  N/A |
| 37%   40C    P8              37W / 250W |    214MiB /  8192MiB |      0%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
                                                                                         
+---------------------------------------------------------------------------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
)"));
  EXPECT_THAT(drawn, HasSubstr(R"(
|    0   N/A  N/A    190709      C   ...s/cuda_v12/ollama_llama_server_rocm     2492MiB |
)"));
}

TEST(SmiTable, IsDrawnAsDriver525DrawsIt) {
  const std::string drawn = driver("525.85.12", "12.0");
  EXPECT_THAT(drawn, HasSubstr(R"(
| NVIDIA-SMI 525.85.12    Driver Version: 525.85.12    CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
)"));
  EXPECT_THAT(drawn, HasSubstr(R"(
|   0  NVIDIA GeForce ...  Off  | 00000000:0C:00.0  On |                  N/A |
| 37%   40C    P8    37W / 250W |    214MiB /  8192MiB |      0%      Default |
|                               |                      |                  N/A |
)"));
  EXPECT_THAT(drawn, HasSubstr(R"(
|    0   N/A  N/A      1696      G   /usr/bin/gnome-shell              176MiB |
)"));
}

TEST(SmiTable, KnowsNoMigInDriversThatHadNone) {
  const std::string drawn = driver("418.67", "10.1");
  EXPECT_THAT(drawn, Not(HasSubstr("MIG M.")));
  EXPECT_THAT(drawn, HasSubstr(R"(
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      1696      G   /usr/bin/gnome-shell                         176MiB |
)"));
}

TEST(SmiTable, NamesTheTwoPartsOfTheDriverFrom610On) {
  EXPECT_THAT(driver("610.43.02", "13.3"), HasSubstr(R"(
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
)"));
}

TEST(SmiTable, EveryLineOfEveryGenerationHasOneWidth) {
  for (const char* version : {"390.157", "418.67", "470.1", "525.1", "535.1", "550.1", "565.1",
                              "570.1", "580.1", "595.1", "610.1"}) {
    Snapshot host = example::divided_card();
    host.host.software_of(Runtime::cuda).driver = std::string(version);
    const std::string drawn = table_of(host);
    std::size_t width = 0;
    for (const std::string_view line : split(drawn, '\n')) {
      if (!line.starts_with('+') && !line.starts_with('|')) continue;
      if (width == 0) width = line.size();
      EXPECT_EQ(line.size(), width) << version << ": " << line;
    }
  }
}

TEST(SmiTable, ShowsTheInstancesBetweenCardsAndProcesses) {
  EXPECT_THAT(table_of(example::divided_card()), HasSubstr(R"(
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0   10   0   1  |               9MiB /  9984MiB    | 16      0 |  1   0    1    0    1 |
|                  |               0MiB /  6184MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0            21180      C   /root/tools/memhog                     2296MiB |
|    0   10    0            21198      C   ./gpu_burn                             7484MiB |
+-----------------------------------------------------------------------------------------+
)"));
}

TEST(SmiTable, ADividedCardWithoutInstancesSaysSo) {
  Snapshot host = example::divided_card();
  host.devices.resize(1);
  EXPECT_THAT(table_of(host), HasSubstr(R"(
|  No MIG devices found                                                                   |
+-----------------------------------------------------------------------------------------+

)"));
}

TEST(SmiTable, ALostCardIsARowOfErrorsAndHidesNobodysProcesses) {
  Snapshot host = example::workstation();
  Device lost = host.devices[0];
  lost.id = DeviceId("GPU-lost");
  lost.index = 1;
  lost.lost = true;
  lost.pci_address = std::string("00000000:91:00.0");
  lost.name = lost.compute_mode = Absent::failed;
  lost.fan_speed = lost.utilization_gpu = Absent::failed;
  lost.temperature = Absent::failed;
  lost.performance_state = lost.ecc_uncorrected = Absent::failed;
  lost.power_draw = lost.power_limit = Absent::failed;
  lost.memory_used = lost.memory_total = Absent::failed;
  lost.mig_mode = lost.persistence_mode = lost.display_active = Absent::failed;
  host.devices.insert(host.devices.begin(), lost);
  const std::string drawn = table_of(host);
  EXPECT_THAT(drawn, HasSubstr(R"(
|   1  ERR!                          N/A  |   00000000:91:00.0 N/A |                 ERR! |
|ERR!  ERR! ERR!             ERR! /  ERR! |                 ERR!   |    ERR!         ERR! |
|                                         |                        |                 ERR! |
)"));
  EXPECT_THAT(drawn, HasSubstr("1696      G   /usr/bin/gnome-shell "));
}

TEST(SmiTable, ACardThatMustBeResetHasErrorsWhereTheDriverShowsThem) {
  Snapshot host = example::workstation();
  Device& card = host.devices[0];
  card.unusable_because = Unusable::must_be_reset;
  card.name = std::string("NVIDIA A100 80GB PCIe");
  card.persistence_mode = true;
  card.display_active = card.mig_mode = Absent::failed;
  card.ecc_uncorrected = Absent::failed;
  card.fan_speed = card.utilization_gpu = Absent::failed;
  card.power_draw = card.power_limit = Absent::failed;
  card.memory_used = 0_GiB;
  card.memory_total = 80_GiB;
  EXPECT_THAT(table_of(host), HasSubstr(R"(
|   0  NVIDIA A100 80GB PCIe          On  |   00000000:0C:00.0 N/A |                  N/A |
|ERR!   40C    P8            N/A  /  N/A  |       0MiB /  81920MiB |     N/A      Default |
|                                         |                        |                 ERR! |
)"));
}

TEST(SmiTable, AbsentIsNotZero) {
  Snapshot host = example::workstation();
  Device& card = host.devices[0];
  card.power_draw = card.power_limit = Absent::unsupported;
  card.fan_speed = Absent::unsupported;
  card.memory_used = card.memory_total = Absent::no_permission;
  host.gpu_processes[0].memory = Absent::unsupported;
  host.processes.erase(host.processes.begin());
  const std::string drawn = table_of(host);
  EXPECT_THAT(drawn,
              HasSubstr("| N/A   40C    P8            N/A  /  N/A  |                  N/A   |"));
  EXPECT_THAT(drawn, HasSubstr("      G   [Not Found]                           N/A      |"));
}

/// A chip that shares the memory of its host: NVML has none to tell of.
Snapshot chip_without_memory(const std::string& driver) {
  Snapshot host = example::workstation();
  host.host.software_of(Runtime::cuda).driver = driver;
  host.gpu_processes.clear();
  Device& chip = host.devices[0];
  chip.memory_used = chip.memory_total = chip.memory_free = Absent::unsupported;
  chip.fan_speed = Absent::unsupported;
  chip.power_limit = Absent::unsupported;
  return host;
}

TEST(SmiTable, MemoryThatIsTheHostsIsNotSupportedAndNotUnseen) {
  EXPECT_THAT(table_of(chip_without_memory("580.95.05")),
              HasSubstr("| N/A   40C    P8             37W /  N/A  | Not Supported          |"));
}

TEST(SmiTable, AnEmbeddedChipHasNoBusAndNoSensors) {
  Snapshot host = chip_without_memory("540.4.0");
  Device& chip = host.devices[0];
  chip.name = std::string("Orin (nvgpu)");
  chip.pci_address = Absent::unsupported;
  chip.persistence_mode = chip.display_active = Absent::unsupported;
  chip.temperature = Absent::unsupported;
  chip.power_draw = Absent::unsupported;
  chip.performance_state = Absent::unsupported;
  chip.utilization_gpu = Absent::unsupported;
  chip.compute_mode = Absent::unsupported;
  EXPECT_THAT(table_of(host), HasSubstr(R"(
|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |
| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |
|                                         |                      |                  N/A |
)"));
}

TEST(SmiTable, ShortensLongComputeModesAndMarksWhatIsPending) {
  Snapshot host = example::workstation();
  Device& card = host.devices[0];
  card.compute_mode = std::string("Exclusive_Process");
  card.mig_mode = false;
  card.details.set(Detail::mig_mode_pending, Reading<bool>(true));
  card.ecc_mode = false;
  card.ecc_uncorrected = std::uint64_t{0};
  const std::string drawn = table_of(host);
  EXPECT_THAT(drawn, HasSubstr("|      0%   E. Process |"));
  EXPECT_THAT(drawn, HasSubstr("|             Enabled* |"));
  EXPECT_THAT(drawn, HasSubstr("|                  Off |"));
}

TEST(SmiTable, ControlCharactersInNamesReachNobodysTerminal) {
  Snapshot host = example::workstation();
  host.devices[0].name = std::string("NVIDIA \x1b[31m");
  host.processes[0].command = std::vector<std::string>{"a\x1b]0;b\x07"};
  EXPECT_THAT(table_of(host), Not(HasSubstr("\x1b")));
}

TEST(SmiTable, WithoutProcessesItSaysSo) {
  Snapshot host = example::workstation();
  host.gpu_processes.clear();
  EXPECT_THAT(table_of(host), HasSubstr(R"(
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
)"));
}

}  // namespace
}  // namespace berth::smi
