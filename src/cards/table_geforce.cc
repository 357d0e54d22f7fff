#include "cards/card.h"

#include <array>

namespace berth {

namespace {

constexpr std::string_view pcie3 = "PCIe 3.0 x16";
constexpr std::string_view pcie4 = "PCIe 4.0 x16";
constexpr std::string_view pcie4_x8 = "PCIe 4.0 x8";
constexpr std::string_view pcie5 = "PCIe 5.0 x16";
constexpr std::string_view pcie5_x8 = "PCIe 5.0 x8";
constexpr std::string_view site = "NVIDIA, product specifications, geforce.com and nvidia.com";
constexpr std::string_view gp104_paper = "NVIDIA GeForce GTX 1080 whitepaper, 2016, table 1";
constexpr std::string_view turing_paper =
    "NVIDIA Turing GPU Architecture whitepaper WP-09183, 2018";
constexpr std::string_view ga102_paper =
    "NVIDIA Ampere GA102 GPU Architecture whitepaper, 2021, appendix";
constexpr std::string_view ada_paper = "NVIDIA Ada GPU Architecture whitepaper, 2023, appendix";
constexpr std::string_view blackwell_paper =
    "NVIDIA RTX Blackwell GPU Architecture whitepaper, 2025, appendix";
constexpr PeakRates titan_v_rates = {.fp64 = 7.45, .fp32 = 14.9, .fp16 = 110};

// A table to be read in columns, one card a row: as card.h has its members, in that order.
// clang-format off
constexpr std::array<Card, 55> table = {{
    {"GeForce GTX 970",           "",                         "13c2",           {5, 2},  13,  4,  MemoryKind::gddr5,  256,  224,   1178, {},    145, pcie3,    {},    plain,                        site},
    {"GeForce GTX 980",           "",                         "13c0",           {5, 2},  16,  4,  MemoryKind::gddr5,  256,  224,   1216, {},    165, pcie3,    {},    plain,                        site},
    {"GeForce GTX 980 Ti",        "",                         "17c8",           {5, 2},  22,  6,  MemoryKind::gddr5,  384,  336.5, 1075, {},    250, pcie3,    {},    plain,                        site},
    {"GeForce GTX TITAN X",       "",                         "17c2",           {5, 2},  24,  12, MemoryKind::gddr5,  384,  336.5, 1075, {},    250, pcie3,    {},    plain,                        site},
    {"GeForce GTX 1050",          "",                         "1c81",           {6, 1},  5,   2,  MemoryKind::gddr5,  128,  112,   1455, {},    75,  pcie3,    {},    plain,                        site},
    {"GeForce GTX 1050 Ti",       "",                         "1c82",           {6, 1},  6,   4,  MemoryKind::gddr5,  128,  112,   1392, {},    75,  pcie3,    {},    plain,                        site},
    {"GeForce GTX 1060 3GB",      "",                         "1c02",           {6, 1},  9,   3,  MemoryKind::gddr5,  192,  192,   1708, {},    120, pcie3,    {},    plain,                        site},
    {"GeForce GTX 1060 6GB",      "",                         "1c03",           {6, 1},  10,  6,  MemoryKind::gddr5,  192,  192,   1708, {},    120, pcie3,    {},    plain,                        site},
    {"GeForce GTX 1070",          "",                         "1b81",           {6, 1},  15,  8,  MemoryKind::gddr5,  256,  256,   1683, {},    150, pcie3,    {},    plain,                        site},
    {"GeForce GTX 1070 Ti",       "",                         "1b82",           {6, 1},  19,  8,  MemoryKind::gddr5,  256,  256,   1683, {},    180, pcie3,    {},    plain,                        site},
    {"GeForce GTX 1080",          "",                         "1b80",           {6, 1},  20,  8,  MemoryKind::gddr5x, 256,  320,   1733, 8.873, 180, pcie3,    {},    plain,                        gp104_paper},
    {"GeForce GTX 1080 Ti",       "",                         "1b06",           {6, 1},  28,  11, MemoryKind::gddr5x, 352,  484,   1582, {},    250, pcie3,    {},    plain,                        site},
    {"TITAN X (Pascal)",          "",                         "1b00",           {6, 1},  28,  12, MemoryKind::gddr5x, 384,  480,   1531, {},    250, pcie3,    {},    plain,                        site},
    {"TITAN Xp",                  "",                         "1b02",           {6, 1},  30,  12, MemoryKind::gddr5x, 384,  547.7, 1582, {},    250, pcie3,    {},    plain,                        site},
    // It publishes 110 tensor teraflops, at a clock below this one.
    {"TITAN V",                   "",                         "1d81",           {7, 0},  80,  12, MemoryKind::hbm2,   3072, 652.8, 1455, {},    250, pcie3,    {},    plain,                        site, &titan_v_rates},
    {"GeForce GTX 1650",          "",                         "1f82",           {7, 5},  14,  4,  MemoryKind::gddr5,  128,  128,   1665, {},    75,  pcie3,    {},    no_tensor_cores,              site},
    {"GeForce GTX 1650 SUPER",    "",                         "2187",           {7, 5},  20,  4,  MemoryKind::gddr6,  128,  192,   1725, {},    100, pcie3,    {},    no_tensor_cores,              site},
    {"GeForce GTX 1660",          "",                         "2184",           {7, 5},  22,  6,  MemoryKind::gddr5,  192,  192,   1785, {},    120, pcie3,    {},    no_tensor_cores,              site},
    {"GeForce GTX 1660 SUPER",    "",                         "21c4",           {7, 5},  22,  6,  MemoryKind::gddr6,  192,  336,   1785, {},    125, pcie3,    {},    no_tensor_cores,              site},
    {"GeForce GTX 1660 Ti",       "",                         "2182",           {7, 5},  24,  6,  MemoryKind::gddr6,  192,  288,   1770, {},    120, pcie3,    {},    no_tensor_cores,              site},
    {"GeForce RTX 2060",          "",                         "1f08",           {7, 5},  30,  6,  MemoryKind::gddr6,  192,  336,   1680, {},    160, pcie3,    {},    half_accumulate,              site},
    {"GeForce RTX 2060 SUPER",    "",                         "1f06",           {7, 5},  34,  8,  MemoryKind::gddr6,  256,  448,   1650, {},    175, pcie3,    {},    half_accumulate,              site},
    {"GeForce RTX 2070",          "",                         "1f02 1f07",      {7, 5},  36,  8,  MemoryKind::gddr6,  256,  448,   1620, 7.5,   175, pcie3,    {},    half_accumulate,              turing_paper},
    {"GeForce RTX 2070 SUPER",    "",                         "1e84",           {7, 5},  40,  8,  MemoryKind::gddr6,  256,  448,   1770, {},    215, pcie3,    50,    half_accumulate,              site},
    {"GeForce RTX 2080",          "",                         "1e82 1e87",      {7, 5},  46,  8,  MemoryKind::gddr6,  256,  448,   1710, 10.1,  215, pcie3,    50,    half_accumulate,              turing_paper},
    {"GeForce RTX 2080 SUPER",    "",                         "1e81",           {7, 5},  48,  8,  MemoryKind::gddr6,  256,  496,   1815, {},    250, pcie3,    50,    half_accumulate,              site},
    {"GeForce RTX 2080 Ti",       "",                         "1e04 1e07",      {7, 5},  68,  11, MemoryKind::gddr6,  352,  616,   1545, 13.4,  250, pcie3,    100,   half_accumulate,              turing_paper},
    {"TITAN RTX",                 "",                         "1e02",           {7, 5},  72,  24, MemoryKind::gddr6,  384,  672,   1770, 16.3,  280, pcie3,    100,   plain,                        site},
    {"GeForce RTX 3050",          "",                         "2507",           {8, 6},  20,  8,  MemoryKind::gddr6,  128,  224,   1777, {},    130, pcie4_x8, {},    half_accumulate,              site},
    {"GeForce RTX 3060",          "",                         "2503 2504 2487", {8, 6},  28,  12, MemoryKind::gddr6,  192,  360,   1777, {},    170, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 3060 Ti",       "",                         "2486 2489",      {8, 6},  38,  8,  MemoryKind::gddr6,  256,  448,   1665, {},    200, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 3070",          "",                         "2484 2488",      {8, 6},  46,  8,  MemoryKind::gddr6,  256,  448,   1725, 20.3,  220, pcie4,    {},    half_accumulate,              ga102_paper},
    {"GeForce RTX 3070 Ti",       "",                         "2482",           {8, 6},  48,  8,  MemoryKind::gddr6x, 256,  608,   1770, {},    290, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 3080",          "",                         "2206 2216",      {8, 6},  68,  10, MemoryKind::gddr6x, 320,  760,   1710, 29.8,  320, pcie4,    {},    half_accumulate,              ga102_paper},
    {"GeForce RTX 3080",          "GeForce RTX 3080 12GB",    "220a",           {8, 6},  70,  12, MemoryKind::gddr6x, 384,  912,   1710, {},    350, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 3080 Ti",       "",                         "2208",           {8, 6},  80,  12, MemoryKind::gddr6x, 384,  912,   1665, {},    350, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 3090",          "",                         "2204",           {8, 6},  82,  24, MemoryKind::gddr6x, 384,  936,   1695, 35.6,  350, pcie4,    112.5, half_accumulate,              ga102_paper},
    {"GeForce RTX 3090 Ti",       "",                         "2203",           {8, 6},  84,  24, MemoryKind::gddr6x, 384,  1008,  1860, 40.0,  450, pcie4,    112.5, half_accumulate | ecc_memory, ada_paper},
    {"GeForce RTX 4060",          "",                         "2882",           {8, 9},  24,  8,  MemoryKind::gddr6,  128,  272,   2460, {},    115, pcie4_x8, {},    half_accumulate,              site},
    {"GeForce RTX 4060 Ti",       "",                         "2803",           {8, 9},  34,  8,  MemoryKind::gddr6,  128,  288,   2535, {},    160, pcie4_x8, {},    half_accumulate,              site},
    {"GeForce RTX 4060 Ti",       "GeForce RTX 4060 Ti 16GB", "2805",           {8, 9},  34,  16, MemoryKind::gddr6,  128,  288,   2535, {},    165, pcie4_x8, {},    half_accumulate,              site},
    {"GeForce RTX 4070",          "",                         "2786",           {8, 9},  46,  12, MemoryKind::gddr6x, 192,  504,   2475, {},    200, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 4070 SUPER",    "",                         "2783",           {8, 9},  56,  12, MemoryKind::gddr6x, 192,  504,   2475, {},    220, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 4070 Ti",       "",                         "2782",           {8, 9},  60,  12, MemoryKind::gddr6x, 192,  504,   2610, 40.1,  285, pcie4,    {},    half_accumulate,              ada_paper},
    {"GeForce RTX 4070 Ti SUPER", "",                         "2705",           {8, 9},  66,  16, MemoryKind::gddr6x, 256,  672,   2610, {},    285, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 4080",          "",                         "2704",           {8, 9},  76,  16, MemoryKind::gddr6x, 256,  716.8, 2505, 48.7,  320, pcie4,    {},    half_accumulate,              ada_paper},
    {"GeForce RTX 4080 SUPER",    "",                         "2702",           {8, 9},  80,  16, MemoryKind::gddr6x, 256,  736,   2550, {},    320, pcie4,    {},    half_accumulate,              site},
    {"GeForce RTX 4090",          "",                         "2684",           {8, 9},  128, 24, MemoryKind::gddr6x, 384,  1008,  2520, 82.6,  450, pcie4,    {},    half_accumulate | ecc_memory, ada_paper},
    {"GeForce RTX 5060",          "",                         "2d05",           {12, 0}, 30,  8,  MemoryKind::gddr7,  128,  448,   2497, {},    145, pcie5_x8, {},    half_accumulate,              site},
    {"GeForce RTX 5060 Ti",       "GeForce RTX 5060 Ti 8GB",  "",               {12, 0}, 36,  8,  MemoryKind::gddr7,  128,  448,   2572, {},    180, pcie5_x8, {},    half_accumulate,              site},
    {"GeForce RTX 5060 Ti",       "GeForce RTX 5060 Ti 16GB", "2d04",           {12, 0}, 36,  16, MemoryKind::gddr7,  128,  448,   2572, {},    180, pcie5_x8, {},    half_accumulate,              site},
    {"GeForce RTX 5070",          "",                         "2f04",           {12, 0}, 48,  12, MemoryKind::gddr7,  192,  672,   2512, 30.9,  250, pcie5,    {},    half_accumulate,              blackwell_paper},
    {"GeForce RTX 5070 Ti",       "",                         "2c05",           {12, 0}, 70,  16, MemoryKind::gddr7,  256,  896,   2452, 43.9,  300, pcie5,    {},    half_accumulate,              blackwell_paper},
    {"GeForce RTX 5080",          "",                         "2c02",           {12, 0}, 84,  16, MemoryKind::gddr7,  256,  960,   2617, 56.3,  360, pcie5,    {},    half_accumulate,              blackwell_paper},
    {"GeForce RTX 5090",          "",                         "2b85",           {12, 0}, 170, 32, MemoryKind::gddr7,  512,  1792,  2407, 104.8, 575, pcie5,    {},    half_accumulate,              blackwell_paper},
}};
// clang-format on

}  // namespace

std::span<const Card> geforce_cards() { return table; }

}  // namespace berth
