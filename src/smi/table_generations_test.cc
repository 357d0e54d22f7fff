// The same divided card as each generation of drivers draws it. The layouts differ in width,
// heading, titles of the MIG table and room for process numbers. Counted on tables of real
// machines; those of 590 and 595 are held against captures in tests/parity.

#include <gtest/gtest.h>

#include "smi/example_cards.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using namespace literals;

std::string drawn_by(const std::string& driver, const std::string& cuda) {
  Snapshot host = example::divided_card();
  host.host.software_of(Runtime::cuda).driver = driver;
  host.host.software_of(Runtime::cuda).runtime = cuda;
  return render_table(host, {}, {});
}

TEST(SmiTableOf, Driver470) {
  EXPECT_EQ(drawn_by("470.256.02", "11.4"), R"(Tue Jul 14 09:00:43 2026       
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.256.02   Driver Version: 470.256.02   CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA H100 80G...  On   | 00000000:00:09.0 Off |                   On |
| N/A   52C    P0   432W / 700W |  11125MiB / 81559MiB |     N/A      Default |
|                               |                      |              Enabled |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|
|                  |                      |        ECC|                       |
|==================+======================+===========+=======================|
|  0    2   0   0  |  11091MiB / 40448MiB | 60      0 |  3   0    3    0    3 |
|                  |      0MiB / 24739MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
|  0   10   0   1  |      9MiB /  9984MiB | 16      0 |  1   0    1    0    1 |
|                  |      0MiB /  6184MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
                                                                               
+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    0    2    0      21180      C   /root/tools/memhog               2296MiB |
|    0   10    0      21198      C   ./gpu_burn                       7484MiB |
+-----------------------------------------------------------------------------+
)");
}

TEST(SmiTableOf, Driver535) {
  EXPECT_EQ(drawn_by("535.183.01", "12.2"), R"(Tue Jul 14 09:00:43 2026       
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:00:09.0 Off |                   On |
| N/A   52C    P0             432W / 700W |  11125MiB / 81559MiB |     N/A      Default |
|                                         |                      |              Enabled |
+-----------------------------------------+----------------------+----------------------+

+---------------------------------------------------------------------------------------+
| MIG devices:                                                                          |
+------------------+--------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                   Memory-Usage |        Vol|      Shared           |
|      ID  ID  Dev |                     BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |
|                  |                                |        ECC|                       |
|==================+================================+===========+=======================|
|  0    2   0   0  |           11091MiB / 40448MiB  | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB  |           |                       |
+------------------+--------------------------------+-----------+-----------------------+
|  0   10   0   1  |               9MiB /  9984MiB  | 16      0 |  1   0    1    0    1 |
|                  |               0MiB /  6184MiB  |           |                       |
+------------------+--------------------------------+-----------+-----------------------+
                                                                                         
+---------------------------------------------------------------------------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|        ID   ID                                                             Usage      |
|=======================================================================================|
|    0    2    0      21180      C   /root/tools/memhog                         2296MiB |
|    0   10    0      21198      C   ./gpu_burn                                 7484MiB |
+---------------------------------------------------------------------------------------+
)");
}

TEST(SmiTableOf, Driver550) {
  EXPECT_EQ(drawn_by("550.163.01", "12.4"), R"(Tue Jul 14 09:00:43 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.163.01             Driver Version: 550.163.01     CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|      Shared           |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |                 0MiB / 24739MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0   10   0   1  |               9MiB /  9984MiB    | 16      0 |  1   0    1    0    1 |
|                  |                 0MiB /  6184MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
                                                                                         
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0      21180      C   /root/tools/memhog                           2296MiB |
|    0   10    0      21198      C   ./gpu_burn                                   7484MiB |
+-----------------------------------------------------------------------------------------+
)");
}

TEST(SmiTableOf, Driver575) {
  EXPECT_EQ(drawn_by("575.64.05", "12.9"), R"(Tue Jul 14 09:00:43 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 575.64.05              Driver Version: 575.64.05      CUDA Version: 12.9     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |                 0MiB / 24739MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0   10   0   1  |               9MiB /  9984MiB    | 16      0 |  1   0    1    0    1 |
|                  |                 0MiB /  6184MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
                                                                                         
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0            21180      C   /root/tools/memhog                     2296MiB |
|    0   10    0            21198      C   ./gpu_burn                             7484MiB |
+-----------------------------------------------------------------------------------------+
)");
}

TEST(SmiTableOf, Driver610) {
  EXPECT_EQ(drawn_by("610.43.02", "13.3"), R"(Tue Jul 14 09:00:43 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
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
)");
}

/// The lines of a card that tells of itself only what every card does.
std::string silent_card_drawn_by(const std::string& driver) {
  Snapshot host = example::workstation();
  host.host.software_of(Runtime::cuda).driver = driver;
  Device& card = host.devices[0];
  card.persistence_mode = true;
  card.display_active = false;
  card.power_draw = card.power_limit = Absent::unsupported;
  card.fan_speed = Absent::unsupported;
  card.temperature = Absent::unsupported;
  card.memory_used = 1_MiB;
  card.performance_state = std::uint64_t{8};
  const std::string drawn = render_table(host, {}, {});
  const std::size_t from = drawn.find("| N/A ");
  return drawn.substr(from, drawn.find('\n', from) - from);
}

TEST(SmiTableOf, EachGenerationPutsAbsentWattsElsewhere) {
  EXPECT_EQ(silent_card_drawn_by("525.125.06"),
            "| N/A   N/A    P8    N/A /  N/A |      1MiB /  8192MiB |      0%      Default |");
  EXPECT_EQ(silent_card_drawn_by("535.183.01"),
            "| N/A   N/A    P8              N/A /  N/A |      1MiB /  8192MiB |      0%      "
            "Default |");
  for (const char* driver : {"550.163.01", "565.57.01"}) {
    EXPECT_EQ(silent_card_drawn_by(driver),
              "| N/A   N/A    P8             N/A /  N/A  |       1MiB /   8192MiB |      0%      "
              "Default |")
        << driver;
  }
  for (const char* driver : {"570.133.20", "580.65.06", "610.43.02"}) {
    EXPECT_EQ(silent_card_drawn_by(driver),
              "| N/A   N/A    P8            N/A  /  N/A  |       1MiB /   8192MiB |      0%      "
              "Default |")
        << driver;
  }
}

}  // namespace
}  // namespace berth::smi
