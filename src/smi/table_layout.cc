#include "smi/table_layout.h"

namespace berth::smi {

namespace {

constexpr HeadingLayout heading_390 = {23, "Driver Version: ", 26, "", 0};
constexpr HeadingLayout heading_410 = {13, "Driver Version: ", 13, "CUDA Version: ", 9};
constexpr HeadingLayout heading_530 = {23, "Driver Version: ", 13, "CUDA Version: ", 9};
constexpr HeadingLayout heading_550 = {23, "Driver Version: ", 15, "CUDA Version: ", 9};
constexpr HeadingLayout heading_610 = {23, "KMD Version: ", 14, "CUDA UMD Version: ", 9};

constexpr std::string_view under_390 =
    "|-------------------------------+----------------------+----------------------+";
constexpr std::string_view under_530 =
    "|-----------------------------------------+----------------------+----------------------+";
constexpr std::string_view under_550 =
    "|-----------------------------------------+------------------------+----------------------+";
constexpr std::string_view under_580 =
    "+-----------------------------------------+------------------------+----------------------+";

constexpr Titles titles_of_gpu_390 = {
    "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |",
    "|                               |                      |               MIG M. |",
};
constexpr GpuLayout gpu_390 = {
    .cells = {31, 22, 22},
    .titles = titles_of_gpu_390,
    .name = 18,
    .before_persistence = 2,
    .draw_end = 23,
    .cap = 4,
    .draw_gap = false,
    .cap_gap = false,
    .memory_used = 10,
    .memory_total = 8,
};
constexpr Titles titles_of_gpu_530 = {
    "| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |",
    "|                                         |                      |               MIG M. |",
};
constexpr GpuLayout gpu_530 = {
    .cells = {41, 22, 22},
    .titles = titles_of_gpu_530,
    .name = 27,
    .before_persistence = 4,
    .draw_end = 33,
    .cap = 4,
    .draw_gap = false,
    .cap_gap = false,
    .memory_used = 10,
    .memory_total = 8,
};
constexpr Titles titles_of_gpu_550 = {
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
    "|                                         |                        |               MIG M. |",
};
constexpr GpuLayout gpu_550 = {
    .cells = {41, 24, 22},
    .titles = titles_of_gpu_550,
    .name = 27,
    .before_persistence = 4,
    .draw_end = 32,
    .cap = 5,
    .draw_gap = false,
    .cap_gap = true,
    .memory_used = 11,
    .memory_total = 9,
};
constexpr GpuLayout gpu_570 = [] {
  GpuLayout layout = gpu_550;
  layout.draw_gap = true;
  return layout;
}();

constexpr MigLayout no_mig = {{}, {}, 0, 0, false};
constexpr Titles titles_of_mig_450 = {
    "| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |",
    "|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|",
    "|                  |                      |        ECC|                       |",
};
constexpr MigLayout mig_450 = {
    .cells = {18, 22, 11, 23},
    .titles = titles_of_mig_450,
    .used = 10,
    .bar1_used = 10,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_530 = {
    "| GPU  GI  CI  MIG |                   Memory-Usage |        Vol|      Shared           |",
    "|      ID  ID  Dev |                     BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |",
    "|                  |                                |        ECC|                       |",
};
constexpr MigLayout mig_530 = {
    .cells = {18, 32, 11, 23},
    .titles = titles_of_mig_530,
    .used = 19,
    .bar1_used = 19,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_550 = {
    "| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|      Shared           |",
    "|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |",
    "|                  |                                  |        ECC|                       |",
};
constexpr MigLayout mig_550 = {
    .cells = {18, 34, 11, 23},
    .titles = titles_of_mig_550,
    .used = 19,
    .bar1_used = 21,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_560 = {
    "| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |",
    "|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |",
    "|                  |                                  |        ECC|                       |",
};
constexpr MigLayout mig_560 = {
    .cells = {18, 34, 11, 23},
    .titles = titles_of_mig_560,
    .used = 19,
    .bar1_used = 21,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_580 = {
    "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |",
    "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |",
    "|                  |                                  |        ECC|                       |",
};
constexpr MigLayout mig_580 = {
    .cells = {18, 34, 11, 23},
    .titles = titles_of_mig_580,
    .used = 19,
    .bar1_used = 19,
    .shows_mig = true,
};

constexpr Titles titles_of_processes_390 = {
    "| Processes:                                                       GPU Memory |",
    "|  GPU       PID   Type   Process name                             Usage      |",
    "",
};
constexpr ProcessLayout processes_390 = {
    .titles = titles_of_processes_390,
    .instances = false,
    .pid = 10,
    .name = 42,
    .memory = 9,
};
constexpr Titles titles_of_processes_450 = {
    "| Processes:                                                                  |",
    "|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |",
    "|        ID   ID                                                   Usage      |",
};
constexpr ProcessLayout processes_450 = {
    .titles = titles_of_processes_450,
    .instances = true,
    .pid = 10,
    .name = 28,
    .memory = 12,
};
constexpr Titles titles_of_processes_530 = {
    "| Processes:                                                                            |",
    "|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |",
    "|        ID   ID                                                             Usage      |",
};
constexpr ProcessLayout processes_530 = {
    .titles = titles_of_processes_530,
    .instances = true,
    .pid = 10,
    .name = 38,
    .memory = 12,
};
constexpr Titles titles_of_processes_550 = {
    "| Processes:                                                                              |",
    "|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |",
    "|        ID   ID                                                               Usage      |",
};
constexpr ProcessLayout processes_550 = {
    .titles = titles_of_processes_550,
    .instances = true,
    .pid = 10,
    .name = 38,
    .memory = 14,
};
constexpr Titles titles_of_processes_570 = {
    "| Processes:                                                                              |",
    "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
    "|        ID   ID                                                               Usage      |",
};
constexpr ProcessLayout processes_570 = {
    .titles = titles_of_processes_570,
    .instances = true,
    .pid = 16,
    .name = 32,
    .memory = 14,
};

constexpr auto layouts = std::to_array<TableLayout>({
    {0, heading_390, under_390, gpu_390, no_mig, processes_390, 79},
    {410, heading_410, under_390, gpu_390, no_mig, processes_390, 79},
    {450, heading_410, under_390, gpu_390, mig_450, processes_450, 79},
    {530, heading_530, under_530, gpu_530, mig_530, processes_530, 89},
    {550, heading_550, under_550, gpu_550, mig_550, processes_550, 89},
    {560, heading_550, under_550, gpu_550, mig_560, processes_550, 89},
    {570, heading_550, under_550, gpu_570, mig_560, processes_570, 89},
    {580, heading_550, under_580, gpu_570, mig_580, processes_570, 0},
    {610, heading_610, under_580, gpu_570, mig_580, processes_570, 0},
});

}  // namespace

const TableLayout& layout_of(int generation) {
  const TableLayout* found = layouts.data();
  for (const TableLayout& layout : layouts) {
    if (layout.from <= generation) found = &layout;
  }
  return *found;
}

}  // namespace berth::smi
