#include "cards/card.h"

#include <array>

namespace berth {

namespace {

constexpr std::string_view card = "PCIe card";
// AMD's product pages were read as others quote them. What they do not quote is left out.
constexpr std::string_view site =
    "ROCm documentation: memory, compute units; bandwidth, clock, power: AMD, product page, "
    "as others quote it";
// AMD's own words on these cards were found nowhere else.
constexpr std::string_view rocm = "ROCm documentation, GPU hardware specifications";
constexpr ComputeCapability none = {};

// As card.h has its members; compute units stand where NVIDIA's have multiprocessors.
// clang-format off
constexpr std::array<Card, 29> table = {{
    {"AMD Radeon PRO V620",       "",          "", none, 72, 32, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 2"},
    {"AMD Radeon PRO W6600",      "",          "", none, 28, 8,  {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 2"},
    {"AMD Radeon PRO W6800",   "",         "", none, 60, 32, MemoryKind::gddr6, {},  512, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6600",     "",         "", none, 28, 8,  MemoryKind::gddr6, {},  224, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6600 XT",  "RX 6600XT",  "", none, 32, 8,  MemoryKind::gddr6, {},  256, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6650 XT",  "RX 6650XT",  "", none, 32, 8,  MemoryKind::gddr6, {},  280, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6700",        "",          "", none, 36, 10, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6700 XT",  "RX 6700XT",  "", none, 40, 12, MemoryKind::gddr6, {},  384, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6750 XT",  "RX 6750XT",  "", none, 40, 12, MemoryKind::gddr6, 192, 432, 2600, {},    250, card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6800",     "",         "", none, 60, 16, MemoryKind::gddr6, {},  512, {},   {},    250, card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6800 XT",  "RX 6800XT",  "", none, 72, 16, MemoryKind::gddr6, {},  512, {},   {},    300, card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6900 XT",  "RX 6900XT",  "", none, 80, 16, MemoryKind::gddr6, {},  512, {},   {},    300, card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon RX 6950 XT",  "RX 6950XT",  "", none, 80, 16, MemoryKind::gddr6, 256, 576, 2310, 23.65, 335, card, {}, plain, site, nullptr, "RDNA 2"},
    {"AMD Radeon PRO V710",       "",          "", none, 54, 28, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 3"},
    {"AMD Radeon PRO W7700",      "",          "", none, 48, 16, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 3"},
    {"AMD Radeon PRO W7800",   "",         "", none, 70, 32, MemoryKind::gddr6, {},  576, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon PRO W7900",   "",         "", none, 96, 48, MemoryKind::gddr6, {},  864, {},   {},    {},  card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7600",     "",         "", none, 32, 8,  MemoryKind::gddr6, 128, 288, 2625, 21.75, 165, card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7600 XT",  "RX 7600XT",  "", none, 32, 16, MemoryKind::gddr6, 128, 288, {},   {},    190, card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7700 XT",     "RX 7700XT", "", none, 54, 12, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7800 XT",  "RX 7800XT",  "", none, 60, 16, MemoryKind::gddr6, {},  624, {},   {},    263, card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7900 GRE", "",         "", none, 80, 16, MemoryKind::gddr6, {},  576, {},   {},    260, card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7900 XT",  "RX 7900XT",  "", none, 84, 20, MemoryKind::gddr6, {},  800, 2400, 52,    315, card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 7900 XTX", "RX 7900XTX", "", none, 96, 24, MemoryKind::gddr6, {},  960, 2500, 61,    355, card, {}, plain, site, nullptr, "RDNA 3"},
    {"AMD Radeon RX 9060 XT",  "RX 9060XT",  "", none, 32, 16, MemoryKind::gddr6, {},  320, {},   {},    160, card, {}, plain, site, nullptr, "RDNA 4"},
    {"AMD Radeon RX 9070",     "",         "", none, 56, 16, MemoryKind::gddr6, {},  640, {},   {},    220, card, {}, plain, site, nullptr, "RDNA 4"},
    {"AMD Radeon RX 9070 GRE",    "",          "", none, 48, 16, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 4"},
    {"AMD Radeon RX 9070 XT",  "RX 9070XT",  "", none, 64, 16, MemoryKind::gddr6, 256, 640, 2970, {},    304, card, {}, plain, site, nullptr, "RDNA 4"},
    {"AMD Radeon AI PRO R9700",   "",          "", none, 64, 32, {},                {},  {},  {},   {},    {},  card, {}, plain, rocm, nullptr, "RDNA 4"},
}};
// clang-format on

}  // namespace

std::span<const Card> radeon_cards() { return table; }

}  // namespace berth
