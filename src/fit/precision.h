#pragma once
// Precision: the types that weights are stored in and products are computed in.

#include <optional>
#include <string_view>

namespace berth {

enum class Precision { fp32, tf32, fp16, bf16, fp8, int8, int4 };

[[nodiscard]] std::optional<Precision> precision_from_name(std::string_view name);
[[nodiscard]] std::string_view name_of(Precision precision);

}  // namespace berth
