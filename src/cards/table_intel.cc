#include "cards/card.h"

#include <array>

namespace berth {

namespace {

constexpr std::string_view card = "PCIe card";
constexpr std::string_view pcie4_x8 = "PCIe 4.0 x8";
constexpr std::string_view oam = "OAM";
// Intel's product pages were read as others quote them. What they do not quote is left out. Power
// is Intel's own where its XPU Manager has a limit for the device's PCI number.
constexpr std::string_view arc_page = "Intel, product page of the Arc A-series, as others quote it";
constexpr std::string_view arc_b_page =
    "power: github.com/intel/xpumanager, resources/config/device_thresholds.json; the rest: Intel, "
    "announcement of the Arc B-series of 2024, as others quote it";
constexpr std::string_view b580_page =
    "github.com/intel/xpumanager: power (resources/config/device_thresholds.json), Xe-cores, "
    "memory "
    "(README.md); Intel, product specifications 241598: bandwidth as Intel's plugin for OpenXLA "
    "quotes it, the rest as others do";
constexpr std::string_view flex_page =
    "power: github.com/intel/xpumanager, resources/config/device_thresholds.json; Intel, product "
    "specifications 230019: bandwidth, memory; launch of 2022: Xe-cores; as others quote them";
constexpr std::string_view max_page =
    "power: github.com/intel/xpumanager, resources/config/device_thresholds.json; Intel, product "
    "specifications 232873: memory, bandwidth; launch of 2022: Xe-cores, clock; as others quote "
    "them";
constexpr std::string_view max_1100_page =
    "power: github.com/intel/xpumanager, resources/config/device_thresholds.json; Intel, product "
    "specifications 232876: bandwidth as Intel's plugin for OpenXLA quotes it; launch of 2022: "
    "Xe-cores, memory, as others quote it";
constexpr ComputeCapability none = {};

// As card.h has its members; Xe-cores stand where NVIDIA's have multiprocessors.
// clang-format off
constexpr std::array<Card, 10> table = {{
    {"Intel Arc A310",                 "", "", none, 6,   4,   MemoryKind::gddr6, {},  124,    1750, {}, {},  card,     {}, plain, arc_page,      nullptr, "Xe-HPG"},
    {"Intel Arc A380",                 "", "", none, 8,   6,   MemoryKind::gddr6, {},  186,    2000, {}, 75,  card,     {}, plain, arc_page,      nullptr, "Xe-HPG"},
    {"Intel Arc A580",                 "", "", none, 24,  8,   MemoryKind::gddr6, 256, 512,    1700, {}, {},  card,     {}, plain, arc_page,      nullptr, "Xe-HPG"},
    {"Intel Arc A750",                 "", "", none, 28,  8,   MemoryKind::gddr6, 256, 512,    2050, {}, 225, card,     {}, plain, arc_page,      nullptr, "Xe-HPG"},
    {"Intel Arc A770",                 "", "", none, 32,  16,  MemoryKind::gddr6, 256, 560,    2100, {}, 225, card,     {}, plain, arc_page,      nullptr, "Xe-HPG"},
    {"Intel Arc B570",                 "", "", none, 18,  10,  MemoryKind::gddr6, 160, 380,    {},   {}, 150, pcie4_x8, {}, plain, arc_b_page,    nullptr, "Xe2-HPG"},
    {"Intel Arc B580",                 "", "", none, 20,  12,  MemoryKind::gddr6, 192, 456,    2670, {}, 190, pcie4_x8, {}, plain, b580_page,     nullptr, "Xe2-HPG"},
    {"Intel Data Center GPU Flex 170", "", "", none, 32,  16,  MemoryKind::gddr6, {},  576,    {},   {}, 150, card,     {}, plain, flex_page,     nullptr, "Xe-HPG"},
    {"Intel Data Center GPU Max 1100", "", "", none, 56,  48,  MemoryKind::hbm2e, {},  1228.8, {},   {}, 300, card,     {}, plain, max_1100_page, nullptr, "Xe-HPC"},
    {"Intel Data Center GPU Max 1550", "", "", none, 128, 128, MemoryKind::hbm2e, {},  3276.8, 1600, {}, 600, oam,      {}, plain, max_page,      nullptr, "Xe-HPC"},
}};
// clang-format on

}  // namespace

std::span<const Card> intel_cards() { return table; }

}  // namespace berth
