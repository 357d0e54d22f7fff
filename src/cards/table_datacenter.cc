#include "cards/card.h"

#include <array>

namespace berth {

namespace {

constexpr std::string_view pcie3 = "PCIe 3.0 x16";
constexpr std::string_view pcie4 = "PCIe 4.0 x16";
constexpr std::string_view pcie4_x8 = "PCIe 4.0 x8";
constexpr std::string_view pcie5 = "PCIe 5.0 x16";
constexpr std::string_view two = "PCIe 3.0 x16, two GPUs on a board";
constexpr std::string_view four = "PCIe 4.0 x16, four GPUs on a board";
constexpr std::string_view sxm2 = "SXM2";
constexpr std::string_view sxm4 = "SXM4";
constexpr std::string_view sxm5 = "SXM5";
constexpr std::string_view sxm6 = "SXM6";
constexpr std::string_view superchip = "superchip";
constexpr std::string_view module = "Jetson module";
constexpr std::string_view kepler_sheet = "NVIDIA Tesla K80 board specification BD-07317, 2015";
constexpr std::string_view maxwell_sheet = "NVIDIA Tesla M40 and M60 data sheets, 2015-2016";
constexpr std::string_view pascal_sheet = "NVIDIA Tesla P4 and P40 data sheets, 2016";
constexpr std::string_view p100_paper =
    "NVIDIA Tesla P100 whitepaper WP-08019, 2016; P100 PCIe data sheet";
constexpr std::string_view v100_sheet =
    "NVIDIA V100 data sheet, 2020; Tesla V100 whitepaper WP-08608, 2017";
constexpr std::string_view t4_sheet = "NVIDIA T4 data sheet, 2019; Turing whitepaper WP-09183";
constexpr std::string_view ampere_sheet = "NVIDIA A2, A10, A16, A30 and A40 data sheets, 2021-2022";
constexpr std::string_view a10g = "NVIDIA A10G data sheet; Amazon EC2 G5, 2021";
constexpr std::string_view a100_sheet = "NVIDIA A100 data sheet, 2021; A100 whitepaper, 2020";
constexpr std::string_view a800_sheet = "NVIDIA A800 data sheet, 2022";
constexpr std::string_view ada_sheet = "NVIDIA L4, L40 and L40S data sheets, 2023";
constexpr std::string_view l20_sheet = "NVIDIA L20 and H20 product briefs, 2023";
// The press gave 400 W before it was sold.
constexpr std::string_view h20_sheet =
    "NVIDIA L20 and H20 product briefs, 2023; power limit: nvidia-smi of five machines, 2024-2026";
constexpr std::string_view h100_sheet =
    "NVIDIA H100 data sheet, 2024; H100 whitepaper, 2022, table 3";
constexpr std::string_view h800_sheet = "NVIDIA H800 product brief, 2023";
constexpr std::string_view h200_sheet = "NVIDIA H200 data sheet, 2024";
constexpr std::string_view gh200_sheet = "NVIDIA GH200 Grace Hopper data sheet, 2023";
constexpr std::string_view b200_sheet =
    "NVIDIA HGX B200 and B300 data sheet, 2025, an eighth of the system";
constexpr std::string_view gb200_sheet = "NVIDIA GB200 NVL72 data sheet, 2025, of one GPU";
constexpr std::string_view orin_brief = "NVIDIA Jetson AGX Orin technical brief, 2022";
// On all of these error correction is switched on as they come.
constexpr unsigned ecc = ecc_memory | ecc_delivered;
// Products of integers go at half the rate as well, which clocks do not tell.
constexpr PeakRates a10g_rates = {
    .fp64 = 0.55, .fp32 = 35, .tf32 = 35, .fp16 = 70, .bf16 = 70, .int8 = 140};
constexpr PeakRates l20_rates = {.fp64 = 0.93,
                                 .fp32 = 59.8,
                                 .tf32 = 59.8,
                                 .fp16 = 119.5,
                                 .bf16 = 119.5,
                                 .fp8 = 239,
                                 .int8 = 239};
constexpr PeakRates l40_rates = {
    .fp64 = 1.41, .fp32 = 90.5, .tf32 = 90.5, .fp16 = 181, .bf16 = 181, .fp8 = 362, .int8 = 362};
constexpr PeakRates h100_sxm_rates = {.fp64 = 34,
                                      .fp64_tensor = 67,
                                      .fp32 = 67,
                                      .tf32 = 494.7,
                                      .fp16 = 989.4,
                                      .bf16 = 989.4,
                                      .fp8 = 1978.9,
                                      .int8 = 1978.9};
constexpr PeakRates h100_pcie_rates = {.fp64 = 25.6,
                                       .fp64_tensor = 51.2,
                                       .fp32 = 51.2,
                                       .tf32 = 378,
                                       .fp16 = 756,
                                       .bf16 = 756,
                                       .fp8 = 1513,
                                       .int8 = 1513};
constexpr PeakRates h100_nvl_rates = {.fp64 = 30,
                                      .fp64_tensor = 60,
                                      .fp32 = 60,
                                      .tf32 = 417.5,
                                      .fp16 = 835.5,
                                      .bf16 = 835.5,
                                      .fp8 = 1670.5,
                                      .int8 = 1670.5};
constexpr PeakRates h800_rates = {.fp64 = 1,
                                  .fp64_tensor = 1,
                                  .fp32 = 67,
                                  .tf32 = 494.7,
                                  .fp16 = 989.4,
                                  .bf16 = 989.4,
                                  .fp8 = 1978.9,
                                  .int8 = 1978.9};
constexpr PeakRates h20_rates = {.fp64 = 1,
                                 .fp64_tensor = 1,
                                 .fp32 = 44,
                                 .tf32 = 74,
                                 .fp16 = 148,
                                 .bf16 = 148,
                                 .fp8 = 296,
                                 .int8 = 296};
constexpr PeakRates b200_rates = {.fp64 = 37,
                                  .fp32 = 75,
                                  .tf32 = 1125,
                                  .fp16 = 2250,
                                  .bf16 = 2250,
                                  .fp8 = 4500,
                                  .int8 = 4500,
                                  .fp4 = 9000};
constexpr PeakRates b300_rates = {
    .fp64 = 1.25, .fp32 = 75, .tf32 = 1125, .fp16 = 2250, .bf16 = 2250, .fp8 = 4500, .fp4 = 13500};
constexpr PeakRates gb200_rates = {.fp64 = 40,
                                   .fp32 = 80,
                                   .tf32 = 1250,
                                   .fp16 = 2500,
                                   .bf16 = 2500,
                                   .fp8 = 5000,
                                   .int8 = 5000,
                                   .fp4 = 10000};

// A table to be read in columns, one card a row: as card.h has its members, in that order.
// clang-format off
constexpr std::array<Card, 43> table = {{
    {"Tesla K80",             "",                       "102d", {3, 7},  13,  12,  MemoryKind::gddr5,  384,  240,   875,  4.37, 150,  two,       {},    ecc,                            kepler_sheet},
    {"Tesla M40",             "",                       "17fd", {5, 2},  24,  12,  MemoryKind::gddr5,  384,  288,   1114, 6.8,  250,  pcie3,     {},    ecc,                            maxwell_sheet},
    {"Tesla M40 24GB",        "",                       "",     {5, 2},  24,  24,  MemoryKind::gddr5,  384,  288,   1114, 6.8,  250,  pcie3,     {},    ecc,                            maxwell_sheet},
    {"Tesla M60",             "",                       "13f2", {5, 2},  16,  8,   MemoryKind::gddr5,  256,  160,   1178, 4.8,  150,  two,       {},    ecc,                            maxwell_sheet},
    {"Tesla P4",              "",                       "1bb3", {6, 1},  20,  8,   MemoryKind::gddr5,  256,  192,   1063, 5.5,  75,   pcie3,     {},    ecc,                            pascal_sheet},
    {"Tesla P40",             "",                       "1b38", {6, 1},  30,  24,  MemoryKind::gddr5,  384,  346,   1531, 12.0, 250,  pcie3,     {},    ecc,                            pascal_sheet},
    {"Tesla P100-PCIE-12GB",  "",                       "15f7", {6, 0},  56,  12,  MemoryKind::hbm2,   3072, 549,   1303, 9.3,  250,  pcie3,     {},    ecc,                            p100_paper},
    {"Tesla P100-PCIE-16GB",  "",                       "15f8", {6, 0},  56,  16,  MemoryKind::hbm2,   4096, 732,   1303, 9.3,  250,  pcie3,     {},    ecc,                            p100_paper},
    {"Tesla P100-SXM2-16GB",  "",                       "15f9", {6, 0},  56,  16,  MemoryKind::hbm2,   4096, 732,   1480, 10.6, 300,  sxm2,      160,   ecc,                            p100_paper},
    {"Tesla V100-PCIE-16GB",  "",                       "1db4", {7, 0},  80,  16,  MemoryKind::hbm2,   4096, 900,   1380, 14.0, 250,  pcie3,     {},    ecc,                            v100_sheet},
    {"Tesla V100-PCIE-32GB",  "",                       "1db6", {7, 0},  80,  32,  MemoryKind::hbm2,   4096, 900,   1380, 14.0, 250,  pcie3,     {},    ecc,                            v100_sheet},
    {"Tesla V100-SXM2-16GB",  "",                       "1db1", {7, 0},  80,  16,  MemoryKind::hbm2,   4096, 900,   1530, 15.7, 300,  sxm2,      300,   ecc,                            v100_sheet},
    {"Tesla V100-SXM2-32GB",  "",                       "1db5", {7, 0},  80,  32,  MemoryKind::hbm2,   4096, 900,   1530, 15.7, 300,  sxm2,      300,   ecc,                            v100_sheet},
    {"Tesla V100S-PCIE-32GB", "",                       "1df6", {7, 0},  80,  32,  MemoryKind::hbm2,   4096, 1134,  1597, 16.4, 250,  pcie3,     {},    ecc,                            v100_sheet},
    {"Tesla T4",              "T4",                     "1eb8", {7, 5},  40,  16,  MemoryKind::gddr6,  256,  320,   1590, 8.1,  70,   pcie3,     {},    ecc,                            t4_sheet},
    // A2 and A16 share a PCI device id: names tell them apart.
    {"A2",                    "",                       "",     {8, 6},  10,  16,  MemoryKind::gddr6,  128,  200,   1770, 4.5,  60,   pcie4_x8,  {},    ecc,                            ampere_sheet},
    {"A10",                   "",                       "2236", {8, 6},  72,  24,  MemoryKind::gddr6,  384,  600,   1695, 31.2, 150,  pcie4,     {},    ecc,                            ampere_sheet},
    {"A10G",                  "",                       "2237", {8, 6},  80,  24,  MemoryKind::gddr6,  384,  600,   1710, 35.0, 300,  pcie4,     {},    ecc | half_accumulate,          a10g, &a10g_rates},
    {"A16",                   "",                       "",     {8, 6},  10,  16,  MemoryKind::gddr6,  128,  200,   {},   4.5,  {},   four,      {},    ecc,                            ampere_sheet},
    {"A30",                   "",                       "20b7", {8, 0},  56,  24,  MemoryKind::hbm2,   3072, 933,   1440, 10.3, 165,  pcie4,     200,   ecc | instances,                ampere_sheet},
    {"A40",                   "",                       "2235", {8, 6},  84,  48,  MemoryKind::gddr6,  384,  696,   1740, 37.4, 300,  pcie4,     112.5, ecc,                            ampere_sheet},
    {"A100-PCIE-40GB",        "",                       "20f1", {8, 0},  108, 40,  MemoryKind::hbm2,   5120, 1555,  1410, 19.5, 250,  pcie4,     600,   ecc | instances,                a100_sheet},
    {"A100-SXM4-40GB",        "A100-PG509-200",         "20b0", {8, 0},  108, 40,  MemoryKind::hbm2,   5120, 1555,  1410, 19.5, 400,  sxm4,      600,   ecc | instances,                a100_sheet},
    {"A100 80GB PCIe",        "",                       "20b5", {8, 0},  108, 80,  MemoryKind::hbm2e,  5120, 1935,  1410, 19.5, 300,  pcie4,     600,   ecc | instances,                a100_sheet},
    {"A100-SXM4-80GB",        "",                       "20b2", {8, 0},  108, 80,  MemoryKind::hbm2e,  5120, 2039,  1410, 19.5, 400,  sxm4,      600,   ecc | instances,                a100_sheet},
    {"A800 80GB PCIe",        "",                       "20f5", {8, 0},  108, 80,  MemoryKind::hbm2e,  5120, 1935,  1410, 19.5, 300,  pcie4,     400,   ecc | instances,                a800_sheet},
    {"A800-SXM4-80GB",        "",                       "20f3", {8, 0},  108, 80,  MemoryKind::hbm2e,  5120, 2039,  1410, 19.5, 400,  sxm4,      400,   ecc | instances,                a800_sheet},
    {"L4",                    "",                       "27b8", {8, 9},  58,  24,  MemoryKind::gddr6,  192,  300,   2040, 30.3, 72,   pcie4,     {},    ecc,                            ada_sheet},
    {"L20",                   "",                       "26ba", {8, 9},  92,  48,  MemoryKind::gddr6,  384,  864,   2520, 59.8, 275,  pcie4,     {},    ecc | half_accumulate,          l20_sheet, &l20_rates},
    {"L40",                   "",                       "26b5", {8, 9},  142, 48,  MemoryKind::gddr6,  384,  864,   2490, 90.5, 300,  pcie4,     {},    ecc | half_accumulate,          ada_sheet, &l40_rates},
    {"L40S",                  "",                       "26b9", {8, 9},  142, 48,  MemoryKind::gddr6,  384,  864,   2520, 91.6, 350,  pcie4,     {},    ecc,                            ada_sheet},
    {"H20",                   "",                       "2329", {9, 0},  78,  96,  MemoryKind::hbm3,   6144, 4000,  {},   44,   500,  sxm5,      900,   ecc | instances | limited_fp64, h20_sheet, &h20_rates},
    {"H100 PCIe",             "",                       "2331", {9, 0},  114, 80,  MemoryKind::hbm2e,  5120, 2039,  1755, 51.2, 350,  pcie5,     600,   ecc | instances,                h100_sheet, &h100_pcie_rates},
    {"H100 80GB HBM3",        "H100 SXM|H100 SXM5",     "2330", {9, 0},  132, 80,  MemoryKind::hbm3,   5120, 3350,  1980, 67,   700,  sxm5,      900,   ecc | instances,                h100_sheet, &h100_sxm_rates},
    {"H100 NVL",              "",                       "2321", {9, 0},  132, 94,  MemoryKind::hbm3,   6016, 3938,  1785, 60,   400,  pcie5,     600,   ecc | instances,                h100_sheet, &h100_nvl_rates},
    {"H800",                  "H800 SXM|H800 SXM5",     "2324", {9, 0},  132, 80,  MemoryKind::hbm3,   5120, 3350,  1980, 67,   700,  sxm5,      400,   ecc | instances | limited_fp64, h800_sheet, &h800_rates},
    {"H200",                  "H200 SXM|H200 SXM5",     "2335", {9, 0},  132, 141, MemoryKind::hbm3e,  6144, 4800,  1980, 67,   700,  sxm5,      900,   ecc | instances,                h200_sheet, &h100_sxm_rates},
    {"H200 NVL",              "",                       "233b", {9, 0},  132, 141, MemoryKind::hbm3e,  6144, 4800,  1785, 60,   600,  pcie5,     900,   ecc | instances,                h200_sheet, &h100_nvl_rates},
    {"GH200 480GB",           "GH200 120GB|GH200 96GB", "2342", {9, 0},  132, 96,  MemoryKind::hbm3,   6144, 4000,  1980, 67,   {},   superchip, 900,   ecc | instances,                gh200_sheet, &h100_sxm_rates},
    {"B200",                  "B200 SXM",               "2901", {10, 0}, 148, 180, MemoryKind::hbm3e,  8192, 8000,  {},   75,   1000, sxm6,      1800,  ecc | instances,                b200_sheet, &b200_rates},
    {"B300 SXM6 AC",          "B300",                   "3182", {10, 3}, 148, 270, MemoryKind::hbm3e,  8192, 8000,  {},   75,   {},   sxm6,      1800,  ecc | instances,                b200_sheet, &b300_rates},
    {"GB200",                 "",                       "2941", {10, 0}, 152, 186, MemoryKind::hbm3e,  8192, 8000,  {},   80,   {},   superchip, 1800,  ecc | instances,                gb200_sheet, &gb200_rates},
    {"Orin",                  "Jetson AGX Orin 64GB",   "",     {8, 7},  16,  64,  MemoryKind::lpddr5, 256,  204.8, 1300, 5.3,  60,   module,    {},    plain,                                 orin_brief},
}};
// clang-format on

}  // namespace

std::span<const Card> datacenter_cards() { return table; }

}  // namespace berth
