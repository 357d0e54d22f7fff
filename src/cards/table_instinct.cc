#include "cards/card.h"

#include <array>

namespace berth {

namespace {

constexpr std::string_view pcie4 = "PCIe 4.0 x16";
constexpr std::string_view pcie5 = "PCIe 5.0 x16";
constexpr std::string_view oam = "OAM";
constexpr std::string_view apu = "socket SH5, with 24 CPU cores";
constexpr std::string_view mi100_paper =
    "AMD CDNA white paper, 2020, endnotes; power: AMD CDNA 2 white paper, endnotes; memory, "
    "compute units: ROCm documentation";
constexpr std::string_view mi200_paper = "AMD CDNA 2 white paper, 2022, table 1 and endnotes";
constexpr std::string_view mi300_paper = "AMD CDNA 3 white paper, 2025, table 2 and endnotes";
constexpr std::string_view mi350_page =
    "ROCm documentation: AMD Instinct MI350 Series microarchitecture";
constexpr std::string_view mi355_sheet =
    "ROCm documentation: AMD Instinct MI350 Series microarchitecture; rates and clock to the last "
    "digit: AMD Instinct MI355X GPU brochure LE-92703-00, 2025, as others quote it";
constexpr unsigned ecc = ecc_memory | ecc_delivered;
constexpr ComputeCapability none = {};

// Products of 8 and 16 bits, TF32 and the second figure of FP64 are those of matrix cores.
constexpr PeakRates mi100_rates = {
    .fp64 = 11.5, .fp32 = 23.1, .fp16 = 184.6, .bf16 = 92.3, .int8 = 184.6};
constexpr PeakRates mi210_rates = {
    .fp64 = 22.6, .fp64_tensor = 45.3, .fp32 = 22.6, .fp16 = 181, .bf16 = 181, .int8 = 181};
constexpr PeakRates mi250_rates = {
    .fp64 = 45.3, .fp64_tensor = 90.5, .fp32 = 45.3, .fp16 = 362.1, .bf16 = 362.1, .int8 = 362.1};
constexpr PeakRates mi250x_rates = {
    .fp64 = 47.9, .fp64_tensor = 95.7, .fp32 = 47.9, .fp16 = 383, .bf16 = 383, .int8 = 383};
constexpr PeakRates mi300a_rates = {.fp64 = 61.3,
                                    .fp64_tensor = 122.6,
                                    .fp32 = 122.6,
                                    .tf32 = 490.3,
                                    .fp16 = 980.6,
                                    .bf16 = 980.6,
                                    .fp8 = 1961.2,
                                    .int8 = 1961.2};
constexpr PeakRates mi300x_rates = {.fp64 = 81.7,
                                    .fp64_tensor = 163.4,
                                    .fp32 = 163.4,
                                    .tf32 = 653.7,
                                    .fp16 = 1307.4,
                                    .bf16 = 1307.4,
                                    .fp8 = 2614.9,
                                    .int8 = 2614.9};
constexpr PeakRates mi350x_rates = {.fp64 = 72.1,
                                    .fp64_tensor = 72.1,
                                    .fp32 = 144.2,
                                    .fp16 = 2300,
                                    .bf16 = 2300,
                                    .fp8 = 4600,
                                    .int8 = 4600,
                                    .fp4 = 9200};
constexpr PeakRates mi350p_rates = {.fp64 = 36,
                                    .fp64_tensor = 36,
                                    .fp32 = 72,
                                    .fp16 = 1150,
                                    .bf16 = 1150,
                                    .fp8 = 2300,
                                    .int8 = 2300,
                                    .fp4 = 4600};
constexpr PeakRates mi355x_rates = {.fp64 = 78.6,
                                    .fp64_tensor = 78.6,
                                    .fp32 = 157.3,
                                    .fp16 = 2516.6,
                                    .bf16 = 2516.6,
                                    .fp8 = 5033.2,
                                    .int8 = 5033.2,
                                    .fp4 = 10066.3};

// As card.h has its members; compute units stand where NVIDIA's have multiprocessors. Left out is
// power that depends on cooling: of an MI250, an MI250X (500 or 560 W) and an MI300A (550 or 760
// W).
// clang-format off
constexpr std::array<Card, 10> table = {{
    {"AMD Instinct MI100",  "",      "", none, 120, 32,  MemoryKind::hbm2,  4096, 1228.8, 1502, 23.1,  300,  pcie4, {}, ecc, mi100_paper, &mi100_rates,  "CDNA"},
    {"AMD Instinct MI210",  "",      "", none, 104, 64,  MemoryKind::hbm2e, 4096, 1638.4, 1700, 22.6,  300,  pcie4, {}, ecc, mi200_paper, &mi210_rates,  "CDNA 2"},
    {"AMD Instinct MI250",  "",      "", none, 208, 128, MemoryKind::hbm2e, 8192, 3276.8, 1700, 45.3,  {},   oam,   {}, ecc, mi200_paper, &mi250_rates,  "CDNA 2"},
    {"AMD Instinct MI250X", "",      "", none, 220, 128, MemoryKind::hbm2e, 8192, 3276.8, 1700, 47.9,  {},   oam,   {}, ecc, mi200_paper, &mi250x_rates, "CDNA 2"},
    {"AMD Instinct MI300A", "MI300", "", none, 228, 128, MemoryKind::hbm3,  8192, 5325,   2100, 122.6, {},   apu,   {}, ecc, mi300_paper, &mi300a_rates, "CDNA 3"},
    {"AMD Instinct MI300X", "MI300", "", none, 304, 192, MemoryKind::hbm3,  8192, 5325,   2100, 163.4, 750,  oam,   {}, ecc, mi300_paper, &mi300x_rates, "CDNA 3"},
    {"AMD Instinct MI325X", "MI325", "", none, 304, 256, MemoryKind::hbm3e, 8192, 6000,   2100, 163.4, 1000, oam,   {}, ecc, mi300_paper, &mi300x_rates, "CDNA 3"},
    {"AMD Instinct MI350P", "MI350", "", none, 128, 144, MemoryKind::hbm3e, 4096, 4000,   {},   72,    600,  pcie5, {}, ecc, mi350_page,  &mi350p_rates, "CDNA 4"},
    {"AMD Instinct MI350X", "MI350", "", none, 256, 288, MemoryKind::hbm3e, 8192, 8000,   {},   144.2, 1000, oam,   {}, ecc, mi350_page,  &mi350x_rates, "CDNA 4"},
    {"AMD Instinct MI355X", "MI355", "", none, 256, 288, MemoryKind::hbm3e, 8192, 8000,   2400, 157.3, 1400, oam,   {}, ecc, mi355_sheet, &mi355x_rates, "CDNA 4"},
}};
// clang-format on

}  // namespace

std::span<const Card> instinct_cards() { return table; }

}  // namespace berth
