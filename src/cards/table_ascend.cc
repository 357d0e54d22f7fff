#include "cards/card.h"

#include <array>

namespace berth {

namespace {

// Huawei's own configuration of its runtime, which has a file for each chip. The kind of memory,
// its bandwidth and peak rates are left out where nothing of Huawei's own says them.
constexpr std::string_view cann =
    "CANN runtime (github.com/hicann/runtime), src/platform/platform_config/cann: AI cores, clock, "
    "memory";
constexpr std::string_view cann_a =
    "CANN runtime (github.com/hicann/runtime), src/platform/platform_config/cann: AI cores, clock; "
    "memory: mind-cluster, ascend-faultdiag; rates: Huawei at Hot Chips 31, 2019, as others quote "
    "it";
constexpr std::string_view cann_b2c =
    "CANN runtime (github.com/hicann/runtime), src/platform/platform_config/cann: AI cores, clock; "
    "memory as torch_npu shows it";
constexpr std::string_view cann_310p =
    "CANN runtime (github.com/hicann/runtime), src/platform/platform_config/cann: AI cores, clock, "
    "memory (of the Atlas 300I Pro; the Duo's has 48 GB)";
constexpr std::string_view module_form = "module";
constexpr std::string_view card_form = "PCIe card";
constexpr ComputeCapability none = {};

constexpr PeakRates a_rates = {.fp16 = 256, .int8 = 512};

// As card.h has its members; AI cores stand where NVIDIA's have multiprocessors. A 910C has two
// chips, each a device of its own: the row is one of them.
// clang-format off
constexpr std::array<Card, 8> table = {{
    {"Huawei Ascend 310P3",    "Ascend 310P",  "", none, 8,  24, {}, {}, {}, 1060, {}, {}, card_form,   {}, plain, cann_310p, nullptr,  "Da Vinci"},
    {"Huawei Ascend 910A",     "",             "", none, 32, 32, {}, {}, {}, 1000, {}, {}, module_form, {}, plain, cann_a,    &a_rates, "Da Vinci"},
    {"Huawei Ascend 910B1",    "Ascend 910B",  "", none, 24, 64, {}, {}, {}, 1850, {}, {}, module_form, {}, plain, cann,      nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B2",    "Ascend 910B",  "", none, 24, 64, {}, {}, {}, 1800, {}, {}, module_form, {}, plain, cann,      nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B2C",   "Ascend 910B",  "", none, 24, 64, {}, {}, {}, 1800, {}, {}, module_form, {}, plain, cann_b2c,  nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B3",    "Ascend 910B",  "", none, 20, 64, {}, {}, {}, 1800, {}, {}, module_form, {}, plain, cann,      nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B4",    "Ascend 910B",  "", none, 20, 32, {}, {}, {}, 1500, {}, {}, module_form, {}, plain, cann,      nullptr,  "Da Vinci"},
    {"Huawei Ascend 910_9392", "Ascend 910C",  "", none, 24, 64, {}, {}, {}, 1850, {}, {}, module_form, {}, plain, cann,      nullptr,  "Da Vinci"},
}};
// clang-format on

}  // namespace

std::span<const Card> ascend_chips() { return table; }

}  // namespace berth
