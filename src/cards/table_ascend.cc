#include "cards/table.h"

#include <array>

namespace berth {

namespace {

// Of what Huawei publishes of single chips no document was found that could be read. Their kind of
// memory, its bandwidth and peak rates are left out where nothing of Huawei's own says them.
constexpr std::string_view cann =
    "CANN runtime, platform_config/Ascend910A.ini: AI cores, clock; memory: mind-cluster, "
    "ascend-faultdiag; rates: Huawei at Hot Chips 31, 2019, as others quote it";
constexpr std::string_view cann_b2c =
    "CANN runtime, platform_config/Ascend910B2C.ini: AI cores, clock; memory as torch_npu shows it";
constexpr std::string_view hami =
    "HAMi, configuration of devices: AI cores; memory: mind-cluster, ascend-faultdiag, and HAMi";
constexpr std::string_view hami_310p =
    "HAMi, configuration of devices: AI cores, memory (of the Atlas 300I Pro; the Duo's has 48 GB)";
constexpr std::string_view cores_as_used =
    "vector cores (two of each AI core) as kernels of attention count them; memory: mind-cluster, "
    "ascend-faultdiag";
constexpr std::string_view module_form = "module";
constexpr std::string_view card_form = "PCIe card";
constexpr ComputeCapability none = {};

constexpr PeakRates a_rates = {.fp16 = 256, .int8 = 512};

// As card.h has its members; AI cores stand where NVIDIA's have multiprocessors. A 910C has two
// chips, each a device of its own: the row is one of them.
// clang-format off
constexpr std::array<Card, 8> table = {{
    {"Huawei Ascend 310P3",    "Ascend 310P",  "", none, 8,  24, {}, {}, {}, {},   {}, {}, card_form,   {}, plain, hami_310p,     nullptr,  "Da Vinci"},
    {"Huawei Ascend 910A",     "",             "", none, 32, 32, {}, {}, {}, 1000, {}, {}, module_form, {}, plain, cann,          &a_rates, "Da Vinci"},
    {"Huawei Ascend 910B1",    "Ascend 910B",  "", none, 24, 64, {}, {}, {}, {},   {}, {}, module_form, {}, plain, cores_as_used, nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B2",    "Ascend 910B",  "", none, 24, 64, {}, {}, {}, {},   {}, {}, module_form, {}, plain, hami,          nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B2C",   "Ascend 910B",  "", none, 24, 64, {}, {}, {}, 1800, {}, {}, module_form, {}, plain, cann_b2c,      nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B3",    "Ascend 910B",  "", none, 20, 64, {}, {}, {}, {},   {}, {}, module_form, {}, plain, hami,          nullptr,  "Da Vinci"},
    {"Huawei Ascend 910B4",    "Ascend 910B",  "", none, 20, 32, {}, {}, {}, {},   {}, {}, module_form, {}, plain, hami,          nullptr,  "Da Vinci"},
    {"Huawei Ascend 910_9392", "Ascend 910C",  "", none, 24, 64, {}, {}, {}, {},   {}, {}, module_form, {}, plain, cores_as_used, nullptr,  "Da Vinci"},
}};
// clang-format on

}  // namespace

std::span<const Card> ascend_chips() { return table; }

}  // namespace berth
