#include "cards/card.h"

#include <array>

namespace berth {

namespace {

constexpr std::string_view pcie3 = "PCIe 3.0 x16";
constexpr std::string_view pcie4 = "PCIe 4.0 x16";
constexpr std::string_view pcie4_x8 = "PCIe 4.0 x8";
constexpr std::string_view pcie5 = "PCIe 5.0 x16";
constexpr std::string_view pascal_sheet = "NVIDIA Quadro Pascal data sheets, 2016-2018";
constexpr std::string_view gv100_sheet = "NVIDIA Quadro GV100 data sheet, 2018";
constexpr std::string_view turing_sheet =
    "NVIDIA Quadro RTX data sheets, 2018-2019; Turing whitepaper WP-09183";
constexpr std::string_view ampere_sheet = "NVIDIA RTX A series data sheets, 2021-2022";
constexpr std::string_view ada_sheet = "NVIDIA RTX Ada Generation data sheets, 2022-2024";
constexpr std::string_view blackwell_sheet = "NVIDIA RTX PRO Blackwell data sheets, 2025";
constexpr unsigned ecc =
    ecc_memory | ecc_delivered;  // of servers alone: here it comes switched off
constexpr PeakRates gv100_rates = {.fp64 = 7.4, .fp32 = 14.8, .fp16 = 118.5};

// A table to be read in columns, one card a row: as card.h has its members, in that order.
// clang-format off
constexpr std::array<Card, 28> table = {{
    {"Quadro P4000",                                     "",                     "1bb1", {6, 1},  14,  8,  MemoryKind::gddr5,  256,  243,  1480, 5.3,  105, pcie3,    {},    plain,                       pascal_sheet},
    {"Quadro P5000",                                     "",                     "1bb0", {6, 1},  20,  16, MemoryKind::gddr5x, 256,  288,  1733, 8.9,  180, pcie3,    {},    ecc_memory,                  pascal_sheet},
    {"Quadro P6000",                                     "",                     "1b30", {6, 1},  30,  24, MemoryKind::gddr5x, 384,  432,  1645, 12.6, 250, pcie3,    {},    ecc_memory,                  pascal_sheet},
    {"Quadro GP100",                                     "",                     "15f0", {6, 0},  56,  16, MemoryKind::hbm2,   4096, 717,  1442, 10.3, 235, pcie3,    {},    ecc_memory | nvlink_bridges, pascal_sheet},
    {"Quadro GV100",                                     "",                     "1dba", {7, 0},  80,  32, MemoryKind::hbm2,   4096, 870,  {},   14.8, 250, pcie3,    {},    ecc_memory | nvlink_bridges, gv100_sheet, &gv100_rates},
    {"Quadro RTX 4000",                                  "",                     "1eb1", {7, 5},  36,  8,  MemoryKind::gddr6,  256,  416,  1545, 7.1,  160, pcie3,    {},    ecc_memory,                  turing_sheet},
    {"Quadro RTX 5000",                                  "",                     "1eb0", {7, 5},  48,  16, MemoryKind::gddr6,  256,  448,  1815, 11.2, 230, pcie3,    50,    ecc_memory,                  turing_sheet},
    {"Quadro RTX 6000",                                  "Quadro RTX 6000 24GB", "1e30", {7, 5},  72,  24, MemoryKind::gddr6,  384,  672,  1770, 16.3, 260, pcie3,    100,   ecc_memory,                  turing_sheet},
    {"Quadro RTX 8000",                                  "Quadro RTX 8000 48GB", "1e30", {7, 5},  72,  48, MemoryKind::gddr6,  384,  672,  1770, 16.3, 260, pcie3,    100,   ecc_memory,                  turing_sheet},
    {"RTX A2000",                                        "",                     "2531", {8, 6},  26,  6,  MemoryKind::gddr6,  192,  288,  1200, 8.0,  70,  pcie4,    {},    ecc_memory,                  ampere_sheet},
    {"RTX A2000 12GB",                                   "",                     "2571", {8, 6},  26,  12, MemoryKind::gddr6,  192,  288,  1200, 8.0,  70,  pcie4,    {},    ecc_memory,                  ampere_sheet},
    {"RTX A4000",                                        "",                     "24b0", {8, 6},  48,  16, MemoryKind::gddr6,  256,  448,  1560, 19.2, 140, pcie4,    {},    ecc_memory,                  ampere_sheet},
    {"RTX A4500",                                        "",                     "2232", {8, 6},  56,  20, MemoryKind::gddr6,  320,  640,  1650, 23.7, 200, pcie4,    112.5, ecc_memory,                  ampere_sheet},
    {"RTX A5000",                                        "",                     "2231", {8, 6},  64,  24, MemoryKind::gddr6,  384,  768,  1695, 27.8, 230, pcie4,    112.5, ecc_memory,                  ampere_sheet},
    {"RTX A5500",                                        "",                     "2233", {8, 6},  80,  24, MemoryKind::gddr6,  384,  768,  1665, 34.1, 230, pcie4,    112.5, ecc_memory,                  ampere_sheet},
    {"RTX A6000",                                        "",                     "2230", {8, 6},  84,  48, MemoryKind::gddr6,  384,  768,  1800, 38.7, 300, pcie4,    112.5, ecc_memory,                  ampere_sheet},
    {"RTX 2000 Ada Generation",                          "",                     "28b0", {8, 9},  22,  16, MemoryKind::gddr6,  128,  224,  2130, 12.0, 70,  pcie4_x8, {},    ecc_memory,                  ada_sheet},
    {"RTX 4000 SFF Ada Generation",                      "",                     "27b0", {8, 9},  48,  20, MemoryKind::gddr6,  160,  280,  1565, 19.2, 70,  pcie4,    {},    ecc_memory,                  ada_sheet},
    {"RTX 4000 Ada Generation",                          "",                     "27b2", {8, 9},  48,  20, MemoryKind::gddr6,  160,  360,  2175, 26.7, 130, pcie4,    {},    ecc_memory,                  ada_sheet},
    {"RTX 4500 Ada Generation",                          "",                     "27b1", {8, 9},  60,  24, MemoryKind::gddr6,  192,  432,  2580, 39.6, 210, pcie4,    {},    ecc_memory,                  ada_sheet},
    {"RTX 5000 Ada Generation",                          "",                     "26b2", {8, 9},  100, 32, MemoryKind::gddr6,  256,  576,  2550, 65.3, 250, pcie4,    {},    ecc_memory,                  ada_sheet},
    {"RTX 6000 Ada Generation",                          "",                     "26b1", {8, 9},  142, 48, MemoryKind::gddr6,  384,  960,  2505, 91.1, 300, pcie4,    {},    ecc_memory,                  ada_sheet},
    {"RTX PRO 4000 Blackwell",                           "",                     "2c34", {12, 0}, 70,  24, MemoryKind::gddr7,  192,  672,  {},   {},   {},  pcie5,    {},    ecc_memory,                  blackwell_sheet},
    {"RTX PRO 4500 Blackwell",                           "",                     "2c31", {12, 0}, 82,  32, MemoryKind::gddr7,  256,  896,  {},   {},   200, pcie5,    {},    ecc_memory,                  blackwell_sheet},
    {"RTX PRO 5000 Blackwell",                           "",                     "2bb3", {12, 0}, 110, 48, MemoryKind::gddr7,  384,  1344, {},   {},   300, pcie5,    {},    ecc_memory,                  blackwell_sheet},
    {"RTX PRO 6000 Blackwell Max-Q Workstation Edition", "",                     "2bb4", {12, 0}, 188, 96, MemoryKind::gddr7,  512,  1792, {},   110,  300, pcie5,    {},    ecc_memory | instances,      blackwell_sheet},
    {"RTX PRO 6000 Blackwell Server Edition",            "",                     "2bb5", {12, 0}, 188, 96, MemoryKind::gddr7,  512,  1597, {},   120,  600, pcie5,    {},    ecc | instances,             blackwell_sheet},
    {"RTX PRO 6000 Blackwell Workstation Edition",       "",                     "2bb1", {12, 0}, 188, 96, MemoryKind::gddr7,  512,  1792, {},   125,  600, pcie5,    {},    ecc_memory | instances,      blackwell_sheet},
}};
// clang-format on

}  // namespace

std::span<const Card> workstation_cards() { return table; }

}  // namespace berth
